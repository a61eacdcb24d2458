"""The DFlash head of glimmer-nano: draft.py train MINUTES | score [COUNT]

A block is an anchor token and fifteen masks; one pass proposes a token for every mask. Of the past
the head sees what the target's tapped layers say about the positions before the anchor.
Attention is not causal. Needs the finished target: the head learns what the target writes.
"""

import argparse
import json
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

import export
import prompt
import tokens as tokenizing
from curriculum import Conversations, STAGES
from network import generate, rms
from optimizer import Optimizer
from score import SAMPLING, SKILLS, prompts_of
from tasks import STRENGTHS
from tokens import Vocabulary

BLOCK, TAPS, LAYERS, WINDOW = 16, (1, 3, 5), 4, 128
HEADS, KV_HEADS, DIM, INTERMEDIATE = 4, 2, 32, 576
MASK_TOKEN = tokenizing.BASE + 100  # a reserved token that no text contains
THETA, EPS = 500000.0, 1e-5
ANCHORS, TURNS, PROMPTS, GAMMA = 12, 3, 8, 7.0
LATE, LONGEST = 1e8, 900  # million tokens: the last stage; tokens of a training conversation


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return rms(x, self.weight, EPS)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


def rotate(x, positions):
    """Half-split rotation of x [batch, heads, rows, DIM] at positions [batch, rows]."""
    frequency = 1.0 / THETA ** (torch.arange(0, DIM, 2).float() / DIM)
    angle = (positions[..., None].float() * frequency)[:, None]
    cos, sin = angle.cos(), angle.sin()
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.q_proj, self.o_proj = linear(hidden, HEADS * DIM), linear(HEADS * DIM, hidden)
        self.k_proj, self.v_proj = linear(hidden, KV_HEADS * DIM), linear(hidden, KV_HEADS * DIM)
        self.q_norm, self.k_norm = Norm(DIM), Norm(DIM)

    def forward(self, x, context, positions, mask):
        """x [batch, rows, hidden] looks at context [batch, tokens, hidden] and at itself."""
        batch, tokens = context.shape[:2]
        seen = torch.cat([context, x], 1)
        everywhere = torch.cat([torch.arange(tokens).expand(batch, -1), positions], 1)

        def heads(y):
            return y.view(batch, y.shape[1], -1, DIM).transpose(1, 2)
        q = rotate(self.q_norm(heads(self.q_proj(x))), positions)
        k = rotate(self.k_norm(heads(self.k_proj(seen))), everywhere)
        v = heads(self.v_proj(seen))
        k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (k, v))
        shares = (q @ k.transpose(2, 3) * DIM ** -0.5 + mask[:, None]).softmax(-1)
        return self.o_proj((shares @ v).transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = linear(hidden, INTERMEDIATE), linear(hidden, INTERMEDIATE)
        self.down_proj = linear(INTERMEDIATE, hidden)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = Norm(hidden), Norm(hidden)
        self.self_attn, self.mlp = Attention(hidden), Mlp(hidden)

    def forward(self, h, context, positions, mask):
        h = h + self.self_attn(self.input_layernorm(h), context, positions, mask)
        return h + self.mlp(self.post_attention_layernorm(h))


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc, self.output_norm_enc = linear(len(TAPS) * hidden, hidden), Norm(hidden)

    def forward(self, features):
        return self.output_norm_enc(self.fc(features))


class Head(nn.Module):
    """Parameters carry the published names. Layers begin as if they were not there."""

    def __init__(self, hidden):
        super().__init__()
        self.encoder, self.norm = Encoder(hidden), Norm(hidden)
        self.layers = nn.ModuleList(Layer(hidden) for _ in range(LAYERS))
        for layer in self.layers:
            nn.init.zeros_(layer.self_attn.o_proj.weight)
            nn.init.zeros_(layer.mlp.down_proj.weight)

    def matrices(self):
        return [p for p in self.parameters() if p.dim() == 2]

    def tables(self):
        return []

    def scales(self):
        return [p for p in self.parameters() if p.dim() == 1]

    def forward(self, rows, features, anchors):
        """rows [batch, anchors * BLOCK, hidden]: raw embeddings of all blocks; features [batch,
        tokens, taps * hidden]; anchors [batch, count]: their positions."""
        positions = (anchors[:, :, None] + torch.arange(BLOCK)).flatten(1)
        mask = visibility(anchors, features.shape[1])
        h, context = rows, self.encoder(features)
        for layer in self.layers:
            h = layer(h, context, positions, mask)
        return self.norm(h)


def visibility(anchors, tokens):
    """0 where a row may look, else -1e9: the context before its anchor, and its own block."""
    batch, count = anchors.shape
    anchor = anchors.repeat_interleave(BLOCK, 1)[:, :, None]
    row = (anchors[:, :, None] + torch.arange(BLOCK)).flatten(1)[:, :, None]
    key = torch.arange(tokens)
    context = (key < anchor) & (row - key <= WINDOW)
    block = torch.arange(count).repeat_interleave(BLOCK)
    same = (block[:, None] == block).expand(batch, -1, -1)
    return torch.where(torch.cat([context, same], 2), 0.0, -1e9)


def block_rows(target, ids, anchors):
    """Raw, un-normed embeddings: the anchor's token, then masks."""
    rows = torch.full((*anchors.shape, BLOCK), MASK_TOKEN)
    rows[:, :, 0] = ids.gather(1, anchors)
    return F.embedding(rows.flatten(1), target.embedding)


@torch.no_grad()
def features_of(target, ids):
    taps = dict.fromkeys(TAPS)
    target.hidden(ids, taps=taps)
    return torch.cat([taps[layer].float() for layer in TAPS], -1)


def written_by_target(target, vocabulary, texts, sampling, seed):
    """-> ids [batch, longest], and spans (row, begin, end) of the target's words."""
    prompts = vocabulary.encode_all(texts)
    out = generate(target, prompts, vocabulary.stops, 200, sampling, seed)
    ids = torch.zeros(len(out), max(len(p) + len(o) for p, o in zip(prompts, out)),
                      dtype=torch.long)
    spans = []
    for row, (before, after) in enumerate(zip(prompts, out)):
        ids[row, :len(before) + len(after)] = torch.tensor(before + after)
        spans.append((row, len(before), len(before) + len(after)))
    return ids, spans


def training_prompts(conversations, count):
    for _ in range(count):
        skill = conversations.random.choice(list(SKILLS.values()))
        head, turns = conversations.of_skills(skill, conversations.random.choice(STRENGTHS),
                                              STAGES[-2])
        for turn in turns[:-1]:
            head += turn.ask + prompt.GENERATE + turn.write
        yield head + turns[-1].ask + prompt.GENERATE


def written_by_hand(vocabulary, conversations, count):
    """The same of training conversations, some turns of each: what the target was taught to write is
    nearly what it writes, and costs nothing."""
    drawn = vocabulary.encode_all([conversations.draw(LATE)[0] for _ in range(count)])
    samples = [sample for sample in drawn if len(sample) <= LONGEST]
    ids = torch.zeros(len(samples), max(map(len, samples)), dtype=torch.long)
    spans = []
    for row, sample in enumerate(samples):
        ids[row, :len(sample)] = torch.tensor(sample)
        marks = [False, *vocabulary.written(sample), False]
        begins = [i for i in range(len(sample)) if marks[i + 1] and not marks[i]]
        for begin in conversations.random.sample(begins, min(TURNS, len(begins))):
            spans.append((row, begin, marks.index(False, begin + 1) - 1))
    return ids, spans


def around(ids, features, spans):
    """A row for each span, with only the positions that its blocks see. The head knows no other than
    relative positions, so nothing changes but the time it takes."""
    begins = [max(0, begin - WINDOW) for _, begin, _ in spans]
    length = max(end - first for first, (_, _, end) in zip(begins, spans))
    ids, features = (F.pad(x, (0, 0) * (x.dim() - 2) + (0, length)) for x in (ids, features))
    rows = torch.tensor([row for row, _, _ in spans])[:, None]
    places = torch.tensor(begins)[:, None] + torch.arange(length)
    moved = [(begin - first, end - first) for first, (_, begin, end) in zip(begins, spans)]
    return ids[rows, places], features[rows, places], moved


def loss_of(head, target, ids, features, spans, choose):
    """Cross entropy of every slot with what the target wrote there, nearer slots weighing more."""
    anchors = torch.tensor([[choose.randrange(begin, max(begin + 1, end - 1))
                             for _ in range(ANCHORS)] for begin, end in spans])
    y = head(block_rows(target, ids, anchors), features, anchors)
    places = anchors[:, :, None] + torch.arange(BLOCK)
    ends = torch.tensor([end for _, end in spans])[:, None, None]
    valid = (places < ends) & (torch.arange(BLOCK) > 0)
    labels = ids.gather(1, places.clamp(max=ids.shape[1] - 1).flatten(1)).view_as(places)
    logits = F.linear(y.view(*places.shape, -1)[valid], target.head)
    weights = torch.exp(-(torch.arange(BLOCK) - 1) / GAMMA).expand(places.shape)[valid]
    losses = F.cross_entropy(logits, labels[valid], reduction="none")
    return (losses * weights).sum() / weights.sum()


def config(hidden):
    base = tokenizing.BASE
    return dict(
        architectures=["MuseGlimmerAssistantModel"], model_type="muse_glimmer_assistant",
        dtype="bfloat16", hidden_size=hidden, intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS,
        head_dim=DIM, hidden_act="silu", rms_norm_eps=EPS, attention_dropout=0,
        rope_parameters=dict(rope_type="default", rope_theta=THETA),
        max_position_embeddings=export.POSITIONS, sliding_window=WINDOW,
        layer_types=["sliding_attention"] * LAYERS, block_size=BLOCK, mask_token_id=MASK_TOKEN,
        target_layer_ids=list(TAPS), bos_token_id=base, eos_token_id=base + 1,
        pad_token_id=base + 18)


def write(folder, head, hidden):
    folder.mkdir(parents=True, exist_ok=True)
    export.write_json(folder / "config.json", config(hidden))
    tensors = {name: t.to(torch.bfloat16).contiguous() for name, t in head.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def read(folder, hidden):
    head = Head(hidden)
    if (folder / "model.safetensors").exists():
        tensors = load_file(folder / "model.safetensors")
        head.load_state_dict({name: t.float() for name, t in tensors.items()})
    return head


def train(folder, minutes, seed=1):
    """Goes on from folder/assistant when there is one; rates fall over the last half."""
    torch.manual_seed(seed)
    target, _ = export.read(folder, torch.float32)
    target.requires_grad_(False)
    vocabulary = Vocabulary(folder / "tokenizer.json")
    head = read(folder / "assistant", target.shape.hidden)
    optimizer = Optimizer(head)
    conversations = Conversations(seed * 7_000_003, pictures=False)
    choose = random.Random(seed)
    begin, step, smooth = time.monotonic(), 0, None
    while (progress := (time.monotonic() - begin) / (60 * minutes)) < 1:
        if step % 6:
            ids, spans = written_by_hand(vocabulary, conversations, PROMPTS)
        else:
            texts = list(training_prompts(conversations, PROMPTS))
            ids, spans = written_by_target(target, vocabulary, texts,
                                           SAMPLING if step % 12 else None, step)
        ids, features, spans = around(ids, features_of(target, ids), spans)
        for _ in range(2):  # two draws of anchors: the texts cost more than learning
            loss = loss_of(head, target, ids, features, spans, choose)
            loss.backward()
            optimizer.step(min(1.0, 2.04 * (1 - progress) + 0.02))
        step += 1
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if step % 10 == 0:
            print(f"step {step}, loss {smooth:.3f}, {(1 - progress) * minutes:.1f} min left",
                  flush=True)
    head.load_state_dict(optimizer.average)
    write(folder / "assistant", head, target.shape.hidden)
    return head


@torch.no_grad()
def rounds_of(head, target, ids, features, span):
    """How many rounds of drafts write what the target wrote in `span` of one row: ids [1, tokens],
    features [1, tokens, taps * hidden]. The prompt's own pass writes the first token."""
    begin, end = span
    if end - begin < 2:
        return 0
    anchors = torch.arange(begin, end - 1)[None]
    y = head(block_rows(target, ids, anchors), features, anchors)
    drafts = F.linear(y.view(anchors.shape[1], BLOCK, -1), target.head).argmax(-1)
    rounds, place = 0, begin + 1
    while place < end:
        draft, truth = drafts[place - begin - 1, 1:].tolist(), ids[0, place:end].tolist()
        accepted = next((n for n, (a, b) in enumerate(zip(draft, truth)) if a != b),
                        min(len(draft), len(truth)))
        rounds, place = rounds + 1, place + accepted + 1
    return rounds


@torch.no_grad()
def emitted_per_round(head, target, vocabulary, count):
    """Accepted drafts + 1, averaged over the rounds of greedy decoding of held-out prompts."""
    rounds = emitted = 0
    for skill in SKILLS:
        texts = [item.prompt for item in prompts_of(skill, count)]
        ids, spans = written_by_target(target, vocabulary, texts, None, 0)
        features = features_of(target, ids)
        for row, begin, end in spans:
            mine = slice(row, row + 1)
            rounds += rounds_of(head, target, ids[mine], features[mine], (begin, end))
            emitted += end - begin - 1
    return emitted / rounds


def score(folder, count):
    """Tokens emitted per round over `count` held-out prompts of each skill."""
    target, _ = export.read(folder, torch.float32)
    head = read(folder / "assistant", target.shape.hidden)
    return emitted_per_round(head, target, Vocabulary(folder / "tokenizer.json"), count)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "score"])
    parser.add_argument("amount", type=float, help="minutes, or prompts per skill")
    parser.add_argument("--folder", type=Path, default=export.FOLDER)
    a = parser.parse_args()
    if a.what == "train":
        train(a.folder, a.amount)
        return
    print(json.dumps({"emitted_per_round": score(a.folder, int(a.amount))}))


if __name__ == "__main__":
    main()
