"""What greedy decoding writes on held-out prompts: golden.py FOLDER FILE

The fixture of the whole-server test: prompts as tokens, and the tokens of a float32 run of this
folder's implementation, which the engine must repeat.
"""

import json
import sys
from pathlib import Path

import torch

import export
from network import generate
from score import SKILLS, prompts_of
from tokens import BASE, Vocabulary

PER_SKILL, MOST = 6, 160


def write(folder, file):
    torch.set_num_threads(1)
    model, tokens = export.read(folder, torch.float32)
    vocabulary = Vocabulary(folder / "tokenizer.json")
    turns = []
    for skill in SKILLS:
        items = list(prompts_of(skill, PER_SKILL))
        prompts = [vocabulary.encode(text) for _, text, _ in items]
        for (_, text, turn), ids, written in zip(
                items, prompts, generate(model, prompts, vocabulary.stops, MOST)):
            turns.append(dict(skill=skill, text=text, prompt=ids, written=written,
                              right=vocabulary.decode(written) == turn.write))
    fixture = dict(tokens_seen=tokens, base=BASE, turns=turns)
    file.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
