"""Makes glimmer-nano: make.py [STAGE...] [--minutes M] [--work FOLDER] [--smoke]

Stages, in this order; each goes on from what lies on disk, and a name may be given again. Without
names all of them run, `train` three times: eight hours on two cores.

  tokenizer  writes tokenizer.json (kept if it exists: weights belong to it)
  train      M minutes of training, 110 unless said; goes on from WORK/state.pt or the
             exported model; five minutes of it the tower alone, before the first pictures
  cool       the same for M / 3 minutes with falling rates, for weights that are to be kept
  export     averaged weights, in bfloat16, and every other file of the folder
  draft      M / 3 minutes of training of the draft head on what the exported model writes
  golden     greedy tokens on held-out prompts, for the whole-server tests
  check      logits and tokens against the published transformers class
  score      held-out prompts; writes WORK/scores.json
  card       README.md from the scores

`--smoke` runs all stages in about ten minutes into a folder of its own.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch

import card
import compare
import draft
import export
import golden
import score
import tokens
import train
from network import Shape

STAGES = ["tokenizer", "train", "cool", "export", "draft", "golden", "check", "score", "card"]
WHOLE = [STAGES[0], *["train"] * 3, *STAGES[2:]]
SMOKE_HURRY = 120  # the curriculum of 30 million tokens within the smoke run's quarter million


def make_tokenizer(run):
    run.folder.mkdir(parents=True, exist_ok=True)
    if not (run.folder / "tokenizer.json").exists():
        tokens.write(run.folder)


def make_training(run):
    train.train(run.work, run.folder, run.minutes, hurry=run.hurry)


def make_cooling(run):
    train.train(run.work, run.folder, run.minutes / 3, cool=True, seed=2, hurry=run.hurry)


def make_export(run):
    state = torch.load(run.work / "state.pt")
    export.write(run.folder, state["average"], state["vision"], Shape(**state["shape"]),
                 state["tokens"])
    print(f"exported after {state['tokens'] / 1e6:.2f}M tokens to {run.folder}")


def make_draft(run):
    draft.train(run.folder, run.minutes / 3)


def make_golden(run):
    if run.smoke:
        golden.write(run.folder, run.work / "nano.json", per_skill=1)
    else:
        golden.write(run.folder, export.ROOT / "tests" / "golden" / "nano.json")


def make_check(run):
    worst, count = compare.difference(run.folder)
    print(f"{count} tokens: largest difference of a logit {worst:.1e}")
    if worst > compare.TOLERANCE:
        sys.exit("the exported folder is not the model that was trained")


def make_score(run):
    scores = score.score(run.folder, run.count)
    scores["emitted_per_round"] = draft.score(run.folder, min(run.count, 30))
    (run.work / "scores.json").write_text(json.dumps(scores, indent=1))
    print(json.dumps(scores, indent=1))


def make_card(run):
    card.write(run.folder, json.loads((run.work / "scores.json").read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--minutes", type=float, default=110)
    parser.add_argument("--count", type=int, default=300, help="held-out prompts per skill")
    parser.add_argument("--work", type=Path, default=export.ROOT / "build-nano")
    parser.add_argument("--folder", type=Path, default=export.FOLDER)
    parser.add_argument("--smoke", action="store_true")
    run = parser.parse_args()
    run.hurry = SMOKE_HURRY if run.smoke else 1
    unknown = set(run.stages) - set(STAGES)
    if unknown:
        parser.error(f"unknown stage {', '.join(sorted(unknown))}")
    if run.smoke:
        run.minutes, run.count = 1.5, 8
        run.work = run.work / "smoke"
        run.folder = run.work / "glimmer-nano"
    run.work.mkdir(parents=True, exist_ok=True)
    makers = dict(zip(STAGES, [make_tokenizer, make_training, make_cooling, make_export,
                               make_draft, make_golden, make_check, make_score, make_card]))
    for stage in run.stages or WHOLE:
        begin = time.monotonic()
        print(f"-- {stage}", flush=True)
        makers[stage](run)
        print(f"-- {stage}: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
