#include <boost/test/unit_test.hpp>
#include <random>
#include <sstream>
#include <string>

#include "protocol/openai/chat_request.hpp"

namespace glimmer {

namespace {

request_rules rules() {
  request_rules out;
  out.served_models = {"muse", "alias"};
  out.defaults.temperature = 0.6f;
  out.defaults.top_p = 0.9f;
  out.vocab_tokens = 1000;
  return out;
}

/// A body with one user message and `members` beside it.
std::string body_with(std::string_view members) {
  std::string body = R"({"model":"muse","messages":[{"role":"user","content":"Hi"}])";
  if (!members.empty()) body += ",";
  return body + std::string{members} + "}";
}

generation_request request_with(std::string_view members) {
  auto request = parse_chat_request(body_with(members), rules());
  BOOST_REQUIRE_MESSAGE(request.has_value(), (request ? "" : request.error().text) << members);
  return *request;
}

error refusal_of(std::string_view members) {
  const auto request = parse_chat_request(body_with(members), rules());
  BOOST_REQUIRE_MESSAGE(!request.has_value(), "accepted: " << members);
  return request.error();
}

/// Each line of `table`: the path that must be named, and the members that are wrong.
void check_refusals(const char* table, std::string_view code) {
  std::istringstream lines{table};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const auto blank = line.find(' ');
    const auto error = refusal_of(line.substr(blank + 1));
    BOOST_TEST_CONTEXT(line) {
      BOOST_TEST((error.kind == error_kind::bad_request));
      BOOST_TEST(error.code == code);
      BOOST_TEST(error.param == line.substr(0, blank));
      BOOST_TEST(error.text.starts_with(error.param));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_chat_request_test)

BOOST_AUTO_TEST_CASE(the_smallest_request_has_the_servers_defaults) {
  const auto request = request_with("");
  BOOST_TEST(std::get<chat_prompt>(request.prompt).messages.size() == 1u);
  BOOST_TEST(request.sampling.temperature == 0.6f);
  BOOST_TEST(request.sampling.top_p == 0.9f);
  BOOST_TEST(!request.has_seed);
  BOOST_TEST(!request.has_max_tokens);
  BOOST_TEST(request.response.model == "muse");
  BOOST_TEST(request.response.chat);
  BOOST_TEST(!request.response.stream);
  BOOST_TEST(request.response.include_reasoning);
  BOOST_TEST(request.response.choices == 1u);
}

BOOST_AUTO_TEST_CASE(every_sampling_field_arrives) {
  const auto request =
      request_with(R"("temperature":0,"top_p":0.5,"min_p":0.1,"top_k":40,"presence_penalty":-2,)"
                   R"("frequency_penalty":1.5,"repetition_penalty":1.1,"seed":-5,"max_tokens":100,)"
                   R"("max_completion_tokens":50,"min_tokens":3,"ignore_eos":true,"logprobs":true,)"
                   R"("top_logprobs":5,"logit_bias":{"7":-100,"3":1.5},"stop_token_ids":[9,2,9],)"
                   R"("allowed_token_ids":[3,1])");
  const auto& s = request.sampling;
  BOOST_TEST(s.temperature == 0.0f);
  BOOST_TEST(s.top_p == 0.5f);
  BOOST_TEST(s.min_p == 0.1f);
  BOOST_TEST(s.top_k == 40);
  BOOST_TEST(s.presence_penalty == -2.0f);
  BOOST_TEST(s.frequency_penalty == 1.5f);
  BOOST_TEST(s.repetition_penalty == 1.1f);
  BOOST_TEST(request.has_seed);
  BOOST_TEST(s.seed == static_cast<std::uint64_t>(-5));
  BOOST_TEST(request.has_max_tokens);
  BOOST_TEST(s.max_tokens == 50u);
  BOOST_TEST(s.min_tokens == 3u);
  BOOST_TEST(s.ignore_eos);
  BOOST_TEST(*s.logprobs == 5u);
  BOOST_TEST(*request.response.logprobs == 5u);
  BOOST_REQUIRE(s.logit_bias.size() == 2u);
  BOOST_TEST(s.logit_bias[0].first == 3);
  BOOST_TEST(s.logit_bias[1].second == -100.0f);
  BOOST_TEST((s.stop_token_ids == std::vector<token_id>{2, 9}));
  BOOST_TEST((s.allowed_token_ids == std::vector<token_id>{1, 3}));
}

BOOST_AUTO_TEST_CASE(every_response_field_arrives) {
  const auto request = request_with(
      R"("model":"alias","stream":true,"stream_options":{"include_usage":true,)"
      R"("continuous_usage_stats":true},"n":4,"stop":["a","b"],"include_stop_str_in_output":true,)"
      R"("include_reasoning":false,"return_token_ids":true,"parallel_tool_calls":false,)"
      R"("tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}],)"
      R"("response_format":{"type":"text"},"priority":-3,"user":"u","cache_salt":"s",)"
      R"("request_id":"r","metadata":{"a":"b"},"nobody_knows":[1])");
  const auto& r = request.response;
  BOOST_TEST(r.model == "alias");
  BOOST_TEST(r.stream);
  BOOST_TEST(r.include_usage);
  BOOST_TEST(r.continuous_usage);
  BOOST_TEST(r.choices == 4u);
  BOOST_TEST(r.stop.size() == 2u);
  BOOST_TEST(r.include_stop_string);
  BOOST_TEST(!r.include_reasoning);
  BOOST_TEST(r.return_token_ids);
  BOOST_TEST(!r.parallel_tool_calls);
  BOOST_TEST((r.tool_choice == tool_choice_kind::none));
  BOOST_TEST(r.tools.at(0).name == "f");
  BOOST_TEST(std::get<chat_prompt>(request.prompt).tools.at(0).name == "f");
  BOOST_TEST(request.priority == -3);
  BOOST_TEST(request.fairness_key == "u");
  BOOST_TEST(request.cache_salt == "s");
  BOOST_TEST(request.client_name == "r");
}

