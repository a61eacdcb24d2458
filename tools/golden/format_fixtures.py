#!/usr/bin/env python3
"""Writes tests/golden/formats.*: quantised weights and what they are in float32; and what the
published reference computes with the quantised synthetic checkpoints, dequantised here. Inputs of
matrices that are NVFP4 or quantised at load are quantised here as they are in the engine.

Usage: format_fixtures.py MAKE_CHECKPOINT OUT_FOLDER

Needs what make_fixtures.py needs. Per model, logits_f32 [positions, vocab] at `positions`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import formats
import reference
import weights

MODELS = ["tiny-fp8", "tiny-nvfp4", "tiny-mixed", "tiny-ct-nvfp4"]
POSITIONS = [0, 15, 16, 17, 48, 63]
# Plain checkpoints that the engine quantises at load: (recipe, format of a module).
AT_LOAD = {"tiny-int8": ("tiny", lambda module: formats.int8),
           "tiny-int4": ("tiny", lambda module: formats.int8 if module == "lm_head" else formats.int4)}
TOKENS = 64
ENDINGS = (".weight_scale", ".weight_scale_2", ".weight_global_scale", ".input_scale",
           ".input_global_scale")


def random_codes(rng, shape):
    """Every code but the NaNs, denormals and both zeros among them."""
    codes = rng.integers(0, 256, shape, dtype=np.uint8)
    return np.where(codes & 127 == 127, codes - 1, codes).astype(np.uint8)


def cases():
    """(name, arrays as stored, float32 weights)"""
    rng = np.random.default_rng(20260711)
    codes = random_codes(rng, (136, 144))
    codes[:128, 128:] = 0  # a block of nothing
    bits = weights.to_bf16_bits(rng.uniform(1e-4, 0.1, (2, 2)))
    bits[1, 1] = 1  # the smallest scale that bf16 has
    yield "fp8_block", {"values": codes, "scales": bits}, formats.fp8_blocks(
        codes, formats.widen_bf16(bits))
    codes = random_codes(rng, (40, 192))
    scales = rng.uniform(1e-4, 0.1, (1, 2)).astype(np.float32)
    yield "fp8_block_f32", {"values": codes, "scales": scales}, formats.fp8_blocks(codes, scales)
    scale = rng.uniform(1e-4, 0.1, (1,)).astype(np.float32)
    codes = random_codes(rng, (24, 50))
    yield "fp8_tensor", {"values": codes, "scales": scale}, formats.fp8_tensor(codes, scale[0])
    for name, widen in ("nvfp4", formats.nvfp4), ("nvfp4_packed", formats.nvfp4_packed):
        pairs = rng.integers(0, 256, (24, 96), dtype=np.uint8)
        pairs[3, 8:16] = 0  # a block of nothing
        scales = rng.integers(1, 127, (24, 12), dtype=np.uint8)
        scales[:, 0] = 1  # the smallest denormal
        factor = rng.uniform(1e-4, 0.1, (1,)).astype(np.float32)
        yield name, {"values": pairs, "scales": scales, "factor": factor}, widen(
            pairs, scales, factor[0])


def check_tables():
    """The tables against torch's own type."""
    codes = torch.arange(256, dtype=torch.uint8)
    values = codes.view(torch.float8_e4m3fn).float().numpy()
    if not np.array_equal(values, formats.E4M3, equal_nan=True):
        sys.exit("E4M3 is not what torch says")


def dequantised(tensors, module):
    """The float32 weight of a module, by the tensors that are there."""
    part = lambda name: tensors.get(f"{module}.{name}")
    raw = lambda t: t.view(torch.uint8).numpy()
    if part("weight_packed") is not None:
        return formats.nvfp4_packed(raw(part("weight_packed")), raw(part("weight_scale")),
                                    part("weight_global_scale").item())
    weight, scale = part("weight"), part("weight_scale")
    if part("weight_scale_2") is not None:
        return formats.nvfp4(raw(weight), raw(scale), part("weight_scale_2").item())
    if scale is None:
        return weight.float().numpy()
    if scale.numel() == 1 and scale.dtype == torch.float32:
        return formats.fp8_tensor(raw(weight), scale.item())
    return formats.fp8_blocks(raw(weight), scale.float().numpy())


