"""Writes and reads models/glimmer-nano: a Hugging Face folder with the published tensor names."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import tokens as tokenizing
import vision
from network import MATRICES, PRODUCTS, Glimmer, Shape

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "glimmer-nano"
POSITIONS = 8192
NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
         "post_feedforward_layernorm")
PUBLISHED = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
             "gate": "self_attn.gate_proj", "o": "self_attn.o_proj", "mlp_gate": "mlp.gate_proj",
             "mlp_up": "mlp.up_proj", "mlp_down": "mlp.down_proj"}
TOWER = "model.vision_tower"
SEEN = {"q": "attn.q_proj", "k": "attn.k_proj", "v": "attn.v_proj", "proj": "attn.proj",
        "fc1": "mlp.fc1", "fc2": "mlp.fc2"}
SEEN_ONCE = {"patch": f"{TOWER}.patch_embedder.patch_embedding",
             "positions": f"{TOWER}.patch_embedder.position_embedding_table",
             "adapt_1": "model.vision_adapter.fc1", "adapt_2": "model.vision_adapter.fc2",
             "project": "model.vision_projection"}
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
    tower = dict(model_type="muse_glimmer_vision", **vision.CONFIG,
                 rope_parameters=dict(rope_type="default", rope_theta=vision.THETA),
                 layer_types=["full_attention" if vision.is_full(layer) else "window_attention"
                              for layer in range(vision.LAYERS)])
    return dict(architectures=["MuseGlimmerForConditionalGeneration"], model_type="muse_glimmer",
                dtype="bfloat16", image_token_id=base + 92, video_token_id=base + 91,
                out_hidden_size=4 * vision.WIDTH, projector_hidden_size=vision.PROJECTOR,
                projector_hidden_act="gelu", text_config=text, vision_config=tower)


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


def vision_names():
    """Published name of each of the tower's tensors -> our name and the place in its stack."""
    out = {f"{published}.weight": (name, ()) for name, published in SEEN_ONCE.items()}
    for part, end in (("", "weight"), ("_bias", "bias")):
        for which, name in enumerate(("ln_pre", "ln_post")):
            out[f"{TOWER}.{name}.{end}"] = f"ends{part}", (which,)
        for layer in range(vision.LAYERS):
            place = f"{TOWER}.layers.{layer}"
            for which, name in enumerate(("norm1", "norm2")):
                out[f"{place}.{name}.{end}"] = f"norms{part}", (layer, which)
            for name, published in SEEN.items():
                out[f"{place}.{published}.{end}"] = f"{name}{part}", (layer,)
    return out


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write(folder, weights, seeing, shape, tokens):
    """All files but tokenizer.json and the model card; `weights` of the decoder and `seeing` of the
    tower have our stacked names."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config(replace(shape, sharpness=SHARPNESS)))
    write_json(folder / "generation_config.json", generation_config())
    write_json(folder / "tokenizer_config.json", tokenizer_config())
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    tensors = text_tensors(weights, shape)
    tensors |= {published: seeing[name][place] for published, (name, place) in
                vision_names().items()}
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


def read_vision(folder, shape):
    tensors, tower = load_file(folder / "model.safetensors"), vision.Vision(shape.hidden)
    with torch.no_grad():
        for published, (name, place) in vision_names().items():
            getattr(tower, name)[place] = tensors[published].float()
    return tower
