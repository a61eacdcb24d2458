#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "protocol/openai/chat_response.hpp"

namespace glimmer {

namespace {

using kind = turn_event::kind;

turn_event reasoning(std::string text) {
  return {kind::reasoning, 0, std::move(text), "", ""};
}
turn_event content(std::string text) {
  return {kind::content, 0, std::move(text), "", ""};
}
turn_event call(std::uint32_t index, std::string name) {
  return {kind::tool_call, index, "", "call_" + std::to_string(index), std::move(name)};
}
turn_event arguments(std::uint32_t index, std::string text) {
  return {kind::tool_arguments, index, std::move(text), "", ""};
}

response_options streaming() {
  response_options options;
  options.model = "m";
  options.stream = true;
  return options;
}

response_identity identity() {
  return {.id = "chatcmpl-1", .created = 7, .prompt_tokens = {5, 6}};
}

std::string written(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

/// Payloads of the events in `stream`, each checked to be one `data:` line.
std::vector<std::string> payloads(std::string_view stream) {
  std::vector<std::string> all;
  while (!stream.empty()) {
    const auto end = stream.find("\n\n");
    BOOST_REQUIRE(end != std::string_view::npos);
    auto event = stream.substr(0, end);
    BOOST_REQUIRE(event.starts_with("data: "));
    BOOST_REQUIRE(event.find('\n') == std::string_view::npos);
    all.emplace_back(event.substr(6));
    stream.remove_prefix(end + 2);
  }
  return all;
}

json parsed(std::string_view text) {
  auto value = json::parse(text);
  BOOST_REQUIRE_MESSAGE(value.has_value(), text);
  return *value;
}

/// A turn of one choice as chunks, one line each, without what is the same in all.
std::string deltas_of(const std::vector<std::vector<turn_event>>& steps, finish_reason reason) {
  std::string out;
  chat_answer answer{streaming(), identity()};
  answer.begin({}, out);
  for (const auto& events : steps) answer.add(0, {.events = events}, out);
  answer.finish(0, {.reason = reason}, out);
  answer.end(out);
  std::string lines;
  for (const auto& payload : payloads(out)) {
    if (payload == "[DONE]") {
      lines += payload;
      break;
    }
    const auto choice = parsed(payload).find("choices")->at(0);
    const auto end = *choice.find("finish_reason");
    lines +=
        written(*choice.find("delta")) + (end.is_null() ? "" : " " + std::string{end.string()});
    lines += "\n";
  }
  return lines;
}

std::string body_of(response_options options, const std::vector<turn_event>& events,
                    choice_end end) {
  options.stream = false;
  std::string out;
  chat_answer answer{std::move(options), identity()};
  answer.begin({}, out);
  answer.add(0, {.events = events}, out);
  answer.finish(0, end, out);
  BOOST_TEST(out.empty());
  answer.end(out);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_chat_response_test)

BOOST_AUTO_TEST_CASE(a_whole_turn_streams_channel_by_channel) {
  BOOST_TEST(deltas_of({{reasoning("Let"), reasoning(" me")},
                        {reasoning("."), content("Hel")},
                        {content("lo")},
                        {},
                        {call(0, "f"), arguments(0, "{\"x\":")},
                        {arguments(0, "1}"), call(1, "g")},
                        {arguments(1, "{}")}},
                       finish_reason::tool_calls) ==
             R"({"role":"assistant","content":""}
{"reasoning":"Let me"}
{"reasoning":"."}
{"content":"Hel"}
{"content":"lo"}
{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":)"
             R"({"name":"f","arguments":"{\"x\":"}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}
{"tool_calls":[{"index":1,"id":"call_1","type":"function","function":)"
             R"({"name":"g","arguments":""}}]}
{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}
{} tool_calls
[DONE])");
}

BOOST_AUTO_TEST_CASE(a_chunk_has_every_member_clients_read) {
  std::string out;
  chat_answer answer{streaming(), identity()};
  answer.begin({}, out);
  BOOST_TEST(out ==
             R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,)"
             R"("model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
             R"("logprobs":null,"finish_reason":null}]})"
             "\n\n");
  out.clear();
  answer.finish(0, {.reason = finish_reason::stop, .cause = std::string{"END"}}, out);
  BOOST_TEST(out == R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,)"
                    R"("model":"m","choices":[{"index":0,"delta":{},"logprobs":null,)"
                    R"("finish_reason":"stop","stop_reason":"END"}]})"
                    "\n\n");
}

BOOST_AUTO_TEST_CASE(a_turn_without_a_byte_still_has_role_and_finish_reason) {
  BOOST_TEST(deltas_of({}, finish_reason::length) ==
             "{\"role\":\"assistant\",\"content\":\"\"}\n{} length\n[DONE]");
}

BOOST_AUTO_TEST_CASE(several_choices_are_introduced_in_order_before_they_mix) {
  auto options = streaming();
  options.choices = 3;
  std::string out;
  chat_answer answer{options, identity()};
  answer.begin({}, out);
  const std::vector<turn_event> late = {content("x")};
  answer.add(2, {.events = late}, out);
  answer.finish(2, {}, out);
  answer.finish(0, {}, out);
  BOOST_TEST(!answer.complete());
  answer.finish(1, {}, out);
  BOOST_TEST(answer.complete());
  std::string order;
  for (const auto& payload : payloads(out)) {
    order += parsed(payload).find("choices")->at(0).find("index")->number_text();
  }
  BOOST_TEST(order == "0122201");
}

BOOST_AUTO_TEST_CASE(usage_is_the_last_chunk_and_counts_the_prompt_once) {
  auto options = streaming();
  options.choices = 2;
  options.include_usage = true;
  std::string out;
  chat_answer answer{options, identity()};
  answer.begin({}, out);
  answer.finish(0, {.usage = {10, 4, 5, 2}}, out);
  answer.finish(1, {.usage = {10, 10, 7, 0}}, out);
  out.clear();
  answer.end(out);
  const auto events = payloads(out);
  BOOST_REQUIRE(events.size() == 2u);
  BOOST_TEST(written(*parsed(events[0]).find("choices")) == "[]");
  BOOST_TEST(
      written(*parsed(events[0]).find("usage")) ==
      R"({"prompt_tokens":10,"completion_tokens":12,"total_tokens":22,)"
      R"("prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":)"
      R"({"reasoning_tokens":2,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}})");
  BOOST_TEST(events[1] == "[DONE]");
}

BOOST_AUTO_TEST_CASE(continuous_usage_is_in_every_chunk_and_knows_cached_tokens_at_once) {
  auto options = streaming();
  options.include_usage = options.continuous_usage = true;
  std::string out;
  chat_answer answer{options, identity()};
  answer.begin({.prompt_tokens = 10}, out);  // nobody has looked into the cache yet
  const std::vector<turn_event> events = {content("x")};
  answer.add(0, {.events = events, .usage = {10, 8, 1, 0}}, out);
  answer.finish(0, {.usage = {10, 8, 2, 0}}, out);
  answer.end(out);
  std::string counts;
  for (const auto& payload : payloads(out)) {
    if (payload == "[DONE]") break;
    const auto usage = *parsed(payload).find("usage");
    BOOST_TEST(*usage.find("prompt_tokens_details")->find("cached_tokens")->integer() == 8);
    counts += usage.find("completion_tokens")->number_text();
  }
  BOOST_TEST(counts == "0122");
}

BOOST_AUTO_TEST_CASE(an_error_is_the_last_event_of_a_stream) {
  std::string out;
  chat_answer answer{streaming(), identity()};
  answer.begin({}, out);
  out.clear();
  answer.abort({error_kind::device, "lost", "", "cudaErrorIllegalAddress at 0x7f00"}, out);
  BOOST_TEST(out ==
             "data: {\"error\":{\"message\":\"The server failed while it worked on this "
             "request.\",\"type\":\"server_error\",\"param\":null,"
             "\"code\":\"internal_error\"}}\n\ndata: [DONE]\n\n");
}

BOOST_AUTO_TEST_CASE(the_unary_body_has_the_whole_turn) {
  response_options options;
  options.model = "m";
  const auto body = body_of(
      options,
      {reasoning("Hm"), content("Look"), call(0, "f"), arguments(0, "{\"a\":"), arguments(0, "1}")},
      {.reason = finish_reason::tool_calls, .usage = {72, 64, 30, 12}});
  BOOST_TEST(body ==
             R"({"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m","choices":[)"
             R"({"index":0,"message":{"role":"assistant","content":"Look","refusal":null,)"
             R"("annotations":null,"audio":null,"function_call":null,"tool_calls":[{"id":"call_0",)"
             R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],)"
             R"("reasoning":"Hm"},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null,)"
             R"("token_ids":null}],"service_tier":null,"system_fingerprint":null,"usage":)"
             R"({"prompt_tokens":72,"completion_tokens":30,"total_tokens":102,)"
             R"("prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":)"
             R"({"reasoning_tokens":12,"accepted_prediction_tokens":0,)"
             R"("rejected_prediction_tokens":0}},"prompt_logprobs":null,"prompt_token_ids":null,)"
             R"("kv_transfer_params":null,"metrics":null})");
}

BOOST_AUTO_TEST_CASE(what_has_no_byte_is_null_and_no_calls_leave_no_member) {
  const auto message = *parsed(body_of({}, {content("")}, {.reason = finish_reason::length}))
                            .find("choices")
                            ->at(0)
                            .find("message");
  BOOST_TEST(message.find("content")->is_null());
  BOOST_TEST(message.find("reasoning")->is_null());
  BOOST_TEST(!message.find("tool_calls").has_value());
}

BOOST_AUTO_TEST_CASE(the_stop_token_or_string_of_the_request_is_told) {
  const auto reason = [](choice_end end) {
    return written(
        *parsed(body_of({}, {}, std::move(end))).find("choices")->at(0).find("stop_reason"));
  };
  BOOST_TEST(reason({}) == "null");
  BOOST_TEST(reason({.cause = std::string{"\n"}}) == "\"\\n\"");
  BOOST_TEST(reason({.cause = token_id{42}}) == "42");
}

BOOST_AUTO_TEST_CASE(reasoning_can_be_left_out_or_renamed) {
  response_options options;
  options.include_reasoning = false;
  const auto hidden = body_of(options, {reasoning("secret"), content("x")}, {});
  BOOST_TEST(hidden.find("secret") == std::string::npos);
  auto names = identity();
  names.reasoning = reasoning_field::both;
  std::string out;
  chat_answer answer{streaming(), names};
  const std::vector<turn_event> events = {reasoning("r")};
  answer.add(0, {.events = events}, out);
  BOOST_TEST(out.find(R"("delta":{"reasoning":"r","reasoning_content":"r"})") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(logprobs_of_held_tokens_come_with_the_next_chunk) {
  auto options = streaming();
  options.logprobs = 1;
  std::string out;
  chat_answer answer{options, identity()};
  answer.begin({}, out);
  out.clear();
  const std::vector<spelled_logprob> first = {{"\xf0\x9f", -0.5f, {{"a\"", -1.25f}}}};
  const std::vector<spelled_logprob> second = {{"\x98\x80", -0.25f, {}}};
  const std::vector<turn_event> events = {content("\xf0\x9f\x98\x80")};
  answer.add(0, {.logprobs = first}, out);
  BOOST_TEST(out.empty());
  answer.add(0, {.events = events, .logprobs = second}, out);
  const auto logprobs = *parsed(payloads(out).at(0)).find("choices")->at(0).find("logprobs");
  BOOST_TEST(written(logprobs) ==
             "{\"content\":[{\"token\":\"\xef\xbf\xbd\",\"logprob\":-0.5,\"bytes\":[240,159],"
             "\"top_logprobs\":[{\"token\":\"a\\\"\",\"logprob\":-1.25,\"bytes\":[97,34]}]},"
             "{\"token\":\"\xef\xbf\xbd\xef\xbf\xbd\",\"logprob\":-0.25,\"bytes\":[152,128],"
             "\"top_logprobs\":[]}]}");
}

BOOST_AUTO_TEST_CASE(token_ids_are_shown_when_asked_for) {
  auto options = streaming();
  options.return_token_ids = true;
  std::string out;
  chat_answer answer{options, identity()};
  answer.begin({}, out);
  const std::vector<token_id> tokens = {1, 2};
  answer.add(0, {.tokens = tokens}, out);
  answer.finish(0, {}, out);
  const auto events = payloads(out);
  BOOST_TEST(written(*parsed(events[0]).find("prompt_token_ids")) == "[5,6]");
  BOOST_TEST(written(*parsed(events[1]).find("choices")->at(0).find("token_ids")) == "[1,2]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
