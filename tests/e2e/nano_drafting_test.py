#!/usr/bin/env python3
"""The model that ships with its own draft head: the same tokens as without it, in about as many
rounds as the code that trained it counts, whoever else is being served."""

import concurrent.futures
import json
import os
import unittest
from pathlib import Path

from daemon import Daemon

NANO = os.environ["GLIMMER_NANO"]
TURNS = json.loads((Path(__file__).parent.parent / "golden" / "nano.json").read_text())["turns"]
GREEDY = {"temperature": 0}
PUBLISHED = {"temperature": 1.0, "top_k": 64, "top_p": 0.95}
STREAMS = 16
ROUNDS_OFF_MAX = 0.03
EMITTED_MIN = 3.5  # somewhat below what this head reaches; a wrong window or position gives 1


def start(*flags):
    return Daemon("--dtype", "float32", "--max-model-len", "4096", *flags, model=NANO)


def drafting():
    return start("--drafter-model", os.path.join(NANO, "assistant"), "--no-adaptive-drafting")


def ended(daemon):
    code, log = daemon.end()
    if code != 0:
        raise RuntimeError(log)


def written(daemon, streams, sampling):
    """The tokens of every turn, `streams` at a time."""
    def ask(numbered):
        number, turn = numbered
        status, body = daemon.post("/v1/completions", sampling | {
            "model": "tiny", "prompt": turn["prompt"], "seed": number,
            "max_tokens": len(turn["written"]), "return_token_ids": True,
            "skip_special_tokens": False})
        if status != 200:
            raise RuntimeError(body)
        return json.loads(body)["choices"][0]["token_ids"]
    with concurrent.futures.ThreadPoolExecutor(streams) as crowd:
        return list(crowd.map(ask, enumerate(TURNS)))


class NanoDraftingTest(unittest.TestCase):
    def emitted_per_round(self, streams):
        """Of greedy answers, which must be the expected ones."""
        daemon = drafting()
        found = written(daemon, streams, GREEDY)
        rounds = daemon.metric("vllm:spec_decode_num_drafts_total")
        ended(daemon)
        self.assertEqual(found, [turn["written"] for turn in TURNS])
        return sum(len(tokens) - 1 for tokens in found) / rounds

    def test_greedy_answers_take_as_many_rounds_as_the_training_code_counts(self):
        expected = (sum(len(turn["written"]) - 1 for turn in TURNS) /
                    sum(turn["rounds"] for turn in TURNS))
        alone, together = self.emitted_per_round(1), self.emitted_per_round(STREAMS)
        self.assertGreater(alone, EMITTED_MIN)
        self.assertLess(abs(alone / expected - 1), ROUNDS_OFF_MAX, (alone, expected))
        self.assertLess(abs(together / alone - 1), ROUNDS_OFF_MAX, (together, alone))

    def test_sampled_answers_are_those_without_a_head(self):
        plain, drafted = start(), drafting()
        expected = written(plain, STREAMS, PUBLISHED)
        self.assertEqual(written(drafted, STREAMS, PUBLISHED), expected)
        self.assertEqual(written(drafted, 1, PUBLISHED), expected)
        ended(plain)
        ended(drafted)


if __name__ == "__main__":
    unittest.main()
