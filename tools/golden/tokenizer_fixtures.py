#!/usr/bin/env python3
"""Writes tests/tokenizer/fixtures: a small tokenizer.json with the release's structure and, for
many texts, the token ids that the `tokenizers` package gives them.

Usage: tokenizer_fixtures.py FOLDER        (needs the package `tokenizers`)
"""

import json
import random
import sys
import unicodedata
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import tokenizer_texts as texts

O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])

BASE, SPECIALS = 1408, 128
NAMED = {0: "begin_of_text", 1: "end_of_text", 7: "eom", 8: "eot", 18: "finetune_right_pad",
         22: "start", 23: "message", 80: "image_start", 81: "image_end", 82: "vid_start",
         83: "vid_end", 87: "vid_frame_separator", 90: "image", 91: "video", 92: "patch"}


def specials():
    return [f"<|{NAMED.get(i, f'reserved_special_token_{i}')}|>" for i in range(SPECIALS)]


def train(pattern_steps):
    """A byte-level BPE of BASE tokens over our texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        pattern_steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=BASE, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts.PROSE + texts.CODE, trainer)
    return json.loads(tokenizer.to_str())


def finish(file):
    """Adds what training does not: special ids behind the base, whole words without merges."""
    model = file["model"]
    assert len(model["vocab"]) == BASE
    model["ignore_merges"] = True
    # Words that only `ignore_merges` can reach: their last merge is gone.
    model["merges"] = [m for i, m in enumerate(model["merges"]) if i < 700 or i % 9]
    file["added_tokens"] = [
        {"id": BASE + i, "content": s, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True} for i, s in enumerate(specials())]
    return file


def random_texts(count, seed):
    """Short strings over every general category, with the pattern's own characters mixed in."""
    rng = random.Random(seed)
    by_category = {}
    for c in range(0x30000):
        category = unicodedata.category(chr(c))
        # Characters younger than the oldest Unicode tables in use would tell versions apart.
        if category not in ("Cs", "Cn"):
            by_category.setdefault(category, []).append(chr(c))
    spice = list("aAzZ'  \r\n\t/09sStTdDmM") + ["'s", "'LL", "'Re", "\r\n", "  ", "e\u0301"]
    out = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(1, 24)):
            pool = spice if rng.random() < 0.6 else by_category[rng.choice(sorted(by_category))]
            parts.append(rng.choice(pool) * rng.choice([1, 1, 1, 2, 5]))
        out.append("".join(parts))
    return out


def encodings(file, extra):
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.encode_special_tokens = True  # text that spells a special token is text
    samples = texts.PROSE + texts.CODE + texts.ODD + extra
    return [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids}
            for t in samples]


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    split = lambda regex: pre_tokenizers.Split(Regex(regex), "isolated")

    release = finish(train([split(O200K)]))
    write(folder / "release_like.json", release)
    write(folder / "release_like_encodings.json", encodings(release, random_texts(250, 1)))

    # A checkpoint may bring a pattern of its own: here the tags of the call format stay whole,
    # digits stand alone, and two splits follow each other. Merges as strings, as older files do.
    own = finish(train([split(r"</?atem:[a-z_]+|\s+(?!\S)|\s"), split(r"\p{N}|[\p{L}\p{M}]+")]))
    own["model"]["merges"] = [" ".join(m) for m in own["model"]["merges"]]
    own["model"]["ignore_merges"] = False
    write(folder / "own_pattern.json", own)
    write(folder / "own_pattern_encodings.json", encodings(own, random_texts(60, 2)))


if __name__ == "__main__":
    main()