BOOST_AUTO_TEST_CASE(null_is_as_good_as_absent) {
  const auto request = request_with(
      R"("model":null,"temperature":null,"stop":null,"n":null,"tools":null,"tool_choice":null,)"
      R"("stream_options":null,"logit_bias":null,"response_format":null,"max_tokens":null,)"
      R"("functions":null,"echo":false,"bad_words":[],"reasoning_effort":null)");
  BOOST_TEST(request.response.model == "muse");
  BOOST_TEST(request.sampling.temperature == 0.6f);
}

BOOST_AUTO_TEST_CASE(habits_of_clients_are_understood) {
  BOOST_TEST(request_with(R"("top_k":-1)").sampling.top_k == 0);
  BOOST_TEST(!request_with(R"("seed":-1)").has_seed);
  BOOST_TEST(request_with(R"("stop":"x")").response.stop.at(0) == "x");
  BOOST_TEST(request_with(R"("stop":[])").response.stop.empty());
  BOOST_TEST(request_with(R"("max_tokens":16.0)").sampling.max_tokens == 16u);
  BOOST_TEST(*request_with(R"("logprobs":true)").sampling.logprobs == 0u);
  BOOST_TEST(!request_with(R"("logprobs":false,"top_logprobs":0)").sampling.logprobs);
}

BOOST_AUTO_TEST_CASE(a_default_of_max_tokens_caps_every_request) {
  auto capped = rules();
  capped.defaults.max_tokens = 64;
  BOOST_TEST(parse_chat_request(body_with(""), capped)->has_max_tokens);
  BOOST_TEST(parse_chat_request(body_with(""), capped)->sampling.max_tokens == 64u);
  BOOST_TEST(parse_chat_request(body_with(R"("max_tokens":7)"), capped)->sampling.max_tokens == 7u);
  BOOST_TEST(parse_chat_request(body_with(R"("max_tokens":99)"), capped)->sampling.max_tokens ==
             64u);
}

BOOST_AUTO_TEST_CASE(an_unknown_model_is_not_found) {
  const auto error = refusal_of(R"("model":"gpt-4")");
  BOOST_TEST((error.kind == error_kind::not_found));
  BOOST_TEST(error.code == "model_not_found");
  BOOST_TEST(error.param == "model");
  BOOST_TEST(error.text == "The model `gpt-4` does not exist.");
  BOOST_TEST(refusal_of("\"model\":\"" + std::string(5000, 'x') + "\"").text.size() < 200u);
}

