"""Writes and reads models/glimmer-nano: a Hugging Face folder with the published tensor names."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import tokens as tokenizing
from network import MATRICES, PRODUCTS, Glimmer, Shape

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "glimmer-nano"
POSITIONS = 8192
NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
         "post_feedforward_layernorm")
PUBLISHED = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
             "gate": "self_attn.gate_proj", "o": "self_attn.o_proj", "mlp_gate": "mlp.gate_proj",
             "mlp_up": "mlp.up_proj", "mlp_down": "mlp.down_proj"}
VISION = dict(hidden_size=48, num_hidden_layers=6, num_attention_heads=3, intermediate_size=280,
              patch_size=14, patch_temporal=2, merge_size=2, pos_emb_height=4, pos_emb_width=4,
              hidden_act="gelu", layer_norm_eps=1e-5, max_position_embeddings=16)
PROJECTOR = 128
# A model that has only imitated is as unsure as its texts are varied; one trained on outcomes, as the
# release is, is not. All logits of the exported model are twice those of the trained one: at
# temperature 1 it samples as the trained one would at 1/2.
SHARPNESS = 2.0


def config(shape):
    base, full = tokenizing.BASE, [shape.is_full(layer) for layer in range(shape.layers)]
    text = dict(
        model_type="muse_glimmer_text", vocab_size=shape.vocabulary, hidden_size=shape.hidden,
        intermediate_size=shape.intermediate, num_hidden_layers=shape.layers,
        num_attention_heads=shape.query_heads, num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim, hidden_activation="silu", max_position_embeddings=POSITIONS,
        sliding_window=shape.window, rms_norm_eps=1e-5, post_norm_eps=1e-8,
        qk_scale_factor=shape.qk_scale,
        output_multiplier=shape.output_multiplier * shape.sharpness,
        final_logit_softcapping=shape.cap * shape.sharpness, tie_word_embeddings=False, attention_bias=False,
        attention_dropout=0.0, initializer_range=0.02, use_cache=True,
        bos_token_id=base, eos_token_id=base + 1, pad_token_id=None,
        rope_parameters=dict(rope_type="default", rope_theta=shape.theta),
        layer_rope_theta=[0 if f else shape.theta for f in full],
        layer_types=["full_attention" if f else "sliding_attention" for f in full])
    layers = VISION["num_hidden_layers"]
    vision = dict(model_type="muse_glimmer_vision", **VISION,
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0),
                  layer_types=["full_attention" if (i + 1) % 4 == 0 or i == layers - 1
                               else "window_attention" for i in range(layers)])
    return dict(architectures=["MuseGlimmerForConditionalGeneration"], model_type="muse_glimmer",
                dtype="bfloat16", image_token_id=base + 92, video_token_id=base + 91,
                out_hidden_size=VISION["hidden_size"] * VISION["merge_size"] ** 2,
                projector_hidden_size=PROJECTOR, projector_hidden_act="gelu",
                text_config=text, vision_config=vision)


def generation_config():
    base = tokenizing.BASE
    return dict(bos_token_id=base, eos_token_id=[base + 1, base + 8], pad_token_id=base + 18,
                max_length=POSITIONS, do_sample=False, temperature=1.0, top_p=0.95, top_k=64)


def tokenizer_config():
    return dict(tokenizer_class="PreTrainedTokenizerFast",
                bos_token=tokenizing.special_name(0), eos_token=tokenizing.special_name(1),
                pad_token=tokenizing.special_name(18), clean_up_tokenization_spaces=False,
                model_max_length=POSITIONS)


def text_tensors(weights, shape):
    """Our stacked names -> the published ones, one tensor per layer."""
    text = "model.language_model"
    out = {f"{text}.embed_tokens.weight": weights["embedding"], "lm_head.weight": weights["head"],
           f"{text}.norm.weight": weights["final_norm"]}
    for layer in range(shape.layers):
        place = f"{text}.layers.{layer}"
        for name in MATRICES:
            out[f"{place}.{PUBLISHED[name]}.weight"] = weights[name][layer]
        for which, norm in enumerate(NORMS):
            out[f"{place}.{norm}.weight"] = weights["norms"][layer, which]
    return out


def stacked(tensors, shape):
    """The reverse of `text_tensors`."""
    text = "model.language_model"
    out = {"embedding": tensors[f"{text}.embed_tokens.weight"], "head": tensors["lm_head.weight"],
           "final_norm": tensors[f"{text}.norm.weight"]}
    places = [f"{text}.layers.{layer}" for layer in range(shape.layers)]
    for name in MATRICES:
        out[name] = torch.stack([tensors[f"{p}.{PUBLISHED[name]}.weight"] for p in places])
    out["norms"] = torch.stack([torch.stack([tensors[f"{p}.{n}.weight"] for n in NORMS])
                                for p in places])
    return {name: tensor.float() for name, tensor in out.items()}


def linear(out, name, size, generator):
    rows, columns = size
    out[f"{name}.weight"] = torch.randn(rows, columns, generator=generator) / math.sqrt(columns)
    out[f"{name}.bias"] = torch.zeros(rows)


def layer_norm(out, name, width):
    out[f"{name}.weight"], out[f"{name}.bias"] = torch.ones(width), torch.zeros(width)


def vision_tensors(shape, seed=11):
    """Tower and projector as they start: random, until images are trained."""
    generator, out = torch.Generator().manual_seed(seed), {}
    width, inner, tower = VISION["hidden_size"], VISION["intermediate_size"], "model.vision_tower"
    patch = 3 * VISION["patch_temporal"] * VISION["patch_size"] ** 2

    def matrix(rows, columns):
        return torch.randn(rows, columns, generator=generator) / math.sqrt(columns)
    out[f"{tower}.patch_embedder.patch_embedding.weight"] = matrix(width, patch)
    positions = VISION["pos_emb_height"] * VISION["pos_emb_width"]
    out[f"{tower}.patch_embedder.position_embedding_table.weight"] = 0.5 * torch.randn(
        positions, width, generator=generator)
    layer_norm(out, f"{tower}.ln_pre", width)
    layer_norm(out, f"{tower}.ln_post", width)
    for index in range(VISION["num_hidden_layers"]):
        place = f"{tower}.layers.{index}"
        layer_norm(out, f"{place}.norm1", width)
        layer_norm(out, f"{place}.norm2", width)
        for name in ("q_proj", "k_proj", "v_proj", "proj"):
            linear(out, f"{place}.attn.{name}", (width, width), generator)
        linear(out, f"{place}.mlp.fc1", (inner, width), generator)
        linear(out, f"{place}.mlp.fc2", (width, inner), generator)
    merged = width * VISION["merge_size"] ** 2
    out["model.vision_adapter.fc1.weight"] = matrix(PROJECTOR, merged)
    out["model.vision_adapter.fc2.weight"] = matrix(PROJECTOR, PROJECTOR)
    out["model.vision_projection.weight"] = matrix(shape.hidden, PROJECTOR)
    return out


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write(folder, weights, shape, tokens):
    """All files but tokenizer.json and the model card; `weights` are our stacked names."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config(replace(shape, sharpness=SHARPNESS)))
    write_json(folder / "generation_config.json", generation_config())
    write_json(folder / "tokenizer_config.json", tokenizer_config())
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    tensors = {**text_tensors(weights, shape), **vision_tensors(shape)}
    tensors = {name: t.to(torch.bfloat16).contiguous().clone() for name, t in tensors.items()}
    save_file(tensors, folder / "model.safetensors",
              metadata={"format": "pt", "tokens_seen": str(tokens)})


def read(folder, dtype=PRODUCTS):
    """-> the text decoder and the number of tokens it was trained on."""
    from safetensors import safe_open
    text = json.loads((folder / "config.json").read_text())["text_config"]
    shape = Shape(text["vocab_size"], text["hidden_size"], text["intermediate_size"],
                  text["num_hidden_layers"], text["num_attention_heads"],
                  text["num_key_value_heads"], text["head_dim"], text["sliding_window"],
                  sharpness=text["final_logit_softcapping"] / Shape.cap)
    model = Glimmer(shape, dtype)
    model.load_state_dict(stacked(load_file(folder / "model.safetensors"), shape))
    with safe_open(folder / "model.safetensors", "pt") as file:
        tokens = int(file.metadata()["tokens_seen"])
    return model, tokens
