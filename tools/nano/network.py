"""The text decoder of Muse-Glimmer as it is trained: float32 residual, products in bfloat16 where
the processor multiplies it natively and in float32 elsewhere.

The weights of all layers are stacked [layers, out, in], so that Muon orthogonalises a whole stack
at once; `export.py` slices them.
"""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

EPS, POST_EPS = 1e-5, 1e-8
# Without AVX-512 oneDNN emulates bfloat16: ten times slower than float32.
PRODUCTS = (torch.bfloat16 if "AVX512" in torch.backends.cpu.get_cpu_capability()
            else torch.float32)
MATRICES = ("q", "k", "v", "gate", "o", "mlp_gate", "mlp_up", "mlp_down")


@dataclass(frozen=True)
class Shape:
    vocabulary: int = 2048
    hidden: int = 192
    intermediate: int = 576
    layers: int = 8
    query_heads: int = 8
    kv_heads: int = 2
    head_dim: int = 32
    window: int = 128
    theta: float = 500000.0
    qk_scale: float = 3.87
    cap: float = 20.0
    sharpness: float = 1.0  # all logits times this, cap included
    patch: int = 2012  # token whose rows come from pictures

    def is_full(self, layer):
        """Every fourth layer, counted from the last, sees everything and has no positions."""
        return (self.layers - 1 - layer) % 4 == 0

    @property
    def output_multiplier(self):
        return math.sqrt(256 / self.hidden)


class Rms(torch.autograd.Function):
    """x / rms(x) * w (w may be None) in few passes over memory: only y and 1/rms are kept."""

    @staticmethod
    def forward(ctx, x, w, eps):
        r = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        r = r.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        y = x * r
        ctx.save_for_backward(y, r, w)
        return y if w is None else y * w

    @staticmethod
    def backward(ctx, grad):
        y, r, w = ctx.saved_tensors
        grad_w = None
        if w is not None:
            grad_w = (grad * y).flatten(0, -2).sum(0)
            grad = grad * w
        along = torch.linalg.vecdot(grad, y).div_(-y.shape[-1]).unsqueeze(-1)
        return torch.addcmul(grad, y, along).mul_(r), grad_w, None


def rms(x, w, eps):
    return Rms.apply(x.float(), w, eps)


class Cache:
    """Keys and values [layers, batch, kv_heads, positions, head_dim] of sequences that grow."""

    def __init__(self, shape, batch, positions, dtype):
        size = (shape.layers, batch, shape.kv_heads, positions, shape.head_dim)
        self.keys, self.values = torch.zeros(size, dtype=dtype), torch.zeros(size, dtype=dtype)

    def keep(self, rows):
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]

    def put(self, layer, positions, k, v):
        """-> all keys and values up to the furthest position."""
        rows = torch.arange(k.shape[0])[:, None]
        self.keys[layer][rows, :, positions] = k.transpose(1, 2)
        self.values[layer][rows, :, positions] = v.transpose(1, 2)
        count = int(positions.max()) + 1
        return self.keys[layer][:, :, :count], self.values[layer][:, :, :count]