BOOST_AUTO_TEST_CASE(each_bad_sampling_value_is_refused_by_name) {
  check_refusals(R"-(
temperature "temperature":-0.1
temperature "temperature":1e999
temperature "temperature":-1e999
temperature "temperature":1e8
temperature "temperature":1e-8
temperature "temperature":"1"
temperature "temperature":true
temperature "temperature":[]
top_p "top_p":0
top_p "top_p":1.01
top_p "top_p":1e-300
top_p "top_p":-1
min_p "min_p":1.5
min_p "min_p":-0.5
top_k "top_k":-2
top_k "top_k":1.5
top_k "top_k":99999999999
presence_penalty "presence_penalty":2.1
frequency_penalty "frequency_penalty":-2.1
repetition_penalty "repetition_penalty":0
repetition_penalty "repetition_penalty":1e99
seed "seed":1.5
seed "seed":99999999999999999999
seed "seed":"7"
max_tokens "max_tokens":0
max_tokens "max_tokens":-1
max_tokens "max_tokens":1e30
max_completion_tokens "max_completion_tokens":0
min_tokens "min_tokens":-1
min_tokens "min_tokens":11,"max_tokens":10
ignore_eos "ignore_eos":1
n "n":0
n "n":129
n "n":1000000000
n "n":"2"
logprobs "logprobs":5
top_logprobs "logprobs":true,"top_logprobs":21
top_logprobs "logprobs":true,"top_logprobs":-1
top_logprobs "top_logprobs":3
logit_bias "logit_bias":[]
logit_bias "logit_bias":{"1000":1}
logit_bias "logit_bias":{"2147483648":1}
logit_bias "logit_bias":{"99999999999999999999":1}
logit_bias "logit_bias":{"-1":1}
logit_bias "logit_bias":{"x":1}
logit_bias "logit_bias":{"":1}
logit_bias "logit_bias":{"1":0,"01":0}
logit_bias.1 "logit_bias":{"1":100.5}
logit_bias.1 "logit_bias":{"1":"a"}
logit_bias.1 "logit_bias":{"1":null}
stop_token_ids "stop_token_ids":7
stop_token_ids[1] "stop_token_ids":[1,1000]
stop_token_ids[0] "stop_token_ids":[-1]
stop_token_ids[0] "stop_token_ids":["1"]
allowed_token_ids "allowed_token_ids":[]
allowed_token_ids[0] "allowed_token_ids":[1.5]
)-",
                 "invalid_value");
}

BOOST_AUTO_TEST_CASE(each_bad_response_value_is_refused_by_name) {
  check_refusals(R"-(
stop "stop":""
stop "stop":7
stop "stop":{}
stop[1] "stop":["a",""]
stop[0] "stop":[null]
stop "stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]
stream "stream":"true"
stream_options "stream_options":{"include_usage":true}
stream_options "stream":true,"stream_options":[]
stream_options.include_usage "stream":true,"stream_options":{"include_usage":1}
tool_choice "tool_choice":"maybe"
tool_choice "tool_choice":7
parallel_tool_calls "parallel_tool_calls":"no"
response_format "response_format":"text"
response_format.type "response_format":{}
response_format.type "response_format":{"type":"xml"}
include_reasoning "include_reasoning":"no"
priority "priority":1.5
priority "priority":99999999999
user "user":7
cache_salt "cache_salt":""
request_id "request_id":[]
metadata "metadata":"x"
model "model":7
tools "tools":{}
)-",
                 "invalid_value");
}

BOOST_AUTO_TEST_CASE(what_is_known_but_not_served_is_refused_never_ignored) {
  check_refusals(R"-(
tool_choice "tool_choice":"required"
tool_choice "tool_choice":{"type":"function","function":{"name":"f"}}
response_format.type "response_format":{"type":"json_object"}
response_format.type "response_format":{"type":"json_schema","json_schema":{"schema":{}}}
structured_outputs "structured_outputs":{"json":{}}
guided_json "guided_json":"{}"
guided_regex "guided_regex":"a+"
functions "functions":[{"name":"f"}]
echo "echo":true
use_beam_search "use_beam_search":true
chat_template "chat_template":"x"
best_of "best_of":3
length_penalty "length_penalty":0.8
web_search_options "web_search_options":{}
web_search_options "web_search_options":{"search_context_size":"low"}
modalities "modalities":["text","audio"]
modalities "modalities":["audio"]
audio "audio":{"voice":"alloy","format":"wav"}
verbosity "verbosity":"low"
documents "documents":[{"text":"x"}]
add_special_tokens "add_special_tokens":true
suffix "suffix":"x"
grammar "grammar":"root ::= x"
regex "regex":"a+"
json_schema "json_schema":{"type":"object"}
thinking_token_budget "thinking_token_budget":100
return_tokens_as_token_ids "return_tokens_as_token_ids":true
vllm_xargs "vllm_xargs":{"a":1}
)-",
                 "unsupported_parameter");
}

BOOST_AUTO_TEST_CASE(values_that_ask_for_what_is_done_anyway_are_accepted) {
  request_with(
      R"("best_of":1,"length_penalty":1.0,"modalities":["text"],"verbosity":"medium","audio":null,)"
      R"("web_search_options":null,"documents":[],"add_special_tokens":false,"vllm_xargs":{},)"
      R"("use_beam_search":false,"service_tier":"auto","store":false,"prediction":null,)"
      R"("prompt_cache_key":"k","safety_identifier":"s")");
}

