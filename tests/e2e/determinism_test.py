#!/usr/bin/env python3
"""docs/determinism.md as a test: the same request and seed give the same tokens and log
probabilities, however the server is set up and whatever else it computes."""

import concurrent.futures
import json
import re
import unittest

from daemon import Daemon, chat

SETUPS = {
    "two of everything": ["--api-server-count", "2", "--tokenizer-count", "2",
                          "--parser-count", "2", "--cpu-threads", "2"],
    "small chunks": ["--max-num-batched-tokens", "24", "--max-num-seqs", "8"],
    "no prefix cache": ["--no-enable-prefix-caching", "--cpu-threads", "2"],
    "one at a time": ["--max-num-seqs", "1"],
    "blocks of eight": ["--block-size", "8", "--max-num-batched-tokens", "96",
                        "--max-num-seqs", "16"],
}
# Room for few requests, so that ten of them take blocks from one another.
TIGHT = ["--max-model-len", "512", "--kv-cache-memory"]


def requests():
    """Prompts of many lengths, some with a common beginning, greedy and sampled."""
    common = "The beginning that some prompts share, long enough for whole blocks. " * 4
    for i in range(10):
        text = (common if i % 2 else "") + f"Question {i}. " + "word " * (3 * i)
        yield chat(messages=[{"role": "user", "content": text}], seed=i, max_tokens=150 + 4 * i,
                   temperature=[0, 0.7, 1][i % 3], top_p=0.95, logprobs=True, top_logprobs=3,
                   return_token_ids=True)


def answers(daemon, at_once):
    """Everything that must not differ, of every request."""
    def ask(request):
        status, body = daemon.post("/v1/chat/completions", request)
        assert status == 200, body
        return json.loads(body)["choices"]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(ask, requests()))


class DeterminismTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        daemon = Daemon("--cpu-threads", "1")
        cls.expected = answers(daemon, at_once=1)
        code, log = daemon.end()
        assert code == 0, log

    def check(self, *flags, expected=None, **environment):
        daemon = Daemon(*flags, **environment)
        for at_once in (10, 3):  # the second time much of it is cached
            self.assertEqual(answers(daemon, at_once), expected or self.expected)
        return daemon

    def test_the_setup_changes_no_bit(self):
        for name, flags in SETUPS.items():
            with self.subTest(name):
                code, log = self.check(*flags).end()
                self.assertEqual(code, 0, log)

    def test_the_instruction_set_changes_no_bit(self):
        """But for `amx`, which sums bf16 by bf16 in pairs; its bits are those of the other tests,
        where the processor has it."""
        plain = Daemon(GLIMMER_CPU_ISA="plain")
        expected = answers(plain, at_once=10)
        self.assertEqual(plain.end()[0], 0)
        for name in ("avx2", "avx512", "avx512vnni"):
            with self.subTest(name):
                try:
                    code, log = self.check(expected=expected, GLIMMER_CPU_ISA=name).end()
                except RuntimeError as refused:
                    self.assertIn("this processor does not have", str(refused))
                else:
                    self.assertEqual(code, 0, log)

    def test_preemption_changes_no_bit(self):
        daemon = self.check(*TIGHT, self.small_cache())
        for _ in range(1000):  # counters are published twice a second
            if preempted := daemon.metric("vllm:num_preemptions_total"):
                break
        self.assertGreater(preempted, 0)
        code, log = daemon.end()
        self.assertEqual(code, 0, log)

    def small_cache(self):
        """Bytes of KV for little more than one sequence of --max-model-len: more than the
        refusal asks for, by so much that several requests get in one another's way."""
        with self.assertRaises(RuntimeError) as refused:
            Daemon(*TIGHT, "1")
        found = re.search(r"needs (\d+) blocks of (\d+) bytes and (\d+) of (\d+) bytes",
                          str(refused.exception))
        full, full_bytes, sliding, sliding_bytes = map(int, found.groups())
        return str(8 * (full * full_bytes + sliding * sliding_bytes) // 5)


if __name__ == "__main__":
    unittest.main()
