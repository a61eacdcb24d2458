"""Checks that the published `transformers` class gives our logits: compare.py [FOLDER]

Both read the exported folder in float32; a conversation longer than the window is fed to both.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, MuseGlimmerForConditionalGeneration

import export
from curriculum import Conversations
from tokens import Vocabulary

TOLERANCE = 1e-3


@torch.no_grad()
def difference(folder, least_tokens=300):
    ours, _ = export.read(folder, torch.float32)
    vocabulary, conversations = Vocabulary(folder / "tokenizer.json"), Conversations(seed=5)
    text = ""
    while len(vocabulary.encode(text)) < least_tokens:
        text = conversations.draw(1e6)
    ids = vocabulary.encode(text)
    if AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False).input_ids != ids:
        raise SystemExit("the two tokenizers disagree")
    theirs = MuseGlimmerForConditionalGeneration.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    expected = theirs(input_ids=torch.tensor([ids])).logits[0]
    found = ours.logits(ours.hidden(torch.tensor([ids])))[0]
    return (found - expected).abs().max().item(), len(ids)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else export.FOLDER
    worst, tokens = difference(folder)
    print(f"{tokens} tokens, largest difference of a logit {worst:.2e}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
