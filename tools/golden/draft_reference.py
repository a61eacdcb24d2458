"""A DFlash head in numpy and float64, written from its description alone."""

import json
from pathlib import Path

import numpy as np
from safetensors import safe_open


def load(folder):
    """-> config, and every tensor of the folder as float64."""
    folder = Path(folder)
    with safe_open(folder / "model.safetensors", "pt") as file:
        tensors = {name: file.get_tensor(name).double().numpy() for name in file.keys()}
    return json.loads((folder / "config.json").read_text()), tensors


def norm(x, weight, eps):
    return weight * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def rotate(x, positions, theta):
    """Half-split rotation of x [rows, heads, dim]; angles are products in float32."""
    dim = x.shape[-1]
    exponent = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    frequency = np.float32(1) / np.power(np.float32(theta), exponent)
    angle = (positions.astype(np.float32)[:, None] * frequency).astype(np.float64)[:, None]
    a, b = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attend(q, keys, values, visible):
    """q [rows, heads, dim] over keys and values [tokens, kv heads, dim]; visible [rows, tokens]."""
    share = q.shape[1] // keys.shape[1]
    keys, values = (np.repeat(x, share, axis=1) for x in (keys, values))
    scores = np.einsum("rhd,thd->hrt", q, keys) / np.sqrt(q.shape[-1])
    scores = np.where(visible, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return np.einsum("hrt,thd->rhd", shares, values).reshape(len(q), -1)


def run(config, weights, rows, features):
    """The block behind a context, behind the final norm: [rows, hidden].

    rows [block, hidden]: raw embeddings of the anchor and of the masks; features [context, taps *
    hidden]: the target's residuals at positions 0, 1, ...; the anchor stands behind them.
    """
    eps, dim = config["rms_norm_eps"], config["head_dim"]
    theta = config["rope_parameters"]["rope_theta"]
    context = norm(features @ weights["encoder.fc.weight"].T,
                   weights["encoder.output_norm_enc.weight"], eps)
    before, here = np.arange(len(features)), len(features) + np.arange(len(rows))
    everywhere = np.concatenate([before, here])
    visible = np.abs(here[:, None] - everywhere) <= config["sliding_window"]
    h = rows
    for layer in range(config["num_hidden_layers"]):
        def w(name):
            return weights[f"layers.{layer}.{name}.weight"]

        def heads(x, name):
            return (x @ w(f"self_attn.{name}_proj").T).reshape(len(x), -1, dim)
        x = norm(h, w("input_layernorm"), eps)
        seen = np.concatenate([context, x])
        q = rotate(norm(heads(x, "q"), w("self_attn.q_norm"), eps), here, theta)
        k = rotate(norm(heads(seen, "k"), w("self_attn.k_norm"), eps), everywhere, theta)
        h = h + attend(q, k, heads(seen, "v"), visible) @ w("self_attn.o_proj").T
        x = norm(h, w("post_attention_layernorm"), eps)
        gate = x @ w("mlp.gate_proj").T
        h = h + (gate / (1 + np.exp(-gate)) * (x @ w("mlp.up_proj").T)) @ w("mlp.down_proj").T
    return norm(h, weights["norm.weight"], eps)
