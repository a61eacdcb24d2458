"""Trains the decoder, on text and on pictures: train.py WORK_FOLDER MINUTES [--cool] [--seed N]

Goes on from WORK_FOLDER/state.pt, or, when that is missing, from the exported model, or from
nothing. `--cool` lets the rates fall over the last third of the time, for weights to be exported.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F

import export
import look
from curriculum import Conversations, stage_at
from network import Glimmer, Shape
from optimizer import Optimizer
from tokens import Vocabulary
from vision import Vision

EARLY_BATCH, BATCH, LONGEST, DRAW = 1500, 3000, 2400, 192  # tokens, tokens, tokens, texts
EARLY = 1.0  # million tokens
SAVE_SECONDS, REPORT_SECONDS = 180, 20
LOOK_SECONDS = 600  # of learning to name what pictures show, before the first conversation has any


def pad(samples, vocabulary):
    """-> ids and the marks of written tokens, both [batch, longest]."""
    longest = max(map(len, samples))
    ids = torch.zeros(len(samples), longest, dtype=torch.long)
    marks = torch.zeros(len(samples), longest, dtype=torch.bool)
    for row, sample in enumerate(samples):
        ids[row, :len(sample)] = torch.tensor(sample)
        marks[row, :len(sample)] = torch.tensor(vocabulary.written(sample))
    return ids, marks


def batches(conversations, vocabulary, million_tokens):
    """Endless batches of conversations of like length, and their pictures: no packing, so nothing
    leaks. A conversation so long that nothing the model writes is left of it is passed over."""
    while True:
        texts, pixels = zip(*(conversations.draw(million_tokens()) for _ in range(DRAW)))
        encoded = (sample[:LONGEST] for sample in vocabulary.encode_all(list(texts)))
        samples = sorted((sample for sample in zip(encoded, pixels)
                          if any(vocabulary.written(sample[0]))),
                         key=lambda sample: len(sample[0]))
        most = EARLY_BATCH if million_tokens() < EARLY else BATCH
        groups, group = [], []
        for sample in samples:
            if group and len(sample[0]) * (len(group) + 1) > most:
                groups.append(group)
                group = []
            group.append(sample)
        groups.append(group)
        conversations.random.shuffle(groups)
        for group in groups:
            ids, pictures = zip(*group)
            yield *pad(ids, vocabulary), [picture for of_one in pictures for picture in of_one]


class Threads:
    """One thread while a neighbour keeps the other core busy, else two: threads that wait for a
    preempted one are slower than one alone."""

    def __init__(self):
        self.last = self.read()
        torch.set_num_threads(1)

    @staticmethod
    def read():
        ticks = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy, sum(os.times()[:2])

    def adapt(self):
        now = self.read()
        seconds, busy, own = (b - a for a, b in zip(self.last, now))
        if seconds > 8:
            self.last = now
            torch.set_num_threads(1 if busy - own > 0.4 * seconds else 2)


def save(work, decoder, vision, tokens):
    """`decoder`: an optimizer with its module."""
    state = dict(shape=decoder.model.description(), tokens=tokens, **decoder.state(),
                 vision=vision.state_dict())
    torch.save(state, work / "state.pt.new")
    (work / "state.pt.new").rename(work / "state.pt")


def load(work, folder):
    """-> an optimizer of the decoder, the vision tower, tokens seen so far."""
    path = work / "state.pt"
    if path.exists():
        state = torch.load(path)
        shape = Shape(**state["shape"])
        decoder, vision = Optimizer(Glimmer(shape)), Vision(shape.hidden)
        decoder.restore(state)
        vision.load_state_dict(state["vision"])
        return decoder, vision, state["tokens"]
    if (folder / "model.safetensors").exists():
        model, tokens = export.read(folder)
        model.shape = replace(model.shape, sharpness=1.0)
        return Optimizer(model), export.read_vision(folder, model.shape), tokens
    shape = Shape()
    return Optimizer(Glimmer(shape)), Vision(shape.hidden), 0


def loss_of(model, vision, ids, marks, pictures, straight):
    """What the tower says is taken as it is: trained with the decoder it forgot shapes and order, as
    long as the decoder only used colours."""
    with torch.no_grad():
        seen = vision(pictures, straight) if pictures else None
    y = model.hidden(ids, seen=seen)[:, :-1][marks[:, 1:]]
    return F.cross_entropy(model.logits(y), ids[:, 1:][marks[:, 1:]])


def report(tokens, stage, loss, speed, left):
    print(f"{tokens / 1e6:.3f}M tokens, stage \"{stage.name}\", loss {loss:.4f}, "
          f"{speed:.0f} tokens/s, {torch.get_num_threads()} threads, {left / 60:.1f} min left",
          flush=True)


def train(work, folder, minutes, cool=False, seed=1, hurry=1):
    """The curriculum counts every token as `hurry`."""
    work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    torch.set_flush_denormal(True)
    decoder, vision, tokens = load(work, folder)
    model = decoder.model

    def counted():
        return tokens * hurry / 1e6
    vocabulary = Vocabulary(folder / "tokenizer.json")
    if "picture" in stage_at(counted()).weights and not vision.is_trained():
        look.train(vision, model.embedding, vocabulary, min(LOOK_SECONDS, 30 * minutes))
        save(work, decoder, vision, tokens)
    conversations = Conversations(seed * 1_000_003 + tokens)  # never the same texts again
    threads, begin = Threads(), time.monotonic()
    reported, saved, since, smooth = begin, begin, 0, None
    for ids, marks, pictures in batches(conversations, vocabulary, counted):
        now = time.monotonic()
        progress = (now - begin) / (60 * minutes)
        if progress >= 1:
            break
        loss = loss_of(model, vision, ids, marks, pictures, straight=decoder.steps % 2 == 1)
        loss.backward()
        decoder.step(1.0 if not cool or progress < 0.67 else max(0.03, 3 * (1 - progress)))
        threads.adapt()
        tokens, since = tokens + ids.numel(), since + ids.numel()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if now - reported > REPORT_SECONDS:
            report(tokens, stage_at(counted()), smooth, since / (now - reported),
                   begin + 60 * minutes - now)
            reported, since = now, 0
        if now - saved > SAVE_SECONDS:
            save(work, decoder, vision, tokens)
            saved = now
    save(work, decoder, vision, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--folder", type=Path, default=export.FOLDER)
    parser.add_argument("--cool", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    train(a.work, a.folder, a.minutes, a.cool, a.seed)


if __name__ == "__main__":
    main()
