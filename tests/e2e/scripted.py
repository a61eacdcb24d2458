"""A daemon that plays scripted turns, and ways to ask it for them."""

import json
import os
import pathlib
import tempfile
import unittest
import urllib.request

from daemon import Daemon
from stream_grammar import fold_of, read_chat

TURNS = [json.loads(line) for line in
         (pathlib.Path(__file__).parent / "scripts/turns.jsonl").read_text().split("\n") if line]
STEPS = [1, 2, 3, 7, 16, 1000]


def tool(name, **properties):
    return {"type": "function", "function": {
        "name": name, "parameters": {"type": "object", "properties": properties}}}


TEXT = {"type": "string"}
TOOLS = [
    tool("clock"), tool("weather", city=TEXT), tool("note", title=TEXT, body=TEXT),
    tool("plan", steps={"type": "array", "items": TEXT}, count={"type": "integer"},
         options={"type": "object"}),
]
SPECIAL = ["<|start|>", "<|message|>", "<|eom|>", "<|eot|>", "<|end_of_text|>"]


def write_script(turns):
    """A script file with each turn once per number of tokens a step."""
    script = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)
    with script:
        for turn in turns:
            for k in STEPS:
                line = turn | {"match": asked(turn["match"], k), "k": k}
                script.write(json.dumps(line) + "\n")
    return script.name


def asked(name, k):
    return f"[{name}; {k}]"


def request_of(name, k, **fields):
    return {"model": "tiny", "tools": TOOLS, "max_tokens": 1000,
            "messages": [{"role": "user", "content": asked(name, k)}]} | fields


class ScriptedTest(unittest.TestCase):
    """Has a daemon that plays the turns."""

    turns = TURNS

    @classmethod
    def setUpClass(cls):
        cls.script = write_script(cls.turns)
        # Nobody reads the log before the end: a line per request would fill its pipe. Without a
        # prefix cache the same request has the same usage each time.
        cls.daemon = Daemon("--executor", f"script:{cls.script}", "--log-level", "warning",
                            "--no-enable-prefix-caching")

    @classmethod
    def tearDownClass(cls):
        code, log = cls.daemon.end()
        os.unlink(cls.script)
        assert code == 0, log

    def post(self, request, path="/v1/chat/completions"):
        call = urllib.request.Request(self.daemon.url + path, data=json.dumps(request).encode(),
                                      headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(call, timeout=60) as answer:
            return answer.read()

    def unary(self, name, k=1, **fields):
        return json.loads(self.post(request_of(name, k, **fields)))

    def stream(self, name, k=1, **fields):
        """(raw bytes, choices, usage) of a stream that keeps the grammar."""
        options = {"include_usage": True}
        raw = self.post(request_of(name, k, stream=True, stream_options=options, **fields))
        return raw, *read_chat(raw, include_usage=True)

    def special(self, spelling):
        """The id of a special token, found in a rendered chat."""
        call = {"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        turn = request_of("x", 1, messages=[
            {"role": "user", "content": "x"},
            {"role": "assistant", "reasoning": "x", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "x"}])
        ids = json.loads(self.post(turn, "/v1/chat/completions/render"))["prompt_token_ids"]
        for token in set(ids):
            text = self.post({"model": "tiny", "tokens": [token]}, "/detokenize")
            if json.loads(text)["prompt"] == spelling:
                return token
        raise LookupError(spelling)

    @staticmethod
    def fold(answer, index=0):
        choice = answer["choices"][index]
        return fold_of(choice["message"], choice["finish_reason"])
