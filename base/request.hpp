#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/sampling_params.hpp"

namespace glimmer {

enum class message_role : std::uint8_t { system, user, assistant, tool };

/// One piece of a message's content: text, or a medium whose place it keeps.
struct content_part {
  enum class kind : std::uint8_t { text, image, video };
  kind what = kind::text;
  std::string text;  ///< text, or the medium's URL (data: or http)
};

/// A call in the history. `arguments` is always an object.
struct history_call {
  std::string id;
  std::string name;
  json arguments;
};

/// One message after the API's conversions (prompt-format N1-N5).
struct chat_message {
  message_role role = message_role::user;
  std::vector<content_part> content;
  std::string reasoning;
  std::vector<history_call> calls;
  std::optional<std::string> name;
  std::optional<std::string> call_id;    ///< tool messages: the call that is answered
  std::optional<std::string> recipient;  ///< assistant messages: "user" when absent
  std::optional<bool> end_turn;
};

/// A function the model may call. Description and parameters are null when the client gave none.
struct tool_definition {
  std::string name;
  json description;
  json parameters;
};

enum class tool_choice_kind : std::uint8_t { automatic, none, required, named };

/// Everything the chat template reads.
struct chat_prompt {
  std::vector<chat_message> messages;
  std::vector<tool_definition> tools;
  std::vector<std::pair<std::string, std::string>> namespace_descriptions;
  std::string reasoning_strength;  ///< "" = the template's default
  std::string knowledge_cutoff;    ///< "" = the template's default
  std::string current_date;        ///< "" = the server's date
  bool add_generation_prompt = true;
  bool continue_final_message = false;
};

/// Text to be continued as it is, behind a BOS if wanted; control tokens in it are text.
struct text_prompt {
  std::string text;
  bool begin_of_text = true;
};

/// Token ids to be continued as they are.
struct token_prompt {
  std::vector<token_id> tokens;
};

using prompt_source = std::variant<chat_prompt, text_prompt, token_prompt>;

/// How the answer is shaped; the parser keeps it for the life of the request.
struct response_options {
  std::string model;  ///< name to answer under
  bool chat = true;   ///< channels are split; else text is passed on
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  bool include_reasoning = true;
  bool return_token_ids = false;
  bool show_special_tokens = false;  ///< spelled out in the text; not in chats
  bool echo = false;                 ///< the prompt precedes the answer; not in chats
  std::uint32_t choices = 1;         ///< n, of each prompt
  std::uint32_t best_of = 0;         ///< computed to choose the best n from; 0 = n
  std::vector<std::string> stop;
  bool include_stop_string = false;
  std::vector<tool_definition> tools;
  tool_choice_kind tool_choice = tool_choice_kind::automatic;
  std::string tool_choice_name;
  bool parallel_tool_calls = true;
  std::optional<std::uint32_t> logprobs;  ///< as in sampling_params, and so the next
  std::optional<std::uint32_t> prompt_logprobs;

  /// Sequences that are computed per prompt.
  std::uint32_t sequences() const { return best_of > choices ? best_of : choices; }
};

/// One request as the engine sees it, free of wire formats.
struct generation_request {
  prompt_source prompt;
  sampling_params sampling;
  bool has_seed = false;               ///< else the preparer draws one
  bool has_max_tokens = false;         ///< else what the context leaves
  std::vector<std::string> bad_words;  ///< never in the answer; the preparer makes them tokens
  /// The prompt's last tokens to keep; -1 = as many as leave room for the answer.
  std::optional<std::int32_t> prompt_tokens_kept;
  response_options response;
  std::int32_t priority = 0;  ///< lower is sooner
  std::string fairness_key;   ///< API key or user
  std::string cache_salt;
  std::string client_name;  ///< the client's own id of the request; empty when it gave none
};

}  // namespace glimmer
