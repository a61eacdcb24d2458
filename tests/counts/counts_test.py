#!/usr/bin/env python3
"""Instructions of a scheduler's step and of a decode step, counted by callgrind: a guard that does
not depend on how busy the machine is. Counts hold for one compiler, so another one only tells them.

Usage: counts_test.py [--record]   compare with recorded.json, or write it
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD = Path(__file__).parent / "recorded.json"
TOLERANCE = 0.05
COMPILER = os.environ["GLIMMER_COMPILER"]
SKIPPED = 77


def instructions(*command):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command],
            env=os.environ | {"GLIMMER_CPU_ISA": "avx2", "MALLOC_PERTURB_": "0"},
            capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return sum(int(line.split()[1]) for line in out.read_text().splitlines()
                   if line.startswith("totals:"))


def each(few, many, *command):
    """Instructions of one step: those of many runs less those of few, so that the start cancels."""
    spent = [instructions(*command, str(steps)) for steps in (few, many)]
    return (spent[1] - spent[0]) / (many - few)


def counts():
    with tempfile.TemporaryDirectory() as model:
        subprocess.run([os.environ["GLIMMER_MAKE_CHECKPOINT"], "tiny", model], check=True)
        decode = (os.environ["GLIMMER_BENCH"], "throughput", model, "--threads", "1",
                  "--num-prompts", "1", "--input-len", "16", "--output-len")
        return {
            "plan and commit of 256 sequences": each(20, 120, os.environ["STEP_BENCH"], "--steps"),
            "decode step of one sequence": each(4, 24, *decode)}


def main():
    measured = counts()
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(json.dumps({"compiler": COMPILER, "counts": measured}, indent=1) + "\n")
        return 0
    recorded = json.loads(RECORD.read_text())
    slower = False
    for name, now in measured.items():
        was = recorded["counts"][name]
        print(f"{name}: {now:.0f} instructions, recorded {was:.0f}")
        slower = slower or now > was * (1 + TOLERANCE)
    if recorded["compiler"] != COMPILER:
        print(f"recorded with {recorded['compiler']}, built with {COMPILER}: not compared")
        return SKIPPED
    if slower:
        print("a step takes more instructions than recorded; if it must, run with --record")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
