#include "protocol/openai/chat_messages.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

namespace {

// --- content -------------------------------------------------------------------------------------

std::optional<content_part::kind> part_kind(std::string_view type) {
  using kind = content_part::kind;
  constexpr std::array<std::pair<std::string_view, kind>, 8> kinds = {{
      {"text", kind::text},
      {"input_text", kind::text},
      {"output_text", kind::text},
      {"image_url", kind::image},
      {"input_image", kind::image},
      {"image", kind::image},
      {"video_url", kind::video},
      {"video", kind::video},
  }};
  for (const auto& [name, what] : kinds) {
    if (name == type) return what;
  }
  return std::nullopt;
}

/// A medium's URL stands under the kind's own name, or beside `type`, as a string or in an object.
std::string read_url(const request_fields& part, std::string_view type) {
  const bool image = part_kind(type) == content_part::kind::image;
  for (const std::string_view name :
       {image ? "image_url" : "video_url", image ? "image" : "video"}) {
    const auto value = part.any(name);
    if (!value) continue;
    if (value->is_string()) return std::string{value->string()};
    if (const auto object = part.object(name))
      return std::string{object->string("url").value_or("")};
    return {};
  }
  return std::string{part.string("url").value_or("")};
}

content_part read_part(const json& value, const std::string& path, refusal& wrong) {
  if (value.is_string()) return {content_part::kind::text, std::string{value.string()}};
  if (!value.is_object()) {
    wrong.add(bad_value(path, fmt::format("{} must be a string or an object with a type, not {}.",
                                          path, kind_in_words(value))));
    return {};
  }
  const request_fields part{value, path, wrong};
  const auto type = part.string("type").value_or("");
  const auto what = part_kind(type);
  if (!what) {
    part.refuse("type",
                "must be one of text, input_text, output_text, image, image_url, input_image, "
                "video, video_url.");
    return {};
  }
  if (*what != content_part::kind::text) return {*what, read_url(part, type)};
  const auto text = part.string("text");
  if (!text) part.refuse("text", "must be a string.");
  return {*what, std::string{text.value_or("")}};
}

std::vector<content_part> read_content(const request_fields& message) {
  std::vector<content_part> parts;
  const auto content = message.any("content");
  if (!content) return parts;
  if (content->is_string()) {
    parts.push_back({content_part::kind::text, std::string{content->string()}});
  } else if (content->is_array()) {
    const auto path = message.path_of("content");
    for (auto part = content->first(); part && !message.wrong().first; part = part->next()) {
      parts.push_back(read_part(*part, element_path(path, parts.size()), message.wrong()));
    }
  } else {
    message.refuse("content", fmt::format("must be a string, an array of parts or null, not {}.",
                                          kind_in_words(*content)));
  }
  return parts;
}

// --- calls of the history ------------------------------------------------------------------------

json parsed(std::string_view text) {
  auto value = json::parse(text);
  GLIMMER_ASSERT(value.has_value(), "what the writer writes can be read");
  return *std::move(value);
}

/// Arguments nobody can read are kept under one name, so that one bad call of the past does not
/// make the conversation unusable.
json kept_raw(std::string_view arguments) {
  std::string text;
  json_writer{text}.begin_object().key("_raw").string(arguments).end_object();
  return parsed(text);
}

json read_arguments(const request_fields& function) {
  const auto arguments = function.any("arguments");
  if (!arguments) return parsed("{}");
  if (arguments->is_object()) return *arguments;
  if (!arguments->is_string()) {
    std::string text;
    json_writer{text}.value(*arguments);
    return kept_raw(text);
  }
  const auto text = arguments->string();
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return parsed("{}");
  auto value = json::parse(text);
  if (!value && value.error().code == "json_too_deep") {
    function.refuse("arguments", "is nested too deeply.");
  }
  return value && value->is_object() ? *std::move(value) : kept_raw(text);
}

history_call read_function_call(const request_fields& function, std::string_view id) {
  const auto name = function.string("name");
  if (!name || name->empty()) function.refuse("name", "must be a non-empty string.");
  return {std::string{id}, std::string{name.value_or("")}, read_arguments(function)};
}

history_call read_call(const json& value, const std::string& path, refusal& wrong) {
  if (!value.is_object()) {
    wrong.add(
        bad_value(path, fmt::format("{} must be an object, not {}.", path, kind_in_words(value))));
    return {};
  }
  const request_fields call{value, path, wrong};
  const auto function = call.object("function");
  if (!function) {
    call.refuse("function", "must be an object with name and arguments.");
    return {};
  }
  return read_function_call(*function, call.string("id").value_or(""));
}

std::vector<history_call> read_calls(const request_fields& message, const limits& bounds) {
  std::vector<history_call> calls;
  if (const auto list = message.array("tool_calls", bounds.messages)) {
    const auto path = message.path_of("tool_calls");
    for (auto call = list->first(); call && !message.wrong().first; call = call->next()) {
      calls.push_back(read_call(*call, element_path(path, calls.size()), message.wrong()));
    }
  }
  // The field that tool_calls replaced.
  if (calls.empty()) {
    if (const auto call = message.object("function_call")) {
      calls.push_back(read_function_call(*call, ""));
    }
  }
  return calls;
}

// --- messages ------------------------------------------------------------------------------------

message_role read_role(const request_fields& message) {
  constexpr std::array<std::pair<std::string_view, message_role>, 6> roles = {{
      {"system", message_role::system},
      {"developer", message_role::system},
      {"user", message_role::user},
      {"assistant", message_role::assistant},
      {"tool", message_role::tool},
      {"function", message_role::tool},
  }};
  const auto role = message.string("role").value_or("");
  for (const auto& [name, value] : roles) {
    if (name == role) return value;
  }
  message.refuse("role", "must be one of system, developer, user, assistant, tool, function.");
  return message_role::user;
}

std::string read_reasoning(const request_fields& message) {
  const auto content = message.string("reasoning_content").value_or("");
  const auto reasoning = message.string("reasoning").value_or("");
  return std::string{content.empty() ? reasoning : content};
}

std::optional<std::string> owned(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  return std::string{*text};
}

void read_assistant(const request_fields& message, chat_message& out, const limits& bounds) {
  out.reasoning = read_reasoning(message);
  out.calls = read_calls(message, bounds);
  out.end_turn = message.boolean("end_turn");
  out.recipient = owned(message.string("recipient"));
  if (out.recipient && *out.recipient != "self" && *out.recipient != "user" &&
      !is_tool_name(*out.recipient)) {
    message.refuse("recipient", "must be \"self\", \"user\" or the name of a tool.");
  }
}

std::vector<chat_message> read_messages(const request_fields& request, const limits& bounds) {
  std::vector<chat_message> messages;
  auto& wrong = request.wrong();
  if (!request.any("messages")) {
    wrong.add({error_kind::bad_request, "missing_required_parameter", "messages",
               "messages is required: an array of messages."});
  }
  const auto list = request.array("messages", bounds.messages);
  if (!list) return messages;
  messages.reserve(list->size());
  for (auto value = list->first(); value && !wrong.first; value = value->next()) {
    const auto path = element_path(request.path_of("messages"), messages.size());
    if (!value->is_object()) {
      wrong.add(bad_value(
          path, fmt::format("{} must be an object, not {}.", path, kind_in_words(*value))));
      break;
    }
    messages.push_back(read_chat_message({*value, path, wrong}, bounds));
  }
  return messages;
}

// --- what else the template reads ----------------------------------------------------------------

void read_template_arguments(const request_fields& request, chat_prompt& chat) {
  const auto arguments = request.object("chat_template_kwargs");
  if (!arguments) return;
  chat.reasoning_strength = arguments->string("reasoning_strength").value_or("");
  chat.knowledge_cutoff = arguments->string("knowledge_cutoff").value_or("");
  chat.current_date = arguments->string("current_date").value_or("");
  const auto descriptions = arguments->object("tool_namespace_descriptions");
  if (!descriptions) return;
  for (auto d = descriptions->value().first(); d; d = d->next()) {
    if (!d->is_string()) return descriptions->refuse("", "must have strings as values.");
    chat.namespace_descriptions.emplace_back(d->key(), d->string());
  }
}

/// The model knows no way to think not at all, and nothing above xhigh.
std::string read_effort(const request_fields& holder, std::string_view name) {
  const auto effort = holder.string(name);
  if (!effort) return {};
  if (*effort == "none" || *effort == "minimal" || *effort == "low") return "low";
  if (*effort == "medium" || *effort == "high") return std::string{*effort};
  if (*effort == "xhigh" || *effort == "max") return "xhigh";
  holder.refuse(name, "must be one of none, minimal, low, medium, high, xhigh, max.");
  return {};
}

void read_reasoning_strength(const request_fields& request, chat_prompt& chat) {
  auto effort = read_effort(request, "reasoning_effort");
  if (const auto reasoning = request.object("reasoning"); reasoning && effort.empty()) {
    effort = read_effort(*reasoning, "effort");
  }
  if (chat.reasoning_strength.empty()) chat.reasoning_strength = std::move(effort);
}

void read_ends(const request_fields& request, chat_prompt& chat) {
  const auto generation_prompt = request.boolean("add_generation_prompt");
  chat.continue_final_message = request.boolean("continue_final_message").value_or(false);
  chat.add_generation_prompt = generation_prompt.value_or(!chat.continue_final_message);
  if (!chat.continue_final_message) return;
  if (chat.add_generation_prompt) {
    request.refuse("continue_final_message", "cannot be true together with add_generation_prompt.");
  }
  if (chat.messages.empty() || chat.messages.back().role != message_role::assistant ||
      !chat.messages.back().calls.empty()) {
    request.refuse("continue_final_message",
                   "needs a last message of the assistant without tool calls.");
  }
}

}  // namespace

chat_message read_chat_message(const request_fields& message, const limits& bounds) {
  chat_message out;
  out.role = read_role(message);
  out.content = read_content(message);
  out.name = owned(message.string("name"));
  if (out.role == message_role::assistant) read_assistant(message, out, bounds);
  if (out.role == message_role::tool) out.call_id = owned(message.string("tool_call_id"));
  return out;
}

chat_prompt read_chat_prompt(const request_fields& request, const limits& bounds) {
  chat_prompt chat;
  chat.messages = read_messages(request, bounds);
  chat.tools = read_tools(request, bounds);
  read_template_arguments(request, chat);
  read_reasoning_strength(request, chat);
  read_ends(request, chat);
  return chat;
}

result<chat_prompt> parse_chat_prompt(const json& request, const limits& bounds) {
  if (!request.is_object()) return fail(bad_value("", "The body must be a JSON object."));
  refusal wrong;
  auto chat = read_chat_prompt({request, "", wrong}, bounds);
  if (wrong.first) return fail(*std::move(wrong.first));
  return chat;
}

}  // namespace glimmer
