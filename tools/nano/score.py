"""Scores a folder on prompts the training never saw: score.py [FOLDER] [--count N] [--forced]

Two readings. Forced: one forward pass over the right turn; "whole" says that every token of it
was the likeliest, which is what greedy decoding of the same prompt would have written. Sampled:
turns drawn with the published sampling and judged by what they say.
"""

import argparse
import json
import re
import time
from collections import namedtuple
from pathlib import Path

import torch

import export
import prompt
from curriculum import STAGES, Conversations
from network import generate
from tasks import STRENGTHS
from tokens import Vocabulary

SAMPLING = (1.0, 64, 0.95)  # temperature, top-k, top-p
TOKENS_AT_ONCE, MOST = 24_000, 320
SKILLS = {  # skill -> the conversation in whose last turn it shows
    "capitals": ["capital"], "facts": ["fact"], "talk": ["talk"], "copy": ["copy"],
    "arithmetic": ["arithmetic"], "tool": ["tool"], "parallel": ["parallel"],
    "result": ["result"], "memory": ["remember"], "no_tool": ["tool", "no_tool"],
    "json": ["json"], "needle": ["needle"],
}
SEEING = {"images": ["picture"]}  # what needs eyes is scored here only
Item = namedtuple("Item", "strength prompt turn pixels")
BODY = re.compile(r" to=([A-Za-z0-9_.-]+)" + re.escape(prompt.MESSAGE) + r"((?:.|\n)*)")
CALL = re.compile(r'<atem:function_calls>\n<atem:invoke name="([^"]+)">\n'
                  r'((?:<atem:parameter name="[^"]+">(?:.|\n)*?</atem:parameter>\n)*)'
                  r"</atem:invoke>\n</atem:function_calls>")
PARAMETER = re.compile(r'<atem:parameter name="([^"]+)">((?:.|\n)*?)</atem:parameter>\n')


class Reading:
    """A turn read strictly: `proper` only if no recovery rule would be needed."""

    def __init__(self, text):
        self.reasoning, self.content, self.calls = "", None, []
        self.proper = text.endswith(prompt.EOT) and self.read(text[:-len(prompt.EOT)])

    def read(self, text):
        for message in text.split(prompt.NEXT):
            body = BODY.fullmatch(message)
            if body is None or "<|" in body[2]:
                return False
            if body[1] == "self":
                self.reasoning += body[2]
            elif body[1] == "user":
                self.content = body[2]
            else:
                call = CALL.fullmatch(body[2])
                if call is None or call[1] != body[1]:
                    return False
                self.calls.append((call[1], dict(PARAMETER.findall(call[2]))))
        return self.content is not None or bool(self.calls)

    def right(self, turn):
        if not self.proper:
            return False
        if turn.skill in ("tool", "parallel"):
            return self.calls == [(name, dict(arguments)) for name, arguments in turn.want]
        if self.content is None or self.calls:
            return False
        if turn.skill in ("copy", "talk", "images"):
            return self.content == turn.want
        if turn.skill == "json":
            return same_json(self.content, turn.want)
        return re.search(rf"(?<![\w-]){re.escape(turn.want)}(?!\w)", self.content) is not None


def same_json(text, want):
    try:
        return json.loads(text) == json.loads(want)
    except ValueError:
        return False


def prompts_of(skill, count, seed=99):
    """-> items of held-out conversations."""
    conversations = Conversations(seed, held_out=True)
    for number in range(count):
        strength = STRENGTHS[number % 4]
        head, turns = conversations.of_skills({**SKILLS, **SEEING}[skill], strength, STAGES[-1])
        if skill in SEEING:
            turns = turns[:1]  # later ones could be answered from what was read aloud before
        for turn in turns[:-1]:
            head += turn.ask + prompt.GENERATE + turn.write
        pixels = [picture for turn in turns for picture in turn.pixels]
        yield Item(strength, head + turns[-1].ask + prompt.GENERATE, turns[-1], pixels)


