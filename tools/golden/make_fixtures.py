#!/usr/bin/env python3
"""Writes tests/golden: what the published reference computes on the synthetic checkpoints.

Usage: make_fixtures.py MAKE_CHECKPOINT OUT_FOLDER

MAKE_CHECKPOINT is the built tool. Needs torch, transformers (with MuseGlimmer), numpy and
safetensors; the tests that read the fixtures need none of them. For each model:

  NAME.json  the prompt, where each array lies in NAME.bin, and the versions used
  NAME.bin   little-endian arrays, one behind the other
    logits_f32   [tokens, vocab]                 float32 run, every position
    layers_f32   [layers + 1, positions, hidden] float32 run, at `positions`
    layers_bf16  [layers + 1, tokens, hidden]    bfloat16 run, bfloat16 bits
    logits_bf16  [positions, vocab]              bfloat16 run, bfloat16 bits, at `positions`
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors import safe_open

import reference
import weights

MODELS = ["tiny", "tiny-odd", "tiny-kernel"]
WINDOWS = 6
POSITIONS = [0, 1, 14, 15, 16, 17, 31, 32, 48, 63, 80, 95]


def check_weights(folder, config):
    """The checkpoint must be what the independent generator says, bit for bit."""
    with safe_open(folder / "model.safetensors", "pt") as file:
        for name in file.keys():
            stored = file.get_tensor(name)
            expected = weights.weight_bits(name, tuple(stored.shape), config)
            if not np.array_equal(stored.view(torch.uint16).numpy(), expected):
                sys.exit(f"{folder.name}: {name} is not what the generator gives")


def prompt(name, config):
    """Begin-of-text and then base tokens drawn from the stream of the model's name."""
    text = config["text_config"]
    length = WINDOWS * text["sliding_window"]
    base = text["bos_token_id"]
    drawn = (weights.draws("prompt " + name, length) + 1.0) / 2.0 * base
    return [base] + [int(t) for t in drawn[1:]]


def bf16_bits(values):
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def compute(folder, tokens):
    logits, layers = reference.run(reference.load(folder, torch.float32), tokens)
    rounded_logits, rounded_layers = reference.run(reference.load(folder, torch.bfloat16), tokens)
    return {
        "logits_f32": logits,
        "layers_f32": np.ascontiguousarray(layers[:, POSITIONS]),
        "layers_bf16": bf16_bits(rounded_layers),
        "logits_bf16": bf16_bits(rounded_logits[POSITIONS]),
    }


def write(out, name, tokens, arrays):
    described, offset = {}, 0
    with open(out / f"{name}.bin", "wb") as file:
        for key, array in arrays.items():
            file.write(array.tobytes())
            described[key] = {"type": "f32" if array.dtype == np.float32 else "bf16",
                              "shape": list(array.shape), "offset": offset}
            offset += array.nbytes
    about = {"model": name, "transformers": transformers.__version__,
             "torch": torch.__version__.split("+")[0], "positions": POSITIONS,
             "tokens": tokens, "arrays": described}
    (out / f"{name}.json").write_text(json.dumps(about) + "\n")


def main(tool, out):
    torch.set_num_threads(1)
    for name in MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / name
            subprocess.run([tool, name, folder], check=True)
            config = json.loads((folder / "config.json").read_text())
            check_weights(folder, config)
            tokens = prompt(name, config)
            write(Path(out), name, tokens, compute(folder, tokens))
            print(f"{name}: weights agree, {len(tokens)} tokens written")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
