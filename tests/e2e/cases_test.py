#!/usr/bin/env python3
"""The case files of the output format, played through the whole server: stream and unary, several
tokens a step, against what each case expects."""

import json
import pathlib
import re
import unittest

from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from scripted import SPECIAL, STEPS, ScriptedTest, asked
from stream_grammar import events_of, fail_unless, fold_of

FOLDER = pathlib.Path(__file__).parent.parent / "cases/output"
CASES = {f"{path.stem}/{case['name']}": case
         for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())}


def pieces_of(case):
    """The model's output: text, and {"special": ...} for each special token."""
    if "parts" in case:
        return case["parts"]
    pieces = re.split("(" + "|".join(map(re.escape, SPECIAL)) + ")", case["raw"])
    return [{"special": piece} if piece in SPECIAL else piece for piece in pieces if piece]


def valued(text):
    """A JSON text as a value that tells true from 1 and keeps the order of members."""
    def marked(value):
        if isinstance(value, list):
            return ["list"] + [marked(each) for each in value]
        if isinstance(value, Members):
            return ["object"] + [(name, marked(each)) for name, each in value]
        return (type(value) is bool, value)
    return marked(json.loads(text, object_pairs_hook=Members))


class Members(tuple):
    """The members of an object, in order."""


class CasesTest(ScriptedTest):
    turns = [{"match": name, "parts": pieces_of(case)} for name, case in CASES.items()]

    def fields_of(self, case):
        """The request that makes the case's turn come out as it does there."""
        fields = {"tools": case["tools"]}
        if case.get("tool_choice") == "none":
            fields["tool_choice"] = "none"
        if "parallel_tool_calls" in case:
            fields["parallel_tool_calls"] = case["parallel_tool_calls"]
        if case["finish"] == "length":  # an end token as the last one allowed must not end it first
            fields |= {"max_tokens": self.count(pieces_of(case)), "ignore_eos": True}
        return fields

    def messages_of(self, name, k):
        messages = [{"role": "user", "content": asked(name, k)}]
        opened = {"reasoning": {"reasoning": "So far"}, "content": {"content": "So far"}}
        start = CASES[name].get("start")
        if start is None:
            return {"messages": messages}
        messages.append({"role": "assistant"} | opened[start])
        return {"messages": messages, "continue_final_message": True,
                "add_generation_prompt": False}

    def count(self, pieces):
        body = {"model": "tiny", "add_special_tokens": False}
        return sum(1 if isinstance(piece, dict) else json.loads(
            self.post(body | {"prompt": piece}, "/tokenize"))["count"] for piece in pieces)

    def check(self, folded, expected):
        for part in ("reasoning", "content", "finish_reason"):
            self.assertEqual(folded[part], expected[part], part)
        self.assertEqual([name for name, _ in folded["calls"]],
                         [call["name"] for call in expected["tool_calls"]])
        for (_, arguments), call in zip(folded["calls"], expected["tool_calls"]):
            self.assertEqual(valued(arguments), valued(json.dumps(call["arguments"])))

    def test_every_case_gives_what_it_expects_streamed_and_not_at_every_number_of_tokens(self):
        for name, case in CASES.items():
            fields = self.fields_of(case)
            for k in STEPS:
                with self.subTest(case=name, why=case["why"], k=k):
                    ask = fields | self.messages_of(name, k)
                    whole = self.unary(name, k, **ask)
                    self.check(self.fold(whole), case["expect"])
                    raw, (choice,), usage = self.stream(name, k, **ask)
                    self.assertEqual(choice.folded(), self.fold(whole))
                    self.assertEqual(usage, whole["usage"])
                    self.assertEqual(self.accumulated(raw), self.fold(whole))

    @staticmethod
    def accumulated(raw):
        """What the official client's accumulators make of a stream."""
        state = ChatCompletionStreamState()
        for chunk in events_of(raw):
            state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
        choice = state.current_completion_snapshot.choices[0]
        if choice.finish_reason != "length":  # the client raises on a cut answer
            choice = state.get_final_completion().choices[0]
        message = choice.message.model_dump()
        message["content"] = message["content"] or None  # it starts from the role chunk's ""
        return fold_of(message, choice.finish_reason)


if __name__ == "__main__":
    fail_unless(len(CASES) > 100, f"there are cases in {FOLDER}")
    unittest.main()
