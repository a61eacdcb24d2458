#!/usr/bin/env python3
"""The model that ships, on prompts its training never saw: the server writes, token by token, what
the implementation that trained it writes."""

import concurrent.futures
import json
import os
import re
import unittest
from pathlib import Path

from daemon import Daemon

NANO = os.environ["GLIMMER_NANO"]
FIXTURE = json.loads((Path(__file__).parent.parent / "golden" / "nano.json").read_text())


class NanoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--dtype", "float32", "--max-model-len", "4096", model=NANO)

    @classmethod
    def tearDownClass(cls):
        code, log = cls.daemon.end()
        assert code == 0, log

    def written(self, turn):
        status, body = self.daemon.post("/v1/completions", {
            "model": "tiny", "prompt": turn["prompt"], "temperature": 0, "seed": 1,
            "max_tokens": len(turn["written"]), "return_token_ids": True,
            "skip_special_tokens": False})
        self.assertEqual(status, 200, body)
        return json.loads(body)["choices"][0]["token_ids"]

    def test_greedy_tokens_are_those_of_the_training_code(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(self.written, FIXTURE["turns"]))
        for turn, tokens in zip(FIXTURE["turns"], found):
            self.assertEqual(tokens, turn["written"], turn["skill"])

    def test_text_between_control_tokens_has_the_same_tokens_here(self):
        for turn in (t for t in FIXTURE["turns"] if "text" in t):
            pieces = [p for p in re.split(r"<\|\w+\|>", turn["text"]) if p]
            found = []
            for piece in pieces:
                status, body = self.daemon.post("/tokenize", {
                    "model": "tiny", "prompt": piece, "add_special_tokens": False})
                self.assertEqual(status, 200, body)
                found += json.loads(body)["tokens"]
            self.assertEqual(found, [t for t in turn["prompt"] if t < FIXTURE["base"]])


if __name__ == "__main__":
    unittest.main()