def is_matrix(module):
    """What is quantised at load: the text decoder's matrices."""
    return module == "lm_head" or (".layers." in module and module.endswith("_proj")
                                   and "language_model" in module)


def input_columns(tensors, module, format_of):
    """Columns of the groups in which the engine quantises a matrix's inputs; 0: it does not."""
    if f"{module}.weight_packed" in tensors or f"{module}.weight_scale_2" in tensors:
        return 16
    return formats.COLUMNS[format_of(module)] if format_of and is_matrix(module) else 0


def write_plain(folder, plain, format_of):
    """The checkpoint with every weight in float32, quantised before if there is a format. Gives its
    configuration and the groups of columns of each module's inputs."""
    tensors = {}
    with safe_open(folder / "model.safetensors", "pt") as file:
        for name in file.keys():
            tensors[name] = file.get_tensor(name)
    out, columns = {}, {}
    for name, tensor in tensors.items():
        if name.endswith(ENDINGS):
            continue
        module = name.removesuffix(".weight_packed").removesuffix(".weight")
        if name.endswith((".weight", ".weight_packed")):
            tensor = torch.from_numpy(dequantised(tensors, module).copy())
            if format_of and is_matrix(module):
                tensor = torch.from_numpy(format_of(module)(tensor.numpy()))
            columns[module] = input_columns(tensors, module, format_of)
            name = module + ".weight"
        out[name] = tensor.float().contiguous()
    plain.mkdir()
    config = json.loads((folder / "config.json").read_text())
    config.pop("quantization_config", None)
    (plain / "config.json").write_text(json.dumps(config))
    save_file(out, plain / "model.safetensors", {"format": "pt"})
    return config, columns


def quantise_inputs(model, columns_of):
    """Matrices see their activations rounded in groups of columns."""
    def before(columns):
        def rounded(_module, inputs):
            rows = inputs[0].reshape(-1, inputs[0].shape[-1]).numpy()
            return torch.from_numpy(formats.activations(rows, columns)).view_as(inputs[0])
        return rounded
    modules = dict(model.named_modules())
    for name, columns in columns_of.items():
        if columns:
            modules[name].register_forward_pre_hook(before(columns))


def model_logits(tool, name):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        recipe, format_of = AT_LOAD.get(name, (name, None))
        subprocess.run([tool, recipe, folder], check=True)
        config, columns = write_plain(folder, Path(temporary) / "plain", format_of)
        base = config["text_config"]["bos_token_id"]
        drawn = (weights.draws("prompt " + name, TOKENS) + 1.0) / 2.0 * base
        tokens = [base] + [int(t) for t in drawn[1:]]
        model = reference.load(Path(temporary) / "plain", torch.float32)
        quantise_inputs(model, columns)
        logits, _ = reference.run(model, tokens)
        return tokens, np.ascontiguousarray(logits[POSITIONS])


TYPES = {"uint8": "u8", "uint16": "bf16", "float32": "f32"}


def main(tool, out):
    torch.set_num_threads(1)
    check_tables()
    offset, about = 0, {"cases": {}, "models": {}, "positions": POSITIONS}
    with open(Path(out) / "formats.bin", "wb") as file:
        def put(array):
            nonlocal offset
            file.write(array.tobytes())
            described = {"type": TYPES[array.dtype.name], "shape": list(array.shape),
                         "offset": offset}
            offset += array.nbytes
            return described
        for name, stored, expected in cases():
            arrays = stored | {"expected": expected}
            about["cases"][name] = {key: put(value) for key, value in arrays.items()}
        for name in MODELS + list(AT_LOAD):
            tokens, logits = model_logits(tool, name)
            about["models"][name] = {"tokens": tokens, "logits_f32": put(logits)}
    (Path(out) / "formats.json").write_text(json.dumps(about) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
