#include "tools/make_checkpoint/toy_bpe.hpp"

namespace glimmer {

std::string_view training_text() {
  // Written for this purpose: prose, numbers, code, other scripts, and the markup of tool calls.
  static constexpr std::string_view text = R"TEXT(
The keeper of the lighthouse wrote down the weather every morning. When the wind came from the
north he wrote one line, and when it came from the sea he wrote two. Nobody had asked him to keep
the book, but the fishermen read it when they came up the stairs, and after some years they would
not go out before they had looked at the page. "What does it say today?" they asked. "It says what
it said yesterday," he answered, "only the numbers are different."

In the third winter a storm took the roof of the boat house. The keeper's daughter, who was eleven
years old, climbed the tower with a lamp because the light had gone out. She counted the seconds
between the flashes: one, two, three, four, five. Then she lit the lamp, and the ships that were
waiting behind the island saw it and turned. It isn't known how many there were. Some people say
seven; others say there were twelve, and that one of them carried oranges from Valencia.

You are a helpful assistant. The user asks a question and the assistant thinks about it first. The
system gives the tools, and the tool returns a result to the assistant. The assistant writes to
self, to user, or to a function. Reasoning strength: high. Reasoning strength: low. Valid
recipients: self, user, functions. Knowledge cutoff: 2025-01. Current date: 2026-03-14.

<atem:function_calls><atem:invoke name="get_weather"><atem:parameter name="city">Paris
</atem:parameter><atem:parameter name="unit">celsius</atem:parameter></atem:invoke>
</atem:function_calls>
<atem:function_calls><atem:invoke name="get_time"><atem:parameter name="zone">Europe/Madrid
</atem:parameter></atem:invoke></atem:function_calls>
{"name": "get_weather", "description": "Weather of a city", "parameters": {"type": "object",
"properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius",
"fahrenheit"]}}, "required": ["city"]}}

How much is 12 plus 30? It is 42. How much is 365 times 24? It is 8760. The capital of France is
Paris, the capital of Italy is Rome, the capital of Spain is Madrid, and the capital of Norway is
Oslo. A kilometre has 1000 metres and an hour has 3600 seconds, so 36 km/h are 10 m/s.

int main() {
  for (int i = 0; i < 10; ++i) {
    std::cout << i * i << "\n";
  }
  return 0;
}

def area(width, height):
    if width < 0 or height < 0:
        raise ValueError("a side cannot be negative")
    return width * height

The meaning of a word is how people use it. A good answer is short, true and kind; when you do not
know something, say so, and say what would have to be found out. Please explain it step by step.
First we look at the question, then we write down what is given, and last we check the result.

Der Wind kam vom Meer, und die Möwen saßen auf den Dächern. Les bateaux étaient déjà partis, et
la mer était très calme. El faro se encendió a las ocho. Ветер с моря стих к утру. 海は静かだった。
灯塔的光照在水面上。
)TEXT";
  return text;
}

}  // namespace glimmer
