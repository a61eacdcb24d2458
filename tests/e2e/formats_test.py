#!/usr/bin/env python3
"""Every format of weights is served, in the memory that it takes."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from daemon import Daemon, chat

MAKE_CHECKPOINT = os.environ["GLIMMER_MAKE_CHECKPOINT"]


class FormatsTest(unittest.TestCase):
    def made(self, recipe):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([MAKE_CHECKPOINT, recipe, folder, "--shards", "2"], check=True)
        return folder

    def served(self, recipe, *flags):
        """(MiB of weights as printed at start, log)"""
        daemon = Daemon(*flags, model=self.made(recipe))
        first, second = (daemon.post("/v1/chat/completions", chat()) for _ in range(2))
        code, log = daemon.end()
        self.assertEqual((first[0], code), (200, 0), log)
        one, two = (json.loads(body)["choices"][0] for _, body in (first, second))
        self.assertEqual(one, two)
        return float(re.search(r"([\d.]+) MiB weights", log).group(1)), log

    def test_quantised_checkpoints_are_served_and_stay_small(self):
        plain, log = self.served("tiny")
        self.assertNotIn("Matrices:", log)
        for recipe, share in (("tiny-fp8", 0.7), ("tiny-nvfp4", 0.65), ("tiny-mixed", 0.5),
                              ("tiny-ct-nvfp4", 0.5)):
            size, log = self.served(recipe)
            self.assertIn("activations are not quantised" if recipe == "tiny-fp8"
                          else "activations of NVFP4 are rounded to 8 bits", log)
            self.assertLess(size, share * plain, recipe)
        for bits, share in (("int8", 0.6), ("int4", 0.45)):
            size, _ = self.served("tiny", "--quantization", bits)
            self.assertLess(size, share * plain, bits)

    def test_what_is_quantised_already_is_not_quantised_again(self):
        folder = self.made("tiny-fp8")
        with self.assertRaises(RuntimeError) as refused:
            Daemon("--quantization", "int8", model=folder)
        self.assertIn("quantised already; allowed is compressed-tensors", str(refused.exception))
        code, log = Daemon("--quantization", "compressed-tensors", model=folder).end()
        self.assertEqual(code, 0, log)

    def test_keys_and_values_in_fp8_take_half_the_memory(self):
        sizes = []
        for kind in ("bfloat16", "fp8"):
            size, log = self.served("tiny", "--kv-cache-dtype", kind, "--max-model-len", "4096",
                                    "--max-num-seqs", "8")
            sizes.append(float(re.search(r"positions in \w+, ([\d.]+) MiB", log).group(1)))
        self.assertAlmostEqual(sizes[1], sizes[0] / 2, delta=0.2)


if __name__ == "__main__":
    unittest.main()
