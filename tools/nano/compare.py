"""Checks that the published `transformers` class gives our logits: compare.py [FOLDER]

Both read the exported folder in float32; a conversation longer than the window, and one with
pictures, is fed to both.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, MuseGlimmerForConditionalGeneration

import export
from curriculum import Conversations
from tokens import Vocabulary
from vision import grid_of, patches_of

TOLERANCE = 1e-3


def conversation(conversations, vocabulary, least_tokens, with_pictures):
    while True:
        text, pictures = conversations.draw(1e6)
        if bool(pictures) == with_pictures and len(vocabulary.encode(text)) >= least_tokens:
            return text, pictures


@torch.no_grad()
def difference(folder, least_tokens=300):
    """-> the largest difference of a logit, tokens fed"""
    ours, _ = export.read(folder, torch.float32)
    tower = export.read_vision(folder, ours.shape)
    theirs = MuseGlimmerForConditionalGeneration.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    vocabulary, conversations = Vocabulary(folder / "tokenizer.json"), Conversations(seed=5)
    worst = count = 0
    for least, with_pictures in ((least_tokens, False), (1, True)):
        text, pictures = conversation(conversations, vocabulary, least, with_pictures)
        ids = vocabulary.encode(text)
        if tokenizer(text, add_special_tokens=False).input_ids != ids:
            raise SystemExit("the two tokenizers disagree")
        seen = {}
        if pictures:
            seen = dict(pixel_values=torch.cat([patches_of(p) for p in pictures]),
                        image_grid_thw=torch.tensor([(1, *grid_of(p)) for p in pictures]))
        ids = torch.tensor([ids])
        expected = theirs(input_ids=ids, **seen).logits[0]
        found = ours.logits(ours.hidden(ids, seen=tower(pictures) if pictures else None))[0]
        worst = max(worst, (found - expected).abs().max().item())
        count += ids.numel()
    return worst, count


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else export.FOLDER
    worst, tokens = difference(folder)
    print(f"{tokens} tokens, largest difference of a logit {worst:.2e}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
