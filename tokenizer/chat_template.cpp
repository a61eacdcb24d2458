#include "tokenizer/chat_template.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "tokenizer/json_text.hpp"
#include "tokenizer/sha256.hpp"
#include "tokenizer/tool_block.hpp"

namespace glimmer {

namespace {

using enum control_token;

// Of the publisher's chat_template.jinja, revision a4e59da5.
constexpr std::string_view known_template_sha256 =
    "cfc67e5f349f37690dfd31ed1f18bc4442a9dd32fe39a648f993cb4eb3cae678";

constexpr std::string_view default_cutoff = "2026-01-04";
constexpr std::string_view default_strength = "high";

std::string_view either(const std::string& given, std::string_view otherwise) {
  return given.empty() ? otherwise : given;
}

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

/// Users of other models say "effort"; this one was taught "strength".
void speak_of_strength(std::string& text) {
  replace_all(text, "Reasoning effort", "Reasoning strength");
  replace_all(text, "Reasoning Effort", "Reasoning Strength");
  replace_all(text, "reasoning effort", "reasoning strength");
  replace_all(text, "REASONING EFFORT", "REASONING STRENGTH");
}

bool mentions_strength(std::string_view text) {
  constexpr std::string_view words = "reasoning strength";
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; };
  return !std::ranges::search(text, words, same).empty();
}

bool is_empty(const std::vector<content_part>& content) {
  return std::ranges::all_of(content, [](const content_part& part) {
    return part.what == content_part::kind::text && part.text.empty();
  });
}

/// Neighbouring text parts become one, as they stand in the prompt.
std::vector<content_part> joined(const std::vector<content_part>& content) {
  std::vector<content_part> out;
  for (const content_part& part : content) {
    const bool is_text = part.what == content_part::kind::text;
    if (is_text && !out.empty() && out.back().what == content_part::kind::text) {
      out.back().text += part.text;
    } else {
      out.push_back(part);
    }
  }
  return out;
}

/// Writes one conversation, message by message.
class chat_writer {
 public:
  chat_writer(const chat_prompt& chat, std::string_view server_date)
      : chat_{chat}, date_{either(chat.current_date, server_date)} {
    for (const chat_message& message : chat.messages) {
      for (const history_call& call : message.calls) call_names_[call.id] = call.name;
    }
  }

  prompt_pieces write() {
    out_.add(begin_of_text);
    const auto is_system = [](const chat_message& m) { return m.role == message_role::system; };
    if (std::ranges::none_of(chat_.messages, is_system)) default_system();
    out_.end = prompt_end::closed;
    for (at_ = 0; at_ < chat_.messages.size(); ++at_) message(chat_.messages[at_]);
    if (chat_.add_generation_prompt && !chat_.continue_final_message) {
      out_.add(start);
      out_.add("assistant");
      out_.end = prompt_end::header;
    }
    return std::move(out_);
  }

 private:
  void message(const chat_message& m) {
    switch (m.role) {
      case message_role::system: system(m); break;
      case message_role::user: framed("user", m.content); break;
      case message_role::assistant: m.calls.empty() ? answer(m) : calls(m); break;
      case message_role::tool: tool_result(m); break;
    }
  }

  void open(std::string_view header) {
    out_.add(start);
    out_.add(header);
    out_.add(control_token::message);
  }

  void open_to(std::string_view recipient) { open("assistant to=" + std::string{recipient}); }

  void framed(std::string_view header, const std::vector<content_part>& content) {
    open(header);
    add(content);
    out_.add(eot);
  }

  void add(const std::vector<content_part>& content) {
    for (std::size_t i = 0; i < content.size(); ++i) add(content[i], i);
  }

  void add(const content_part& part, std::size_t index) {
    switch (part.what) {
      case content_part::kind::text: out_.add(part.text); break;
      case content_part::kind::image:
        out_.add(media_placeholder{patch, part.text, at_, index});
        break;
      case content_part::kind::video:
        out_.add(media_placeholder{video, part.text, at_, index});
        break;
    }
  }

  // --- system -----------------------------------------------------------------------------------

  void default_system() {
    open("system");
    out_.add("You are a helpful AI assistant.\nKnowledge cutoff: ");
    out_.add(either(chat_.knowledge_cutoff, default_cutoff));
    out_.add(".");
    if (!date_.empty()) {
      out_.add("\nCurrent date: ");
      out_.add(date_);
      out_.add(".");
    }
    strength_line();
    system_end();
  }

