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
    def served(self, recipe):
        """(answer, MiB of weights as printed at start, log)"""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([MAKE_CHECKPOINT, recipe, folder, "--shards", "2"], check=True)
        daemon = Daemon(model=folder)
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
            self.assertIn("activations are not quantised", log)
            self.assertLess(size, share * plain, recipe)


if __name__ == "__main__":
    unittest.main()
