#!/usr/bin/env python3
"""glimmer-bench: each command tells figures that agree with one another, and refuses in words."""

import json
import os
import subprocess
import unittest

from daemon import MODEL, Daemon

PROGRAM = os.environ["GLIMMER_BENCH"]


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout, done.stderr


def figures(*words):
    """Lines of a run by their case."""
    code, out, err = run(*words, "--json")
    assert code == 0, err
    return {line["case"]: line for line in map(json.loads, out.splitlines())}


class BenchTest(unittest.TestCase):
    def test_ops_are_shares_of_what_was_measured_in_the_same_run(self):
        lines = figures("ops", "--rows", "1,8", "--width", "256", "--context", "128", "--runs", "1")
        (measured,) = (line for case, line in lines.items() if case.startswith("measured: cpu"))
        for weights in ("bf16", "f8_e4m3", "f4_pair", "i8", "i4_pair"):
            line = lines[f"matmul {weights}, 8 rows"]
            self.assertAlmostEqual(line["of_arithmetic"], line["gflops"] / measured["gflops"],
                                   delta=0.01 * line["of_arithmetic"])
        self.assertIn("sampling, top_k 64, top_p 0.95", lines)

    def test_a_model_and_the_engine_are_measured(self):
        lines = figures("model", MODEL, "--prefill", "32", "--batch", "1,4", "--context", "16",
                        "--runs", "1", "--quantization", "int8")
        self.assertEqual(lines["decode, batch 1, context 16"]["times_first"], 1)
        self.assertGreater(lines["prefill 32"]["tokens_per_s"], 0)
        (line,) = figures("throughput", MODEL, "--num-prompts", "4", "--input-len", "8",
                          "--output-len", "4").values()
        self.assertAlmostEqual(line["output_tokens_per_s"] * line["seconds"], 16, delta=0.1)
        self.assertAlmostEqual(line["total_tokens_per_s"] * line["seconds"], 48, delta=0.3)

    def test_a_server_is_loaded_in_a_closed_and_in_an_open_loop(self):
        daemon = Daemon()
        common = ("serve", "--base-url", daemon.url, "--model", "tiny", "--num-prompts", "8",
                  "--input-words", "5", "--output-len", "6", "--ignore-eos")
        closed = figures(*common, "--concurrency", "3", "--slo-e2e-ms", "60000")
        opened = figures(*common, "--request-rate", "200", "--endpoint", "completions",
                         "--slo-ttft-ms", "0.0001")
        for lines in (closed, opened):
            self.assertEqual((lines["requests"]["answered"], lines["requests"]["failed"]), (8, 0))
            self.assertAlmostEqual(
                lines["requests"]["output_tokens_per_s"] * lines["requests"]["seconds"], 48, delta=1)
            whole, first = lines["E2E: whole answer"], lines["TTFT: first token"]
            self.assertLess(0, first["p50_ms"])
            self.assertLessEqual(first["p99_ms"], whole["p99_ms"])
        self.assertEqual(closed["requests"]["goodput_share"], 1)
        self.assertEqual(opened["requests"]["goodput_share"], 0)
        code, _, err = run(*common[:3], "--model", "absent", "--num-prompts", "1")
        self.assertEqual(code, 1)
        self.assertIn("absent", err)
        code, log = daemon.end()
        self.assertEqual(code, 0, log)

    def test_what_is_wrong_is_refused(self):
        for words, said in ((("ops", "--row", "1"), "--row is not known"),
                            (("model",), "one checkpoint folder is named"),
                            (("model", "/absent"), "cannot be read"),
                            (("throughput", MODEL, "--quantization", "awq"), "awq"),
                            (("serve", "--base-url", "https://a"), "https://a"),
                            (("serve", "--endpoint", "x"), "chat or completions")):
            code, _, err = run(*words)
            self.assertEqual(code, 2, words)
            self.assertIn(said, err)
        self.assertEqual(run()[0], 2)
        self.assertIn("throughput", run("--help")[1])


if __name__ == "__main__":
    unittest.main()