def rows_of(tower, items):
    """Rows of all pictures of some items, in order; None without any."""
    pixels = [picture for item in items for picture in item.pixels]
    return tower(pixels) if pixels else None


@torch.no_grad()
def forced(model, tower, vocabulary, count, batch=16):
    """skill -> share of right tokens, share of whole turns right."""
    scores = {}
    for skill in (*SKILLS, *SEEING):
        items = sorted(prompts_of(skill, count),
                       key=lambda item: len(item.prompt) + len(item.turn.write))
        hits = total = whole = 0
        for begin in range(0, count, batch):
            these = items[begin:begin + batch]
            part = [(vocabulary.encode(item.prompt), vocabulary.encode(item.turn.write))
                    for item in these]
            ids = torch.zeros(len(part), max(len(a) + len(b) for a, b in part), dtype=torch.long)
            for row, (before, written) in enumerate(part):
                ids[row, :len(before) + len(written)] = torch.tensor(before + written)
            y = model.hidden(ids, seen=rows_of(tower, these))
            for row, (before, written) in enumerate(part):
                span = y[row, len(before) - 1:len(before) + len(written) - 1]
                right = model.logits(span).argmax(-1) == torch.tensor(written)
                hits, total = hits + int(right.sum()), total + len(written)
                whole += bool(right.all())
        scores[skill] = {"tokens": hits / total, "whole": whole / count}
    return scores


def writer(model, tower, vocabulary, sampling):
    """Writes turns with this folder's implementation."""
    @torch.no_grad()
    def write(items, seed):
        prompts = [vocabulary.encode(item.prompt) for item in items]
        return generate(model, prompts, vocabulary.stops, MOST, sampling, seed,
                        rows_of(tower, items))
    return write


def judged(write, skills, vocabulary, count, show=0):
    """skill -> share right and share of proper turns; and mean reasoning length by strength.
    `write`: items and a seed -> the tokens of each turn."""
    scores, lengths = {}, {strength: [] for strength in STRENGTHS}

    def tokens(item):
        return len(vocabulary.encode(item.prompt))
    for skill in skills:
        items = sorted(prompts_of(skill, count), key=lambda item: len(item.prompt))
        right = proper = begin = 0
        while begin < count:
            size = 64  # fewer of long ones: their masks are dense
            while size > 8 and size * tokens(items[min(begin + size, count) - 1]) > TOKENS_AT_ONCE:
                size //= 2
            part, begin = items[begin:begin + size], begin + size
            for (strength, _, turn, _), ids in zip(part, write(part, begin)):
                text = vocabulary.decode(ids)
                reading = Reading(text)
                proper += reading.proper
                right += reading.right(turn)
                lengths[strength].append(len(reading.reasoning))
                if show and not reading.right(turn):
                    show -= 1
                    print(f"[{skill}] wanted {turn.write!r}\n    got {text!r}")
        scores[skill] = {"right": right / count, "format": proper / count}
    means = {strength: sum(all_) / len(all_) for strength, all_ in lengths.items()}
    return scores, means


def score(folder, count, only_forced=False, show=0):
    model, tokens = export.read(folder)
    tower = export.read_vision(folder, model.shape)
    vocabulary = Vocabulary(folder / "tokenizer.json")
    result = {"tokens_seen": tokens, "count": count}
    result["forced"] = forced(model, tower, vocabulary, count)
    if not only_forced:
        result["sampled"], result["reasoning"] = judged(
            writer(model, tower, vocabulary, SAMPLING), [*SKILLS, *SEEING], vocabulary, count, show)
        rows = result["sampled"].values()
        result["format"] = sum(row["format"] for row in rows) / len(rows)
        result["format_turns"] = count * len(rows)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=export.FOLDER)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--show", type=int, default=0)
    a = parser.parse_args()
    torch.set_num_threads(1)
    begin = time.monotonic()
    result = score(a.folder, a.count, a.forced, a.show)
    print(json.dumps(result, indent=1))
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
