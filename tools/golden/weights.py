"""The weights of the synthetic checkpoints, written down a second time.

`tools/make_checkpoint` is the first. The two share no code, so a fixture that was made from one
and is met by the other proves both. The rules and their reasons are in
tools/make_checkpoint/README.md.
"""

import re

import numpy as np

GAMMA = np.uint64(0x9E3779B97F4A7C15)


def seed_of(name):
    """64-bit FNV-1a of a name."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def draws(name, count):
    """The first `count` numbers of a name's stream, uniform in [-1, 1), as float64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed_of(name)) + np.arange(count, dtype=np.uint64) * GAMMA
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0


def to_bf16_bits(values):
    """Rounds float64 to float32 and that to bfloat16, ties to even; the bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
            ).astype(np.uint16)


def unit_scale(inputs):
    return np.sqrt(3.0 / inputs)


def is_quiet(name):
    return int(re.search(r"layers\.(\d+)\.", name)[1]) % 3 == 1


def norm_weight(name, count, scale, offset):
    values = offset + scale * draws(name, count)
    values[np.arange(count) % 61 == 7] = -1.0
    return values


def final_norm(name, count):
    values = 1.0 + 0.5 * draws(name, count)
    values[np.arange(count) % 13 == 5] *= -1.0
    return values


def embedding(name, shape):
    octaves = 5.0 * (draws(name + "#rows", shape[0]) + 1.0)
    whole = np.floor(octaves)
    amplitude = np.ldexp(1.0 + (octaves - whole), whole.astype(int)) / 64.0
    return amplitude[:, None] * draws(name, shape[0] * shape[1]).reshape(shape)


def query(name, shape, text):
    heads, dim = text["num_attention_heads"], text["head_dim"]
    per_key = heads // text["num_key_value_heads"]
    key_shape = (text["num_key_value_heads"], dim, shape[1])
    keys = draws(name.replace("q_proj", "k_proj"), int(np.prod(key_shape))).reshape(key_shape)
    own = draws(name, shape[0] * shape[1]).reshape(heads, dim, shape[1])
    likeness = 1.0 / np.sqrt(float(dim))
    return (unit_scale(shape[1]) * (own + likeness * np.repeat(keys, per_key, axis=0))
            ).reshape(shape)


def text_scale(name, shape):
    if name == "lm_head.weight":
        return 1.0
    scale = unit_scale(shape[1])
    if name.endswith("self_attn.gate_proj.weight"):
        return 2.0 * scale
    if name.endswith("self_attn.o_proj.weight"):
        return (0.0075 if is_quiet(name) else 1.0) * scale
    if name.endswith("mlp.down_proj.weight"):
        return (0.005 if is_quiet(name) else 1.0) * scale
    return scale


def text_values(name, shape, text):
    count = int(np.prod(shape))
    if name.endswith("embed_tokens.weight"):
        return embedding(name, shape)
    if name == "model.language_model.norm.weight":
        return final_norm(name, count)
    if name.endswith("post_attention_layernorm.weight"):
        return norm_weight(name, count, 0.1, -0.9)
    if name.endswith("post_feedforward_layernorm.weight"):
        return norm_weight(name, count, 0.2, -0.8)
    if name.endswith("norm.weight"):
        return norm_weight(name, count, 0.4, 0.0)
    if name.endswith("self_attn.q_proj.weight"):
        return query(name, shape, text)
    return 0.0 + text_scale(name, shape) * draws(name, count)


def head_values(name, shape):
    count = int(np.prod(shape))
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return 1.5 + 0.3 * draws(name, count)
    if len(shape) == 1:
        return 1.0 + 0.4 * draws(name, count)
    return 0.0 + unit_scale(shape[1]) * draws(name, count)


def vision_values(name, shape):
    count = int(np.prod(shape))
    if name.endswith(".bias"):
        return 0.2 * draws(name, count)
    if len(shape) == 1:
        return 1.0 + 0.3 * draws(name, count)
    if name.endswith("position_embedding_table.weight"):
        return draws(name, count)
    return unit_scale(shape[1]) * draws(name, count)


def weight_bits(name, shape, config):
    """One tensor as bfloat16 bits, from nothing but its name, its shape and the config."""
    if name.startswith(("encoder.", "layers.")) or name == "norm.weight":
        values = head_values(name, shape)
    elif "vision" in name:
        values = vision_values(name, shape)
    else:
        values = text_values(name, shape, config["text_config"])
    return to_bf16_bits(values).reshape(shape)
