"""Writes a quantised copy of a plain checkpoint: quantise.py FOLDER TO fp8|nvfp4

fp8: compressed-tensors, blocks of 128 x 128. nvfp4: ModelOpt, groups of 16. The layers' matrices are
quantised, to the nearest code; what sees, embeddings and head stay as they are.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

MATRIX = re.compile(r"model\.language_model\.layers\.\d+\.(self_attn|mlp)\.\w+\.weight")
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
CONFIGS = {
    "fp8": {
        "quant_method": "compressed-tensors", "format": "float-quantized",
        "kv_cache_scheme": None,
        "config_groups": {"FP8_BLOCK": {
            "targets": ["Linear"], "output_activations": None,
            "weights": {"num_bits": 8, "type": "float", "strategy": "block",
                        "block_structure": [128, 128], "symmetric": True, "dynamic": False},
            "input_activations": {"num_bits": 8, "type": "float", "strategy": "group",
                                  "group_size": 128, "dynamic": True}}},
        "ignore": ["re:.*vision.*", "lm_head", "re:.*embed_tokens.*"]},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16,
              "kv_cache_scheme": None, "ignore": ["lm_head", "model.vision*"]},
}


def fp8(weight):
    """-> codes [out, in], scales [out / 128, in / 128] rounded up."""
    rows, columns = weight.shape
    blocks = torch.nn.functional.pad(weight, (0, -columns % 128, 0, -rows % 128))
    blocks = blocks.unflatten(0, (-1, 128)).unflatten(2, (-1, 128))  # row, 128, column, 128
    scale = (blocks.abs().amax((1, 3)) / 448).clamp(min=1e-12).bfloat16()
    codes = blocks / scale.float()[:, None, :, None]
    codes = codes.flatten(2, 3).flatten(0, 1)[:rows, :columns]
    codes = codes.clamp(-448, 448).to(torch.float8_e4m3fn)
    return {"weight": codes.contiguous(), "weight_scale": scale}


def nvfp4(weight):
    """-> pairs of codes [out, in / 2], scales [out, in / 16], the scale of the scales, and one of
    activations, which must be there."""
    groups = weight.unflatten(1, (-1, 16))
    largest = groups.abs().amax(2)
    all_over = (largest.max() / (6 * 448)).clamp(min=1e-20)
    scale = (largest / (6 * all_over)).clamp(2 ** -9, 448).to(torch.float8_e4m3fn)
    values = (groups / (scale.float() * all_over)[:, :, None]).flatten(1)
    size = (values.abs()[..., None] - E2M1).abs().argmin(-1).to(torch.uint8)
    codes = size + 8 * (values < 0).to(torch.uint8)
    return {"weight": codes[:, ::2] | codes[:, 1::2] << 4, "weight_scale": scale,
            "weight_scale_2": all_over.reshape(()), "input_scale": torch.tensor(1.0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("to", type=Path)
    parser.add_argument("format", choices=CONFIGS)
    a = parser.parse_args()
    shutil.copytree(a.folder, a.to)
    config = json.loads((a.to / "config.json").read_text())
    config["quantization_config"] = CONFIGS[a.format]
    (a.to / "config.json").write_text(json.dumps(config))
    quantise = {"fp8": fp8, "nvfp4": nvfp4}[a.format]
    tensors = {}
    for name, tensor in load_file(a.to / "model.safetensors").items():
        if MATRIX.fullmatch(name):
            for part, values in quantise(tensor.float()).items():
                tensors[name.removesuffix("weight") + part] = values
        else:
            tensors[name] = tensor
    save_file(tensors, a.to / "model.safetensors")


if __name__ == "__main__":
    main()
