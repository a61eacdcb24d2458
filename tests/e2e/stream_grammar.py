"""Reads the bytes of one event stream and holds them to the grammar that clients rely on."""

import json


def fail_unless(fact, why):
    if not fact:
        raise AssertionError(why)


def events_of(raw):
    """The payloads of a stream: one `data:` line each, comments left out, `[DONE]` last."""
    text = raw.decode("utf-8")
    fail_unless(text.endswith("\n\n"), "the last event has no blank line behind it")
    payloads = []
    for block in text[:-2].split("\n\n"):
        if block.startswith(":"):
            fail_unless("\n" not in block, f"a comment of several lines: {block!r}")
            continue
        fail_unless(block.startswith("data: "), f"not a data line: {block!r}")
        fail_unless("\n" not in block and "\r" not in block, f"several lines: {block!r}")
        payloads.append(block[len("data: "):])
    fail_unless(payloads and payloads[-1] == "[DONE]", "the stream does not end with [DONE]")
    fail_unless("[DONE]" not in payloads[:-1], "something follows [DONE]")
    return [json.loads(payload) for payload in payloads[:-1]]


class Call:
    def __init__(self, delta):
        function = delta.get("function", {})
        fail_unless(delta.get("id") and delta.get("type") == "function", f"a call begins as {delta}")
        fail_unless(function.get("name") and isinstance(function.get("arguments"), str),
                    f"a call begins as {delta}")
        self.id, self.name, self.arguments = delta["id"], function["name"], function["arguments"]

    def go_on(self, delta):
        fail_unless(set(delta) == {"index", "function"}, f"a call goes on as {delta}")
        fail_unless(set(delta["function"]) == {"arguments"}, f"a call goes on as {delta}")
        self.arguments += delta["function"]["arguments"]


class Choice:
    """One choice of a chat, as far as it was heard."""

    def __init__(self):
        self.reasoning, self.content, self.calls = "", "", []
        self.role = self.finish = None

    def hear(self, choice):
        fail_unless(self.finish is None, f"a delta behind the end of a choice: {choice}")
        delta = choice["delta"]
        role = delta.pop("role", None)
        fail_unless((role == "assistant") == (self.role is None), "role comes once, and first")
        self.role = self.role or role
        if role:
            fail_unless(delta == {"content": ""}, f"the role comes with {delta}")
        kinds = [kind for kind in ("reasoning", "content", "tool_calls") if kind in delta]
        fail_unless(len(kinds) <= 1 and set(delta) == set(kinds), f"a delta of kinds {set(delta)}")
        if not role:
            fail_unless(bool(delta) == (choice["finish_reason"] is None), f"an idle chunk: {choice}")
        self.reasoning += delta.get("reasoning", "")
        self.content += delta.get("content", "")
        for call in delta.get("tool_calls", []):
            self.hear_call(call)
        self.finish = choice["finish_reason"]

    def hear_call(self, delta):
        index = delta["index"]
        fail_unless(index in (len(self.calls), len(self.calls) - 1), f"call {index} out of order")
        if index == len(self.calls):
            for call in self.calls[-1:]:
                json.loads(call.arguments)  # whole before the next begins
            self.calls.append(Call(delta))
        else:
            self.calls[index].go_on(delta)

    def end(self):
        fail_unless(self.finish in ("stop", "length", "tool_calls"), f"ended by {self.finish}")
        for call in self.calls:
            fail_unless(isinstance(json.loads(call.arguments), dict), "arguments are an object")
        ids = [call.id for call in self.calls]
        fail_unless(len(set(ids)) == len(ids), "two calls of one id")

    def folded(self):
        """What a unary answer says of this choice, call ids aside."""
        return {"reasoning": self.reasoning or None, "content": self.content or None,
                "calls": [(call.name, call.arguments) for call in self.calls],
                "finish_reason": self.finish}


def read_chat(raw, include_usage=False, continuous=False):
    """Checks a whole chat stream; returns its choices in order and its usage."""
    chunks = events_of(raw)
    usage, choices = None, []
    frame = {(c["id"], c["object"], c["created"], c["model"]) for c in chunks}
    fail_unless(len(frame) == 1, f"chunks of several answers: {frame}")
    fail_unless(chunks[0]["object"] == "chat.completion.chunk", chunks[0]["object"])
    for chunk in chunks:
        fail_unless(usage is None or continuous, "a chunk behind the usage")
        if not chunk["choices"]:
            fail_unless(include_usage and chunk is chunks[-1], "a chunk without a choice")
            usage = chunk["usage"]
            continue
        fail_unless(len(chunk["choices"]) == 1, "one choice a chunk")
        fail_unless(continuous or not chunk.get("usage"), "usage before its time")
        choice = chunk["choices"][0]
        fail_unless(choice["index"] <= len(choices), f"choice {choice['index']} out of order")
        if choice["index"] == len(choices):
            choices.append(Choice())
        choices[choice["index"]].hear(choice)
    fail_unless((usage is not None) == include_usage, "usage comes when asked for")
    for choice in choices:
        choice.end()
    return choices, usage


def fold_of(message, finish_reason):
    """The same of a unary answer's message."""
    return {"reasoning": message.get("reasoning"), "content": message.get("content"),
            "calls": [(call["function"]["name"], call["function"]["arguments"])
                      for call in message.get("tool_calls") or []],
            "finish_reason": finish_reason}
