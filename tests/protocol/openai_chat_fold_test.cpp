#include <array>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "protocol/openai/chat_response.hpp"

namespace glimmer {

namespace {

using kind = turn_event::kind;

response_identity identity() {
  return {.id = "chatcmpl-1", .created = 7, .prompt_tokens = {5, 6}};
}

std::string written(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

json parsed(std::string_view text) {
  auto value = json::parse(text);
  BOOST_REQUIRE_MESSAGE(value.has_value(), text);
  return *value;
}

/// Payloads of the events in `stream`, each checked to be one `data:` line.
std::vector<std::string> payloads(std::string_view stream) {
  std::vector<std::string> all;
  while (!stream.empty()) {
    const auto end = stream.find("\n\n");
    BOOST_REQUIRE(end != std::string_view::npos);
    const auto event = stream.substr(0, end);
    BOOST_REQUIRE(event.starts_with("data: "));
    BOOST_REQUIRE(event.find('\n') == std::string_view::npos);
    all.emplace_back(event.substr(6));
    stream.remove_prefix(end + 2);
  }
  return all;
}

/// One choice as the official clients' accumulators rebuild it: strings are joined, calls are
/// found by index, a role or a finish reason may come once.
struct accumulated {
  std::string role, content, reasoning, finish, stop_reason, logprobs, tokens;
  std::vector<std::array<std::string, 3>> calls;  // id, name, arguments
};

void accumulate_call(accumulated& into, const json& delta) {
  const auto index = static_cast<std::size_t>(*delta.find("index")->integer());
  BOOST_REQUIRE(index <= into.calls.size());
  const bool first = index == into.calls.size();
  if (first) into.calls.emplace_back();
  BOOST_REQUIRE(delta.find("id").has_value() == first);
  BOOST_REQUIRE(delta.find("type").has_value() == first);
  const auto function = *delta.find("function");
  BOOST_REQUIRE(function.find("name").has_value() == first);
  if (first)
    into.calls[index] = {std::string{delta.find("id")->string()},
                         std::string{function.find("name")->string()}, ""};
  into.calls[index][2] += function.find("arguments")->string();
}

std::string joined_list(std::string list, const std::string& more) {
  if (more == "[]" || more == "null") return list;
  if (list.empty()) return more;
  list.back() = ',';
  return list + more.substr(1);
}

void accumulate(accumulated& into, const json& choice) {
  BOOST_REQUIRE(into.finish.empty());
  const auto delta = *choice.find("delta");
  BOOST_REQUIRE(delta.find("role").has_value() == into.role.empty());
  if (const auto role = delta.find("role")) into.role += role->string();
  if (const auto text = delta.find("content")) into.content += text->string();
  if (const auto text = delta.find("reasoning")) into.reasoning += text->string();
  if (const auto calls = delta.find("tool_calls")) {
    for (const auto& call : calls->elements()) accumulate_call(into, call);
  }
  if (const auto logprobs = choice.find("logprobs"); logprobs->is_object()) {
    into.logprobs = joined_list(into.logprobs, written(*logprobs->find("content")));
  }
  into.tokens = joined_list(into.tokens, written(*choice.find("token_ids")));
  if (const auto finish = choice.find("finish_reason"); !finish->is_null()) {
    into.finish = finish->string();
    into.stop_reason = written(*choice.find("stop_reason"));
  }
}

accumulated whole(const json& choice) {
  const auto message = *choice.find("message");
  const auto text = [](std::optional<json> value) {
    return std::string{value->is_null() ? "" : value->string()};
  };
  accumulated all;
  all.role = text(message.find("role"));
  all.content = text(message.find("content"));
  all.reasoning = text(message.find("reasoning"));
  all.finish = text(choice.find("finish_reason"));
  all.stop_reason = written(*choice.find("stop_reason"));
  if (const auto logprobs = choice.find("logprobs"); logprobs->is_object()) {
    all.logprobs = joined_list("", written(*logprobs->find("content")));
  }
  all.tokens = joined_list("", written(*choice.find("token_ids")));
  if (const auto calls = message.find("tool_calls")) {
    for (const auto& call : calls->elements()) {
      const auto function = *call.find("function");
      all.calls.push_back(
          {text(call.find("id")), text(function.find("name")), text(function.find("arguments"))});
    }
  }
  return all;
}

void require_equal(const accumulated& a, const accumulated& b) {
  BOOST_REQUIRE_EQUAL(a.role, b.role);
  BOOST_REQUIRE_EQUAL(a.content, b.content);
  BOOST_REQUIRE_EQUAL(a.reasoning, b.reasoning);
  BOOST_REQUIRE_EQUAL(a.finish, b.finish);
  BOOST_REQUIRE_EQUAL(a.stop_reason, b.stop_reason);
  BOOST_REQUIRE_EQUAL(a.logprobs, b.logprobs);
  BOOST_REQUIRE_EQUAL(a.tokens, b.tokens);
  BOOST_REQUIRE(a.calls == b.calls);
}

/// Random turns of several choices, fed to a streaming and a unary answer alike.
class random_answers {
 public:
  random_answers(std::mt19937_64& random, const response_options& options)
      : random_{random}, calls_(options.choices), open_(options.choices) {
    auto other = options;
    other.stream = true;
    stream_.emplace(other, identity());
    other.stream = false;
    unary_.emplace(other, identity());
    for (std::uint32_t i = 0; i < options.choices; ++i) open_[i] = i;
  }

  void run() {
    each([](chat_answer& answer, std::string& out) { answer.begin({}, out); });
    while (!open_.empty()) {
      const auto at = pick(open_.size());
      if (pick(12) == 0) {
        finish(open_[at]);
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        step(open_[at]);
      }
    }
    each([](chat_answer& answer, std::string& out) { answer.end(out); });
  }

  std::string streamed, body;

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  template <class Do>
  void each(Do action) {
    action(*stream_, streamed);
    action(*unary_, body);
  }

  std::string random_text() {
    constexpr std::string_view pieces[] = {
        "a", "\"", "\\", "\n\n", "data: ", "\xf0\x9f\x98\x80", "}{", "\x01", "[DONE]", ""};
    std::string text;
    for (auto n = pick(4); n > 0; --n) text += pieces[pick(std::size(pieces))];
    return text;
  }

  turn_event random_event(std::uint32_t choice) {
    auto& calls = calls_[choice];
    switch (pick(4)) {
      case 0: return {kind::reasoning, 0, random_text(), "", ""};
      case 1: return {kind::content, 0, random_text(), "", ""};
      case 2:
        return {kind::tool_call, calls++, "", "call_" + std::to_string(calls), "f" + random_text()};
      default: break;
    }
    if (calls == 0) return {kind::content, 0, random_text(), "", ""};
    return {kind::tool_arguments, static_cast<std::uint32_t>(pick(calls)), random_text(), "", ""};
  }

  void step(std::uint32_t choice) {
    std::vector<turn_event> events;
    std::vector<spelled_logprob> logprobs;
    std::vector<token_id> tokens;
    for (auto n = pick(6); n > 0; --n) events.push_back(random_event(choice));
    for (auto n = pick(3); n > 0; --n) {
      tokens.push_back(static_cast<token_id>(pick(1000)));
      logprobs.push_back({random_text().substr(0, 3), -static_cast<float>(pick(9)), {}});
    }
    each([&](chat_answer& answer, std::string& out) {
      answer.add(choice, {.events = events, .logprobs = logprobs, .tokens = tokens}, out);
    });
  }

  void finish(std::uint32_t choice) {
    choice_end end;
    constexpr finish_reason reasons[] = {finish_reason::stop, finish_reason::length,
                                         finish_reason::tool_calls};
    end.reason = reasons[pick(3)];
    if (pick(3) == 0) end.cause = random_text();
    if (pick(3) == 0) end.cause = static_cast<token_id>(pick(1000));
    end.usage = {10, 3, static_cast<std::uint32_t>(pick(100)),
                 static_cast<std::uint32_t>(pick(50))};
    each([&](chat_answer& answer, std::string& out) { answer.finish(choice, end, out); });
  }

  std::mt19937_64& random_;
  std::optional<chat_answer> stream_, unary_;
  std::vector<std::uint32_t> calls_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_chat_fold_test)

BOOST_AUTO_TEST_CASE(the_unary_body_is_the_fold_of_the_stream) {
  const std::uint64_t seed = 4711;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 1000; ++round) {
    response_options options;
    options.choices = static_cast<std::uint32_t>(1 + random() % 3);
    options.include_usage = true;
    options.continuous_usage = random() % 2 == 0;
    options.include_reasoning = random() % 4 != 0;
    options.return_token_ids = random() % 2 == 0;
    random_answers answers{random, options};
    answers.run();

    std::map<std::int64_t, accumulated> folded;
    std::string usage;
    auto events = payloads(answers.streamed);
    BOOST_REQUIRE_EQUAL(events.back(), "[DONE]");
    events.pop_back();
    for (const auto& payload : events) {
      const auto chunk = parsed(payload);
      BOOST_REQUIRE_EQUAL(chunk.find("object")->string(), "chat.completion.chunk");
      usage = chunk.find("usage") ? written(*chunk.find("usage")) : "";
      for (const auto& choice : chunk.find("choices")->elements()) {
        const auto index = *choice.find("index")->integer();
        BOOST_REQUIRE(index <= static_cast<std::int64_t>(folded.size()));
        if (!choice.find("token_ids")) {
          accumulate(folded[index], parsed(written(choice).insert(1, "\"token_ids\":null,")));
        } else {
          accumulate(folded[index], choice);
        }
      }
    }
    const auto body = parsed(answers.body);
    BOOST_REQUIRE_EQUAL(usage, written(*body.find("usage")));
    BOOST_REQUIRE_EQUAL(folded.size(), body.find("choices")->size());
    for (const auto& choice : body.find("choices")->elements()) {
      require_equal(folded[*choice.find("index")->integer()], whole(choice));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
