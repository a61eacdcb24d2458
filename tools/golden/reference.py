"""Runs the published reference implementation on a checkpoint folder."""

import torch
from transformers import MuseGlimmerForConditionalGeneration


def load(folder, dtype):
    model = MuseGlimmerForConditionalGeneration.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager")
    return model.eval()


def observe(modules, seen):
    """Collects what each module returns, as [rows, width] in float32."""
    def collect(_module, _inputs, output):
        hidden = output[0] if isinstance(output, tuple) else output
        seen.append(hidden.detach().reshape(-1, hidden.shape[-1]).float())
    return [m.register_forward_hook(collect) for m in modules]


def run(model, tokens):
    """Logits [tokens, vocab] and the residual stream [layers + 1, tokens, hidden], float32.

    Entry 0 of the stream is the normed embedding, entry i + 1 the output of layer i.
    """
    text = model.model.language_model
    seen = []
    hooks = observe([text.embed_tokens, *text.layers], seen)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens])).logits[0].float()
    for hook in hooks:
        hook.remove()
    return logits.numpy(), torch.stack(seen).numpy()
