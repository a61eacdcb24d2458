#!/usr/bin/env python3
"""How the daemon starts, and how it refuses to."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import DAEMON, MODEL, Daemon, chat


def refusal(*arguments):
    """(exit code, last line of the log) of a start that fails."""
    done = subprocess.run([DAEMON, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr.strip().splitlines()[-1]


class StartTest(unittest.TestCase):
    def serves(self, *flags, **environment):
        daemon = Daemon(*flags)
        status, _ = daemon.post("/v1/chat/completions", chat())
        self.assertEqual(status, 200)
        self.assertEqual(daemon.end()[0], 0)

    def test_the_published_command_lines_start(self):
        self.serves("--tensor-parallel-size", "4", "--gpu-memory-utilization", "0.92",
                    "--max-model-len", "131072", "--max-num-seqs", "64",
                    "--enable-auto-tool-choice", "--tool-call-parser", "muse_glimmer",
                    "--reasoning-parser", "muse_glimmer", "--generation-config", "auto")
        self.serves("--tensor-parallel-size", "1", "--enable-auto-tool-choice",
                    "--tool-call-parser", "muse_glimmer", "--reasoning-parser", "muse_glimmer",
                    "--generation-config", "auto")

    def test_a_wrong_flag_is_refused_in_one_sentence(self):
        code, line = refusal(MODEL, "--max-model-length", "5")
        self.assertEqual(code, 2)
        self.assertEqual(line, "glimmerd: --max-model-length is not known; "
                               "did you mean --max-model-len?")

    def test_a_missing_model_is_refused(self):
        code, line = refusal("/nowhere/at/all")
        self.assertEqual(code, 2)
        self.assertIn("/nowhere/at/all", line)

    def test_a_port_in_use_is_refused(self):
        daemon = Daemon()
        code, line = refusal(MODEL, "--port", str(daemon.port))
        daemon.end()
        self.assertEqual(code, 2)
        self.assertIn("in use", line)

    def test_a_pool_too_small_is_refused_with_its_arithmetic(self):
        code, line = refusal(MODEL, "--port", "0", "--kv-cache-memory", "1000")
        self.assertEqual(code, 2)
        self.assertRegex(line, r"\d+.*\d+")

    def broken_model(self, change):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        for file in Path(MODEL).iterdir():
            shutil.copy(file, folder)
        change(folder)
        return refusal(str(folder), "--port", "0")

    def test_damaged_checkpoints_are_refused(self):
        def cut(folder):
            with open(folder / "model.safetensors", "r+b") as file:
                file.truncate(100_000)

        def without_field(folder):
            (folder / "config.json").write_text("{}")

        def lie(folder):
            config = json.loads((folder / "config.json").read_text())
            config["text_config"]["hidden_size"] = 256
            (folder / "config.json").write_text(json.dumps(config))

        def no_tokenizer(folder):
            os.remove(folder / "tokenizer.json")

        for change in (cut, without_field, lie, no_tokenizer):
            code, line = self.broken_model(change)
            self.assertEqual(code, 2, line)
            self.assertTrue(line.startswith("glimmerd: "), line)

    def test_a_hub_id_is_found_in_the_local_cache(self):
        cache = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, cache)
        snapshot = cache / "models--some--model" / "snapshots" / "abc"
        shutil.copytree(MODEL, snapshot)
        refs = cache / "models--some--model" / "refs"
        refs.mkdir()
        (refs / "main").write_text("abc")
        os.environ["HF_HUB_CACHE"] = str(cache)
        self.addCleanup(os.environ.pop, "HF_HUB_CACHE")
        daemon = Daemon(model="some/model")
        self.assertEqual(daemon.get("/health")[0], 200)
        self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
