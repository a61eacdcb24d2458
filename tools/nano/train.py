"""Trains the text decoder: train.py WORK_FOLDER MINUTES [--cool] [--seed N]

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
from curriculum import Conversations, stage_at
from network import Glimmer, Shape
from optimizer import Optimizer
from tokens import Vocabulary

EARLY_BATCH, BATCH, LONGEST, DRAW = 1500, 3000, 2400, 192  # tokens, tokens, tokens, texts
EARLY_TOKENS = 1_000_000
SAVE_SECONDS, REPORT_SECONDS = 180, 20


def pad(samples, vocabulary):
    """-> ids and the marks of written tokens, both [batch, longest]."""
    longest = max(map(len, samples))
    ids = torch.zeros(len(samples), longest, dtype=torch.long)
    marks = torch.zeros(len(samples), longest, dtype=torch.bool)
    for row, sample in enumerate(samples):
        ids[row, :len(sample)] = torch.tensor(sample)
        marks[row, :len(sample)] = torch.tensor(vocabulary.written(sample))
    return ids, marks


def batches(conversations, vocabulary, tokens_seen):
    """Endless batches of conversations of like length: no packing, so nothing leaks."""
    while True:
        texts = [conversations.draw(tokens_seen() / 1e6) for _ in range(DRAW)]
        samples = sorted((s[:LONGEST] for s in vocabulary.encode_all(texts)), key=len)
        most = EARLY_BATCH if tokens_seen() < EARLY_TOKENS else BATCH
        groups, group = [], []
        for sample in samples:
            if group and len(sample) * (len(group) + 1) > most:
                groups.append(group)
                group = []
            group.append(sample)
        groups.append(group)
        conversations.random.shuffle(groups)
        for group in groups:
            yield pad(group, vocabulary)


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


def save(work, model, optimizer, tokens):
    state = dict(shape=model.description(), weights=model.state_dict(), tokens=tokens,
                 average=optimizer.average, momenta=optimizer.momenta,
                 adam=optimizer.adam.state_dict(), steps=optimizer.steps)
    torch.save(state, work / "state.pt.new")
    (work / "state.pt.new").rename(work / "state.pt")


def load(work, folder):
    """-> model, optimizer, tokens seen so far."""
    path = work / "state.pt"
    if path.exists():
        state = torch.load(path)
        model = Glimmer(Shape(**state["shape"]))
        model.load_state_dict(state["weights"])
        optimizer = Optimizer(model)
        optimizer.average, optimizer.momenta = state["average"], state["momenta"]
        optimizer.adam.load_state_dict(state["adam"])
        optimizer.steps = state["steps"]
        return model, optimizer, state["tokens"]
    if (folder / "model.safetensors").exists():
        model, tokens = export.read(folder)
        model.shape = replace(model.shape, sharpness=1.0)
        return model, Optimizer(model), tokens
    model = Glimmer(Shape())
    return model, Optimizer(model), 0


def loss_of(model, ids, marks):
    y = model.hidden(ids)[:, :-1][marks[:, 1:]]
    return F.cross_entropy(model.logits(y), ids[:, 1:][marks[:, 1:]])


def report(tokens, loss, speed, left):
    print(f"{tokens / 1e6:.3f}M tokens, stage \"{stage_at(tokens / 1e6).name}\", loss {loss:.4f}, "
          f"{speed:.0f} tokens/s, {torch.get_num_threads()} threads, {left / 60:.1f} min left",
          flush=True)


def train(work, folder, minutes, cool=False, seed=1):
    work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    torch.set_flush_denormal(True)
    model, optimizer, tokens = load(work, folder)
    vocabulary = Vocabulary(folder / "tokenizer.json")
    conversations = Conversations(seed * 1_000_003 + tokens)  # never the same texts again
    threads, begin = Threads(), time.monotonic()
    reported, saved, since, smooth = begin, begin, 0, None
    for ids, marks in batches(conversations, vocabulary, lambda: tokens):
        now = time.monotonic()
        progress = (now - begin) / (60 * minutes)
        if progress >= 1:
            break
        loss = loss_of(model, ids, marks)
        loss.backward()
        optimizer.step(1.0 if not cool or progress < 0.67 else max(0.03, 3 * (1 - progress)))
        threads.adapt()
        tokens, since = tokens + ids.numel(), since + ids.numel()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if now - reported > REPORT_SECONDS:
            report(tokens, smooth, since / (now - reported), begin + 60 * minutes - now)
            reported, since = now, 0
        if now - saved > SAVE_SECONDS:
            save(work, model, optimizer, tokens)
            saved = now
    save(work, model, optimizer, tokens)
    return model, optimizer, tokens


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
