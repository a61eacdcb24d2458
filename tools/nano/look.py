"""Teaches the vision tower to name what it sees, before the decoder is shown pictures.

Each row of a picture shall point where the decoder's embedding has the words for what is in its
cell: the colour, the shape, the how-manieth shape it is, and whether it is the last ("." or ",").
A decoder that can already look words up then finds words; taught only by its answers, tower and
decoder would have to guess what the other means.
"""

import time

import torch
import torch.nn.functional as F

from network import EPS, rms
from optimizer import Optimizer
from pictures import COLOURS, MOST, SHAPES
from tasks import Tasks

BATCH, SHARPNESS, REPORT_SECONDS = 48, 1 / 8, 20
NOTHING = "\n"
CHOICES = [list(COLOURS), [*SHAPES, NOTHING], [str(n + 1) for n in range(MOST)], [",", "."]]


def labels(picture):
    """-> numbers [cells, 4] of the right words among CHOICES; -1 where there is nothing to say."""
    height, width = (side // 28 for side in picture.pixels.shape[:2])
    out = torch.full((height * width, len(CHOICES)), -1)
    out[:, 1] = CHOICES[1].index(NOTHING)
    for number, (colour, shape, cell) in enumerate(picture.things):
        last = number + 1 == len(picture.things)
        out[cell] = torch.tensor([CHOICES[0].index(colour), CHOICES[1].index(shape), number, last])
    return out


def loss_of(rows, words, right):
    """-> loss, and the share of cells of which every word is right."""
    rows, loss, whole = rms(rows, None, EPS), 0, torch.ones(len(rows), dtype=torch.bool)
    for column, directions in enumerate(words):
        logits = SHARPNESS * rows @ directions.T
        said = right[:, column] >= 0
        loss = loss + F.cross_entropy(logits[said], right[said, column])
        whole &= ~said | (logits.argmax(1) == right[:, column])
    return loss, whole.float().mean().item()


def train(vision, embedding, vocabulary, seconds, seed=1):
    optimizer = Optimizer(vision)
    words = [rms(embedding[[vocabulary.encode(word)[0] for word in choice]], None, EPS).detach()
             for choice in CHOICES]
    tasks, begin, reported, smooth = Tasks(seed), time.monotonic(), 0, 0
    while (passed := time.monotonic() - begin) < seconds:
        pictures = [tasks.picture() for _ in range(BATCH)]
        rows = vision([picture.pixels for picture in pictures], optimizer.steps % 2 == 1)
        loss, whole = loss_of(rows, words,
                              torch.cat([labels(picture) for picture in pictures]))
        loss.backward()
        optimizer.step(min(1.0, max(0.05, 2 * (1 - passed / seconds))))
        smooth = 0.95 * smooth + 0.05 * whole
        if passed - reported > REPORT_SECONDS:
            reported = passed
            print(f"{optimizer.steps} batches of {BATCH} pictures, loss {loss:.3f}, {smooth:.3f} "
                  f"of the cells right, {(seconds - passed) / 60:.1f} min left", flush=True)
    vision.load_state_dict(optimizer.average)