class Glimmer(nn.Module):
    def __init__(self, shape, dtype=PRODUCTS):
        super().__init__()
        self.shape, self.dtype = shape, dtype
        s, width = shape, shape.query_heads * shape.head_dim
        kv_width = s.kv_heads * s.head_dim

        def normal(*size, std):
            return nn.Parameter(torch.randn(*size) * std)
        unit = s.hidden ** -0.5
        self.embedding = normal(s.vocabulary, s.hidden, std=1 / 16)
        self.head = normal(s.vocabulary, s.hidden, std=0.02)
        self.final_norm = nn.Parameter(torch.ones(s.hidden))
        self.norms = nn.Parameter(torch.zeros(s.layers, 4, s.hidden))  # in, post, in, post
        with torch.no_grad():
            self.norms[:, 1::2] = -1 + 1 / math.sqrt(2 * s.layers)
        self.q = normal(s.layers, width, s.hidden, std=unit)
        self.k = normal(s.layers, kv_width, s.hidden, std=unit)
        self.v = normal(s.layers, kv_width, s.hidden, std=unit)
        self.gate = normal(s.layers, width, s.hidden, std=unit / 2)
        self.o = normal(s.layers, s.hidden, width, std=width ** -0.5)
        self.mlp_gate = normal(s.layers, s.intermediate, s.hidden, std=unit)
        self.mlp_up = normal(s.layers, s.intermediate, s.hidden, std=unit)
        self.mlp_down = normal(s.layers, s.hidden, s.intermediate, std=s.intermediate ** -0.5)

    def description(self):
        return asdict(self.shape)

    def matrices(self):
        return [getattr(self, name) for name in MATRICES]

    def tables(self):
        return [self.embedding, self.head]

    def scales(self):
        return [self.final_norm, self.norms]

    def rotation(self, positions):
        """cos and signed sin [batch, 1, tokens, head_dim] of the half-split layout."""
        dim = self.shape.head_dim
        frequency = 1.0 / self.shape.theta ** (torch.arange(0, dim, 2).float() / dim)
        angle = positions[..., None].float() * frequency
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([cos, cos], -1)[:, None], torch.cat([-sin, sin], -1)[:, None]

    def masks(self, positions):
        """0 where a query may look, -1e9 elsewhere: for full and for sliding layers."""
        keys = torch.arange(int(positions.max()) + 1)
        distance = positions[:, :, None] - keys
        full = torch.zeros(distance.shape).masked_fill_(distance < 0, -1e9)
        sliding = full.masked_fill(distance >= self.shape.window, -1e9)
        return full[:, None, None], sliding[:, None, None]

    def attend(self, q, k, v, mask):
        """Query heads of a group are folded into rows, so that k and v are never repeated."""
        batch, heads, tokens, dim = q.shape
        groups, keys = k.shape[1], k.shape[2]
        fold = (batch * groups, heads // groups * tokens, dim)
        k, v = (x.reshape(batch * groups, keys, dim) for x in (k, v))
        scores = torch.bmm(q.reshape(fold), k.transpose(1, 2))
        scores = scores.view(batch, groups, heads // groups, tokens, keys) + mask
        shares = scores.softmax(-1).to(v.dtype).view(batch * groups, -1, keys)
        mixed = torch.bmm(shares, v).view(batch, heads, tokens, dim)
        return mixed.transpose(1, 2).reshape(batch, tokens, heads * dim)

    def attend_within(self, q, k, v, layer):
        """The same for whole sequences without a cache, in half the time: the fused kernel for full
        layers; sliding ones in chunks of one window, whose queries see two windows of keys."""
        (batch, heads, tokens, dim), groups, window = q.shape, k.shape[1], self.shape.window
        share = heads // groups
        if self.shape.is_full(layer):
            k, v = (x.repeat_interleave(share, 1) for x in (k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
            return mixed.transpose(1, 2).reshape(batch, tokens, heads * dim)
        pad = -tokens % window
        chunks = (tokens + pad) // window
        fold = (batch * groups * chunks, share * window, dim)
        q = F.pad(q, (0, 0, 0, pad)).view(batch, groups, share, chunks, window, dim)
        q = q.transpose(2, 3).reshape(fold)
        k, v = (F.pad(x, (0, 0, window, pad)).unfold(2, 2 * window, window)
                .transpose(-1, -2).reshape(fold[0], 2 * window, dim) for x in (k, v))
        distance = torch.arange(window, 2 * window)[:, None] - torch.arange(2 * window)
        hidden = ((distance < 0) | (distance >= window)).repeat(chunks, 1, 1)
        hidden[0, :, :window] = True
        mask = torch.zeros(hidden.shape).masked_fill_(hidden, -1e9)[:, None]
        scores = torch.bmm(q, k.transpose(1, 2))
        scores = scores.view(-1, chunks, share, window, 2 * window) + mask
        shares = scores.softmax(-1).to(v.dtype).view(fold[0], -1, 2 * window)
        mixed = torch.bmm(shares, v).view(batch, groups, chunks, share, window, dim)
        mixed = mixed.permute(0, 2, 4, 1, 3, 5).reshape(batch, chunks * window, heads * dim)
        return mixed[:, :tokens]

    def hidden(self, ids, positions=None, cache=None, taps=None, seen=None):
        """[batch, tokens, hidden] behind the final norm. With a cache, rows are appended to it at
        `positions` [batch, tokens]; without, sequences start at 0 and are padded on the right.
        `taps`, a dictionary, receives the residual stream behind each of its keys' layers. `seen`
        [rows, hidden] stands, in order, where ids are patches."""
        s, (batch, tokens) = self.shape, ids.shape
        if positions is None:
            positions = torch.arange(tokens)[None]
        weights = [w.to(self.dtype).unbind(0) for w in self.matrices()]
        norms = [n.unbind(0) for n in (1 + self.norms).unbind(0)]
        cos, sin = self.rotation(positions)
        if cache is not None:
            full, sliding = self.masks(positions)
        rows = F.embedding(ids, self.embedding)
        if seen is not None:
            rows = rows.masked_scatter((ids == s.patch)[..., None], seen)
        h = rms(rows, None, EPS)
        for layer, of_layer in enumerate(zip(*weights)):
            q_w, k_w, v_w, gate_w, o_w, mlp_gate_w, up_w, down_w = of_layer
            before, after, before_mlp, after_mlp = norms[layer]
            x = rms(h, before, EPS).to(self.dtype)

            def heads(weight, x=x):
                return F.linear(x, weight).view(batch, tokens, -1, s.head_dim).transpose(1, 2)
            q = rms(heads(q_w), None, EPS) * (s.qk_scale * s.head_dim ** -0.5)
            k, v = rms(heads(k_w), None, EPS), heads(v_w)
            if not s.is_full(layer):
                half = s.head_dim // 2
                q, k = (torch.addcmul(z * cos, z.roll(half, -1), sin) for z in (q, k))
            q, k = q.to(self.dtype), k.to(self.dtype)
            if cache is None:
                mixed = self.attend_within(q, k, v, layer)
            else:
                k, v = cache.put(layer, positions, k, v)
                mixed = self.attend(q, k, v, full if s.is_full(layer) else sliding)
            mixed = mixed * torch.sigmoid(F.linear(x, gate_w))
            h = h + rms(F.linear(mixed, o_w), after, POST_EPS)
            x = rms(h, before_mlp, EPS).to(self.dtype)
            m = F.linear(F.silu(F.linear(x, mlp_gate_w)) * F.linear(x, up_w), down_w)
            h = h + rms(m, after_mlp, POST_EPS)
            if taps is not None and layer in taps:
                taps[layer] = h
        return rms(h, self.final_norm, EPS)

    def logits(self, y):
        z = F.linear(y.to(self.dtype), self.head.to(self.dtype)).float()
        cap = self.shape.cap
        return self.shape.sharpness * cap * torch.tanh(self.shape.output_multiplier / cap * z)


def choose(logits, sampling, generator):
    """Greedy without `sampling`; else (temperature, top_k, top_p) as published."""
    if sampling is None:
        return logits.argmax(-1)
    temperature, top_k, top_p = sampling
    best, ids = (logits / temperature).topk(top_k, -1)
    shares = best.softmax(-1)
    before = shares.cumsum(-1) - shares
    shares = shares.masked_fill(before >= top_p, 0.0)
    return ids.gather(1, torch.multinomial(shares, 1, generator=generator))[:, 0]


@torch.no_grad()
def generate(model, prompts, stops, most=256, sampling=None, seed=1, seen=None):
    """Continues token lists; -> the new tokens of each, the stop token included. `seen`: the rows of
    all pictures in the prompts."""
    lengths = torch.tensor([len(p) for p in prompts])
    longest, batch = int(lengths.max()), len(prompts)
    ids = torch.zeros(batch, longest, dtype=torch.long)
    for row, tokens in enumerate(prompts):
        ids[row, :len(tokens)] = torch.tensor(tokens)
    generator = torch.Generator().manual_seed(seed)
    cache = Cache(model.shape, batch, longest + most, model.dtype)
    y = model.hidden(ids, torch.arange(longest)[None].expand(batch, -1), cache, seen=seen)
    chosen = choose(model.logits(y[torch.arange(batch), lengths - 1]), sampling, generator)
    out, active, positions = [[] for _ in prompts], torch.arange(batch), lengths.clone()
    for _ in range(most):
        going = []
        for row, (which, token) in enumerate(zip(active.tolist(), chosen.tolist())):
            out[which].append(token)
            if token not in stops:
                going.append(row)
        if not going:
            break
        if len(going) < len(active):
            active, chosen, positions = active[going], chosen[going], positions[going]
            cache.keep(going)
        y = model.hidden(chosen[:, None], positions[:, None], cache)
        chosen = choose(model.logits(y[:, -1]), sampling, generator)
        positions = positions + 1
        if int(positions.max()) >= longest + most:
            break
    return out