  void system(const chat_message& m) {
    open("system");
    auto content = joined(m.content);
    bool has_strength = false;
    for (content_part& part : content) {
      if (part.what != content_part::kind::text) continue;
      speak_of_strength(part.text);
      has_strength = has_strength || mentions_strength(part.text);
    }
    add(content);
    if (!has_strength) strength_line();
    system_end();
  }

  void strength_line() {
    out_.add("\n\nReasoning strength: ");
    out_.add(either(chat_.reasoning_strength, default_strength));
    out_.add(".");
  }

  void system_end() {
    if (!chat_.tools.empty()) {
      if (tool_block_.empty()) tool_block_ = tool_block(chat_);
      out_.add("\n\n");
      out_.add(tool_block_);
    }
    out_.add("\n\n");
    out_.add(recipient_line(chat_));
    out_.add(eot);
  }

  // --- assistant --------------------------------------------------------------------------------

  bool is_continued() const {
    return chat_.continue_final_message && at_ + 1 == chat_.messages.size();
  }

  void answer(const chat_message& m) {
    const std::string_view recipient = m.recipient ? either(*m.recipient, "user") : "user";
    if (!m.reasoning.empty()) {
      open_to("self");
      out_.add(m.reasoning);
      if (is_continued() && is_empty(m.content)) {
        out_.end = prompt_end::reasoning;
        return;
      }
      out_.add(eom);
    }
    open_to(recipient);
    add(m.content);
    if (is_continued()) {
      out_.end = recipient == "self" ? prompt_end::reasoning : prompt_end::content;
    } else {
      out_.add(m.end_turn.value_or(recipient == "user") ? eot : eom);
    }
  }

  /// Text beside the calls is not rendered: so the publisher's template has it.
  void calls(const chat_message& m) {
    if (!m.reasoning.empty()) {
      open_to("self");
      out_.add(m.reasoning);
      out_.add(eom);
    }
    const bool turn_goes_on =
        at_ + 1 < chat_.messages.size() && chat_.messages[at_ + 1].role == message_role::assistant;
    for (const history_call& call : m.calls) {
      open_to(call.name);
      add_call(call);
      out_.add(&call != &m.calls.back() || turn_goes_on ? eom : eot);
    }
  }

  void add_call(const history_call& call) {
    std::string body = "<atem:function_calls>\n<atem:invoke name=\"" + call.name + "\">\n";
    for (auto argument = call.arguments.first(); argument; argument = argument->next()) {
      body += "<atem:parameter name=\"";
      body += argument->key();
      body += "\">";
      if (argument->is_string()) {
        body += argument->string();
      } else {
        append_template_json(body, *argument);
      }
      body += "</atem:parameter>\n";
    }
    body += "</atem:invoke>\n</atem:function_calls>";
    out_.add(body);
  }

  // --- tool -------------------------------------------------------------------------------------

  void tool_result(const chat_message& m) {
    const std::string name{result_name(m)};
    open("tool " + name);
    out_.add("<tool_output name=\"" + name + "\">\n");
    add(m.content);
    out_.add("\n</tool_output>");
    out_.add(eot);
  }

  /// The message's own name, else that of the last call anywhere with its id, else the id itself.
  std::string_view result_name(const chat_message& m) const {
    if (m.name && !m.name->empty()) return *m.name;
    if (!m.call_id || m.call_id->empty()) return {};
    const auto it = call_names_.find(*m.call_id);
    return it != call_names_.end() ? it->second : std::string_view{*m.call_id};
  }

  const chat_prompt& chat_;
  std::string_view date_;
  std::unordered_map<std::string_view, std::string_view> call_names_;  // by id; the last one wins
  std::string tool_block_;
  std::size_t at_ = 0;  // index of the message in work
  prompt_pieces out_;
};

}  // namespace

prompt_pieces render_chat(const chat_prompt& chat, std::string_view server_date) {
  return chat_writer{chat, server_date}.write();
}

bool is_known_chat_template(std::string_view jinja) {
  return sha256_hex(jinja) == known_template_sha256;
}

}  // namespace glimmer
