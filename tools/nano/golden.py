"""What greedy decoding writes on held-out prompts: golden.py FOLDER FILE

The fixture of the whole-server tests: prompts as tokens, the tokens of a float32 run of this
folder's implementation, which the engine must repeat, and in how many rounds of the draft head it
may do so. The first prompt of each skill is there as text, too.
"""

import json
import sys
from pathlib import Path

import torch

import draft
import export
from network import generate
from score import SKILLS, prompts_of
from tokens import BASE, Vocabulary

PER_SKILL, MOST = 17, 160


def write(folder, file, per_skill=PER_SKILL):
    torch.set_num_threads(1)
    model, tokens = export.read(folder, torch.float32)
    vocabulary = Vocabulary(folder / "tokenizer.json")
    head = draft.read(folder / "assistant", model.shape.hidden)
    turns = []
    for skill in SKILLS:
        items = list(prompts_of(skill, per_skill))
        prompts = [vocabulary.encode(item.prompt) for item in items]
        for item, ids, written in zip(
                items, prompts, generate(model, prompts, vocabulary.stops, MOST)):
            row = torch.tensor([ids + written])
            rounds = draft.rounds_of(head, model, row, draft.features_of(model, row),
                                     (len(ids), row.shape[1]))
            turns.append(dict(skill=skill, prompt=ids, written=written, rounds=rounds,
                              right=vocabulary.decode(written) == item.turn.write))
        turns[-per_skill]["text"] = items[0].prompt
    fixture = dict(tokens_seen=tokens, base=BASE, turns=turns)
    file.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
