#!/usr/bin/env python3
"""Writes tests/golden/NAME.json and NAME.bin for the synthetic draft heads.

Usage: draft_fixtures.py MAKE_CHECKPOINT OUT_FOLDER

For each head, and contexts of several lengths, what draft_reference.py gives for one block behind
residuals of the published target, once the published assistant (the `transformers` package, class
MuseGlimmerAssistantModel, eager attention, float32) agrees with it. NAME.bin holds for each case

  hidden  [drafts, hidden]             behind the final norm
  logits  [drafts, vocab / COLUMNS]    of the bare output head, every COLUMNS-th token

and NAME.json the tokens, the cases, and every draft.
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
from transformers import MuseGlimmerAssistantModel
from transformers.cache_utils import DFlashCache

import draft_reference
import make_fixtures
import reference

COLUMNS = 16
TOLERANCE = 1e-4
# Context lengths and rows of a block: around the head's window, far beyond it, and a short block.
CASES = {"tiny-head": [(1, 16), (7, 16), (12, 16), (13, 16), (36, 16), (36, 6)],
         "tiny-head-4": [(1, 4), (24, 4), (25, 4), (72, 4), (72, 2)]}
ROUNDS = [11, 1, 4, 16, 2]  # context rows that each round adds


def target_tensors(folder):
    with safe_open(folder / "model.safetensors", "pt") as file:
        return [file.get_tensor(name).double().numpy()
                for name in ("model.language_model.embed_tokens.weight", "lm_head.weight")]


def published(head, rows, features, positions, cache):
    cache.set_previous_accepted_tokens(len(features))
    with torch.no_grad():
        return head(noise_embeds=torch.tensor(rows, dtype=torch.float32)[None],
                    context_hidden_states=torch.tensor(features, dtype=torch.float32)[None],
                    position_ids=torch.tensor(positions)[None], cache=cache,
                    ).last_hidden_state[0].numpy()


def fresh_cache(head):
    cache = DFlashCache(config=head.config)
    cache.activate_past_recording()
    return cache


def largest(a, b):
    return float(np.abs(a - b).max())


def check_rounds(head, block_of, features, expected):
    """Round after round, as the published loop does it; prints how far it is from one call."""
    cache, begin = fresh_cache(head), 0
    size = head.config.block_size
    for count in ROUNDS:
        if begin > 0:
            cache.crop(-size)
        end = begin + count
        got = published(head, block_of(end, size), features[begin:end],
                        np.arange(begin, end + size), cache)
        print(f"  after {end} tokens in rounds: {largest(got, expected(end, size)):.2e}")
        begin = end


def write(out, name, about, arrays):
    with open(out / f"{name}.bin", "wb") as file:
        for case, pair in zip(about["cases"], arrays):
            for key, array in pair.items():
                array = array.astype(np.float32)
                case[key] = {"type": "f32", "shape": list(array.shape), "offset": file.tell()}
                file.write(array.tobytes())
    (out / f"{name}.json").write_text(json.dumps(about) + "\n")


def fixture(tool, root, name, out):
    target, folder = root / "tiny", root / name
    subprocess.run([tool, "tiny", target], check=True)
    subprocess.run([tool, name, folder], check=True)
    config, weights = draft_reference.load(folder)
    make_fixtures.check_weights(folder, config)
    tokens = make_fixtures.prompt("tiny", json.loads((target / "config.json").read_text()))
    _, layers = reference.run(reference.load(target, torch.float32), tokens)
    taps = [layers[i + 1] for i in config["target_layer_ids"]]
    features = np.concatenate(taps, axis=-1).astype(np.float64)
    embedding, output = target_tensors(target)
    head = MuseGlimmerAssistantModel.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()

    def block_of(context, size):
        return embedding[[tokens[context]] + [config["mask_token_id"]] * (size - 1)]

    def expected(context, size):
        return draft_reference.run(config, weights, block_of(context, size), features[:context])

    cases, arrays = [], []
    for context, size in CASES[name]:
        mine = expected(context, size)[1:]
        theirs = published(head, block_of(context, size), features[:context],
                           np.arange(context + size), fresh_cache(head))[1:]
        logits = mine @ output.T
        difference = largest(theirs @ output.T, logits)
        print(f"{name}, context {context}, block {size}: {difference:.2e}")
        if difference > TOLERANCE:
            sys.exit("the published head does not agree")
        cases.append({"context": context, "drafts": size - 1,
                      "best": [int(t) for t in logits.argmax(-1)]})
        arrays.append({"hidden": mine, "logits": logits[:, ::COLUMNS]})
    check_rounds(head, block_of, features, expected)
    about = {"head": name, "target": "tiny", "transformers": transformers.__version__,
             "columns": COLUMNS, "tokens": tokens, "cases": cases}
    write(out, name, about, arrays)


def main(tool, out):
    torch.set_num_threads(1)
    for name in CASES:
        with tempfile.TemporaryDirectory() as temporary:
            fixture(tool, Path(temporary), name, Path(out))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
