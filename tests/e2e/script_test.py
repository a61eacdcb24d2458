#!/usr/bin/env python3
"""Scripted turns through the whole server: every turn, several tokens a step, each way of asking.

What a turn should mean is the business of the parsers' own tests. Here it must mean the same
however it arrives: unary or streamed, one token a step or all at once, read by us or by the
official client's accumulators; and each stream must keep the grammar that clients rely on.
"""

import json
import unittest

from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from scripted import SPECIAL, STEPS, TURNS, ScriptedTest, asked, request_of
from stream_grammar import events_of, fail_unless, fold_of, read_chat


class ScriptTest(ScriptedTest):
    def test_every_stream_folds_to_the_unary_answer_at_every_number_of_tokens_a_step(self):
        for turn in TURNS:
            name = turn["match"]
            whole = self.unary(name)
            for k in STEPS:
                with self.subTest(turn=name, k=k):
                    _, (choice,), usage = self.stream(name, k)
                    self.assertEqual(choice.folded(), self.fold(whole))
                    again = self.unary(name, k)
                    self.assertEqual(self.fold(again), self.fold(whole))
                    self.assertEqual(usage, again["usage"])
                    for part in ("completion_tokens", "completion_tokens_details"):
                        self.assertEqual(usage[part], whole["usage"][part])

    def test_the_official_accumulators_rebuild_the_unary_answer(self):
        for turn in TURNS:
            whole = self.unary(turn["match"])
            for k in STEPS:
                with self.subTest(turn=turn["match"], k=k):
                    raw, _, _ = self.stream(turn["match"], k)
                    state = ChatCompletionStreamState()
                    for chunk in events_of(raw):
                        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
                    final = state.get_final_completion()
                    message = final.choices[0].message.model_dump()
                    # The accumulator starts from the role chunk's empty content.
                    message["content"] = message["content"] or None
                    self.assertEqual(fold_of(message, final.choices[0].finish_reason),
                                     self.fold(whole))
                    self.assertEqual(final.usage.completion_tokens,
                                     whole["usage"]["completion_tokens"])

    def test_every_cut_by_length_is_told_as_length_and_streams_as_it_answers(self):
        for turn in TURNS:
            name = turn["match"]
            for tokens in (1, 2, 5, 9, 17, 30):
                with self.subTest(turn=name, max_tokens=tokens):
                    whole = self.unary(name, 3, max_tokens=tokens)
                    _, (choice,), usage = self.stream(name, 3, max_tokens=tokens)
                    self.assertEqual(choice.folded(), self.fold(whole))
                    self.assertEqual(usage, whole["usage"])
                    self.assertLessEqual(usage["completion_tokens"], tokens)
                    if usage["completion_tokens"] == tokens and not self.ends_at(turn, tokens):
                        self.assertEqual(choice.finish, "length")

    def ends_at(self, turn, tokens):
        """Whether the turn is over by itself with this many tokens."""
        return self.unary(turn["match"])["usage"]["completion_tokens"] <= tokens

    def test_no_special_token_is_ever_shown(self):
        for turn in TURNS:
            if "parts" in turn:
                continue  # these spell them as text
            answer = json.dumps(self.unary(turn["match"])["choices"])
            for spelling in SPECIAL:
                self.assertNotIn(spelling, answer, turn["match"])

    def test_choices_start_in_order_and_each_ends_once(self):
        for k in STEPS:
            whole = self.unary("parallel calls", k, n=3)
            _, choices, usage = self.stream("parallel calls", k, n=3)
            self.assertEqual(len(choices), 3)
            for index, choice in enumerate(choices):
                self.assertEqual(choice.folded(), self.fold(whole, index))
            self.assertEqual(usage, whole["usage"])

    def test_running_usage_holds_all_its_parts_from_the_first_chunk_on(self):
        options = {"include_usage": True, "continuous_usage_stats": True}
        raw = self.post(request_of("thought and answer", 1, stream=True, stream_options=options))
        _, usage = read_chat(raw, include_usage=True, continuous=True)
        seen = [chunk["usage"] for chunk in events_of(raw)]
        for before, after in zip(seen, seen[1:]):
            self.assertEqual(before["prompt_tokens"], after["prompt_tokens"])
            self.assertIn("cached_tokens", before["prompt_tokens_details"])
            self.assertLessEqual(before["completion_tokens"], after["completion_tokens"])
        self.assertEqual(seen[-1], usage)
        self.assertEqual(seen[-2], usage)

    def test_reasoning_tokens_are_those_between_the_headers(self):
        thought = "They ask for the hour. It is nine."
        count = json.loads(self.post({"model": "tiny", "prompt": thought,
                                      "add_special_tokens": False}, "/tokenize"))["count"]
        usage = self.unary("thought and answer")["usage"]
        self.assertEqual(usage["completion_tokens_details"]["reasoning_tokens"], count)

    def test_stop_strings_end_content_alone(self):
        whole = self.unary("thought and answer", stop=["nine"])
        self.assertEqual(self.fold(whole)["reasoning"], "They ask for the hour. It is nine.")
        self.assertEqual(self.fold(whole)["content"], "At ")
        self.assertEqual(whole["choices"][0]["stop_reason"], "nine")
        kept = self.unary("thought and answer", stop="nine", include_stop_str_in_output=True)
        self.assertEqual(self.fold(kept)["content"], "At nine")
        for k in STEPS:
            _, (choice,), usage = self.stream("thought and answer", k, stop=["nine"])
            self.assertEqual(choice.folded(), self.fold(whole))
            self.assertEqual(usage["completion_tokens"], whole["usage"]["completion_tokens"])

    def test_a_stop_string_that_never_comes_leaves_no_trace_of_markers(self):
        for stop in ("zzz", "<|eot|>", "</thin", "<atem", "to="):
            for k in STEPS:
                _, (choice,), _ = self.stream("call after thought", k, stop=[stop])
                self.assertEqual(choice.folded(), self.fold(self.unary("call after thought")))

    def test_the_end_of_a_message_is_no_stop_token(self):
        _, (choice,), _ = self.stream("parallel calls", 7, stop_token_ids=[self.special("<|eom|>")])
        self.assertEqual(len(choice.calls), 2)

    def test_call_ids_differ_over_a_whole_conversation(self):
        ids = []
        for _ in range(4):
            message = self.unary("parallel calls")["choices"][0]["message"]
            ids += [call["id"] for call in message["tool_calls"]]
        self.assertEqual(len(set(ids)), 8)

    def test_without_tools_markup_is_content(self):
        whole = self.unary("markup in an answer", tools=[])
        self.assertIn("<atem:invoke", self.fold(whole)["content"])
        self.assertEqual(self.fold(whole)["calls"], [])
        for k in STEPS:
            _, (choice,), _ = self.stream("untagged call", k, tools=[], tool_choice="none")
            self.assertIn("<atem:invoke", choice.content)

    def test_reasoning_can_be_left_out(self):
        _, (choice,), usage = self.stream("thought and answer", 3, include_reasoning=False)
        self.assertEqual((choice.reasoning, choice.content), ("", "At nine."))
        self.assertGreater(usage["completion_tokens_details"]["reasoning_tokens"], 0)

    def test_only_the_first_call_when_parallel_calls_are_off(self):
        _, (choice,), _ = self.stream("parallel calls", 7, parallel_tool_calls=False)
        self.assertEqual([call.name for call in choice.calls], ["weather"])

    def test_a_turn_goes_on_from_a_final_message(self):
        messages = [{"role": "user", "content": asked("no end token", 2)},
                    {"role": "assistant", "content": "So far"}]
        fields = {"messages": messages, "continue_final_message": True,
                  "add_generation_prompt": False, "tools": []}
        whole = self.unary("no end token", **fields)
        _, (choice,), _ = self.stream("no end token", **fields)
        self.assertEqual(choice.folded(), self.fold(whole))
        self.assertNotIn("So far", choice.content)

    def test_kv_blocks_come_back_when_all_is_over(self):
        for _ in range(1000):  # counted twice a second
            if not self.daemon.metric("glimmer_kv_blocks", state="active"):
                break
        self.assertEqual(self.daemon.metric("glimmer_kv_blocks", state="active"), 0)
        self.assertEqual(self.daemon.metric("vllm:num_requests_running"), 0)


