#include "tests/simulation/guest.hpp"

namespace glimmer {
namespace {

std::string draw_words(dice& chance) {
  static constexpr std::string_view words[] = {"one", " two", " three", " four", " the", " a"};
  std::string out;
  for (auto more = chance.in({1, chance.percent(10) ? 120u : 12u}); more > 0; --more) {
    out += words[chance.in({0, 5})];
  }
  return out;
}

std::string draw_body(dice& chance, bool stream) {
  std::string out = R"({"messages":[{"role":"user","content":")" + draw_words(chance) + R"("}])";
  const auto number = [&](std::string_view name, std::uint64_t value) {
    out += ",\"" + std::string{name} + "\":" + std::to_string(value);
  };
  number("max_tokens", chance.in({1, chance.percent(20) ? 400u : 30u}));
  number("seed", chance.next() % 1'000'000);
  if (chance.percent(30)) number("n", chance.in({2, 4}));
  if (chance.percent(30)) out += R"(,"stop":["e","and"])";
  if (chance.percent(20)) out += R"(,"logprobs":true,"top_logprobs":0)";
  if (chance.percent(20)) out += R"(,"ignore_eos":true)";
  if (chance.percent(30)) number("priority", chance.in({0, 3}));
  out += R"(,"user":"user )" + std::to_string(chance.in({0, 3})) + '"';
  if (stream) out += R"(,"stream":true)";
  return out + R"(,"return_token_ids":true})";
}

}  // namespace

guest draw_guest(dice& chance, std::string label) {
  guest out{.label = std::move(label)};
  out.stream = chance.percent(60);
  out.body = draw_body(chance, out.stream);
  out.request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-request-id: " + out.label +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(out.body.size()) +
      "\r\n\r\n" + out.body;
  out.buffer = chance.percent(40) ? chance.in({1, 600}) : 1 << 16;
  out.read_percent = chance.percent(10) ? 0 : chance.in({5, 100});
  if (chance.percent(25)) out.leave_permille = chance.in({1, 200});
  out.patience = chance.in({500, 3000});
  out.ends_its_side = chance.percent(30);
  if (chance.percent(15)) out.abort_permille = chance.in({1, 100});
  return out;
}

}  // namespace glimmer