BOOST_AUTO_TEST_CASE(names_that_are_kept_have_a_length) {
  const auto named = [](std::string_view field, std::size_t bytes) {
    return "\"" + std::string{field} + "\":\"" + std::string(bytes, 'x') + "\"";
  };
  BOOST_TEST(request_with(named("user", 512)).fairness_key.size() == 512u);
  BOOST_TEST(refusal_of(named("user", 513)).text == "user must be a string of at most 512 bytes.");
  BOOST_TEST(refusal_of(named("cache_salt", 513)).param == "cache_salt");
  BOOST_TEST(refusal_of(named("request_id", 129)).param == "request_id");
}

BOOST_AUTO_TEST_CASE(too_many_logit_biases_are_told_their_own_limit) {
  std::string bias;
  for (int i = 0; i < 5000; ++i) bias += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  const auto error = refusal_of("\"logit_bias\":{" + bias + "}");
  BOOST_TEST(error.text == "logit_bias has 5000 members; at most 1024 are allowed.");
  BOOST_TEST(error.param == "logit_bias");
}

BOOST_AUTO_TEST_CASE(the_sentence_says_what_is_allowed) {
  BOOST_TEST(refusal_of(R"("temperature":-1)").text ==
             "temperature must be a number from 0 to 1000.");
  BOOST_TEST(refusal_of(R"("n":"2")").text == "n must be an integer from 1 to 128, not a string.");
  BOOST_TEST(refusal_of(R"("logit_bias":{"1000":1})").text ==
             "logit_bias has a key that is no token id from 0 to 999.");
}

BOOST_AUTO_TEST_CASE(bodies_that_are_no_object_are_refused) {
  for (const auto* body : {"", "[]", "null", "\"x\"", "{", "{}x", "{\"model\":\"muse\",}"}) {
    const auto request = parse_chat_request(body, rules());
    BOOST_TEST(!request.has_value());
    BOOST_TEST((request.error().kind == error_kind::bad_request));
  }
  BOOST_TEST(parse_chat_request("{", rules()).error().code == "invalid_json");
  BOOST_TEST(parse_chat_request("{}", rules()).error().param == "messages");
}

BOOST_AUTO_TEST_CASE(nesting_a_hundred_thousand_deep_is_refused_in_every_field) {
  const std::string deep(100'000, '[');
  for (const std::string field : {"messages", "tools", "nobody_knows", "metadata", "stop"}) {
    const auto request = parse_chat_request("{\"" + field + "\":" + deep, rules());
    BOOST_REQUIRE(!request.has_value());
    BOOST_TEST(request.error().code == "json_too_deep");
  }
}

BOOST_AUTO_TEST_CASE(a_flood_of_members_is_refused) {
  std::string members;
  for (int i = 0; i < 100'000; ++i) members += "\"k" + std::to_string(i) + "\":1,";
  members += "\"last\":1";
  const auto error = refusal_of(members);
  BOOST_TEST(error.text == "The body has 100003 members; at most 4096 are allowed.");
  BOOST_TEST(refusal_of("\"metadata\":{" + members + "}").param == "metadata");
}

BOOST_AUTO_TEST_CASE(damaged_requests_are_refused_or_read_but_never_crash) {
  const std::uint64_t seed = 99;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random{seed};
  const auto whole =
      body_with(R"("temperature":0.5,"top_k":3,"logit_bias":{"1":2},"stop":["a"],"stream":true,)"
                R"("stream_options":{"include_usage":true},"tools":[{"type":"function","function":)"
                R"({"name":"f","parameters":{"type":"object"}}}],"stop_token_ids":[1,2],"n":2)");
  constexpr std::string_view values[] = {"null", "-1",   "1e999", "[]",
                                         "{}",   "\"\"", "true",  "[[1]]"};
  for (int round = 0; round < 5000; ++round) {
    auto body = whole;
    const auto colon = body.find(':', random() % body.size());
    if (colon == std::string::npos) continue;
    const auto end = body.find_first_of(",]}", colon);
    body.replace(colon + 1, end - colon - 1, values[random() % std::size(values)]);
    const auto request = parse_chat_request(body, rules());
    if (request) continue;
    BOOST_REQUIRE(request.error().kind == error_kind::bad_request ||
                  request.error().code == "model_not_found");
    BOOST_REQUIRE(!request.error().text.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