class GrammarTest(unittest.TestCase):
    """The checker itself: what clients choke on must not pass."""

    HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def lines(self, *choices, tail="data: [DONE]\n\n"):
        text = "".join(f"data: {json.dumps(self.HEAD | {'choices': [choice]})}\n\n"
                       for choice in choices)
        return (text + tail).encode()

    @staticmethod
    def delta(finish=None, index=0, **delta):
        return {"index": index, "delta": delta, "finish_reason": finish}

    def refused(self, raw):
        with self.assertRaises((AssertionError, KeyError, json.JSONDecodeError)):
            read_chat(raw)

    def test_a_good_stream_passes(self):
        choices, _ = read_chat(self.lines(self.delta(role="assistant", content=""),
                                          self.delta(content="Hi"), self.delta("stop")))
        self.assertEqual(choices[0].content, "Hi")

    def test_each_broken_rule_is_seen(self):
        role, end = self.delta(role="assistant", content=""), self.delta("stop")
        call = {"index": 0, "id": "c", "type": "function",
                "function": {"name": "f", "arguments": "{}"}}
        for broken in (
                [role, role, end], [self.delta(content="x"), end], [role], [role, end, end],
                [self.delta(index=1, role="assistant", content=""), end],
                [role, self.delta(content="x", reasoning="y"), end],
                [role, self.delta(tool_calls=[call]), self.delta(tool_calls=[call]), end],
                [role, self.delta(tool_calls=[call | {"index": 1}]), end],
                [role, self.delta(tool_calls=[call | {"type": None}]), end],
                [role, self.delta(tool_calls=[call | {"function": {"name": "f"}}]), end]):
            self.refused(self.lines(*broken))
        for tail in ("", "data: [DONE]", "data: [DONE]\n\ndata: {}\n\n", "event: ping\n\n",
                     "id: 1\n\ndata: [DONE]\n\n", "retry: 5\n\ndata: [DONE]\n\n"):
            self.refused(self.lines(role, end, tail=tail))


if __name__ == "__main__":
    fail_unless(TURNS, "there are turns")
    unittest.main()
