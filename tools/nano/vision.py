"""The vision tower and projector of Muse-Glimmer as they are trained, in float32.

A picture comes as bytes [height, width, 3], sides a multiple of 28. Patches are listed row by row;
all pictures of a batch go through the tower at once, padded to the largest.

Implementations disagree where a patch of a picture that is not square reads the position table.
`transformers` (5.24) gives the n-th patch of a grid h x w what the n-th of a grid w x h has; others
go by the patch's own row and column ("straight"). We compute the former, and train on both.
"""

from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CONFIG = dict(hidden_size=48, num_hidden_layers=6, num_attention_heads=3, intermediate_size=280,
              patch_size=14, patch_temporal=2, merge_size=2, pos_emb_height=4, pos_emb_width=4,
              hidden_act="gelu", layer_norm_eps=1e-5, max_position_embeddings=16)
WIDTH, LAYERS, HEADS = (CONFIG[name] for name in (
    "hidden_size", "num_hidden_layers", "num_attention_heads"))
INNER, PATCH, EPS = CONFIG["intermediate_size"], CONFIG["patch_size"], CONFIG["layer_norm_eps"]
TABLE, THETA, PROJECTOR = CONFIG["pos_emb_height"], 10000.0, 128
PATCH_TERMS = 3 * CONFIG["patch_temporal"] * PATCH ** 2
CELL = PATCH * CONFIG["merge_size"]  # a side of what becomes one row of the decoder
MATRICES = ("q", "k", "v", "proj", "fc1", "fc2")


def is_full(layer):
    return (layer + 1) % 4 == 0 or layer == LAYERS - 1


def patches_of(picture):
    """-> patches [patches, 1176]: two frames (both the picture), channel, row, column."""
    height, width = (side // PATCH for side in picture.shape[:2])
    pixels = torch.from_numpy(np.ascontiguousarray(picture)).float().sub_(127.5).div_(127.5)
    cut = pixels.view(height, PATCH, width, PATCH, 3).permute(0, 2, 4, 1, 3)
    cut = cut.reshape(height * width, PATCH_TERMS // 2)
    return torch.cat([cut, cut], 1)


def grid_of(picture):
    """Patches down and across."""
    return picture.shape[0] // PATCH, picture.shape[1] // PATCH


def sampling(count):
    """[count, TABLE]: bilinear, half-pixel centres; what lies outside the table is 0."""
    source = (torch.arange(count) + 0.5) * TABLE / count - 0.5
    first = source.floor()
    out = torch.zeros(count, TABLE)
    for tap, weight in ((first, 1 - (source - first)), (first + 1, source - first)):
        for row in range(count):
            if 0 <= tap[row] < TABLE:
                out[row, int(tap[row])] += weight[row]
    return out


@lru_cache
def places(height, width, straight=False):
    """Of a grid: sampling of the position table [patches, 16], cos and signed sin [patches, 16],
    each patch's window, and the patches of each merged cell [cells, 4]."""
    rows = torch.arange(height).repeat_interleave(width)
    columns = torch.arange(width).repeat(height)
    down, across = (height, width) if straight else (width, height)
    table = torch.einsum("ia,jb->ijab", sampling(down), sampling(across))
    half = WIDTH // HEADS // 2
    frequency = 1.0 / THETA ** (torch.arange(0, half, 2).float() / half)
    angle = torch.cat([(columns + 1)[:, None] * frequency, (rows + 1)[:, None] * frequency], 1)
    cos, sin = angle.cos(), angle.sin()
    windows = rows // TABLE * width + columns // TABLE
    numbers = torch.arange(height * width).view(height // 2, 2, width // 2, 2)
    return (table.reshape(height * width, -1), torch.cat([cos, cos], 1),
            torch.cat([-sin, sin], 1), windows, numbers.permute(0, 2, 1, 3).reshape(-1, 4))


class Vision(nn.Module):
    def __init__(self, hidden):
        super().__init__()

        def normal(*size):
            return nn.Parameter(torch.randn(*size) * size[-1] ** -0.5)
        sizes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH),
                 "proj": (WIDTH, WIDTH), "fc1": (INNER, WIDTH), "fc2": (WIDTH, INNER)}
        for name, size in sizes.items():
            setattr(self, name, normal(LAYERS, *size))
            setattr(self, f"{name}_bias", nn.Parameter(torch.zeros(LAYERS, size[0])))
        self.patch = normal(WIDTH, PATCH_TERMS)
        self.positions = nn.Parameter(0.5 * torch.randn(TABLE * TABLE, WIDTH))
        for name, size in (("norms", (LAYERS, 2)), ("ends", (2,))):  # ends: ln_pre, ln_post
            setattr(self, name, nn.Parameter(torch.ones(*size, WIDTH)))
            setattr(self, f"{name}_bias", nn.Parameter(torch.zeros(*size, WIDTH)))
        self.adapt_1 = normal(PROJECTOR, 4 * WIDTH)
        self.adapt_2 = normal(PROJECTOR, PROJECTOR)
        self.project = normal(hidden, PROJECTOR)

    def is_trained(self):
        """A tower that has learnt anything has biases."""
        return bool(self.fc1_bias.any())

    def matrices(self):
        return [getattr(self, name) for name in (*MATRICES, "patch", "adapt_1", "adapt_2",
                                                 "project")]

    def tables(self):
        return [self.positions]

    def scales(self):
        return [parameter for name, parameter in self.named_parameters()
                if name.endswith("_bias") or name in ("norms", "ends")]

    def attend(self, x, layer, cos, sin, mask):
        batch, count, _ = x.shape

        def heads(name):
            y = F.linear(x, getattr(self, name)[layer], getattr(self, f"{name}_bias")[layer])
            return y.view(batch, count, HEADS, -1).transpose(1, 2)
        half = WIDTH // HEADS // 2
        q, k = (z * cos + z.roll(half, -1) * sin for z in (heads("q"), heads("k")))
        scores = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5 + mask
        mixed = (scores.softmax(-1) @ heads("v")).transpose(1, 2).reshape(batch, count, WIDTH)
        return F.linear(mixed, self.proj[layer], self.proj_bias[layer])

    def forward(self, pictures, straight=False):
        """-> rows [cells of all pictures, hidden], before the decoder's norm."""
        grids = [grid_of(picture) for picture in pictures]
        counts = [height * width for height, width in grids]
        longest = max(counts)

        def padded(parts):
            return torch.stack([F.pad(part, (0, 0, 0, longest - len(part))) for part in parts])
        tables, cos, sin, windows, cells = zip(*(places(*grid, straight) for grid in grids))
        cos, sin = padded(cos)[:, None], padded(sin)[:, None]
        window = torch.stack([F.pad(w, (0, longest - len(w)), value=-1) for w in windows])
        there = window >= 0

        def mask(seen):
            return torch.zeros(seen.shape).masked_fill_(~seen, -1e9)[:, None]
        whole = mask(there[:, None, :].expand(-1, longest, -1))
        within = mask((window[:, None, :] == window[:, :, None]) | ~there[:, :, None])

        def norm(x, name, *index):
            return F.layer_norm(x, (WIDTH,), getattr(self, name)[index],
                                getattr(self, f"{name}_bias")[index], EPS)
        x = F.linear(padded([patches_of(p) for p in pictures]), self.patch)
        x = norm(x + padded(tables) @ self.positions, "ends", 0)
        for layer in range(LAYERS):
            x = x + self.attend(norm(x, "norms", layer, 0), layer, cos, sin,
                                whole if is_full(layer) else within)
            y = F.linear(norm(x, "norms", layer, 1), self.fc1[layer], self.fc1_bias[layer])
            x = x + F.linear(F.gelu(y), self.fc2[layer], self.fc2_bias[layer])
        x = norm(x, "ends", 1)
        merged = torch.cat([x[n][cell].transpose(1, 2).flatten(1) for n, cell in enumerate(cells)])
        y = F.gelu(F.linear(F.gelu(F.linear(merged, self.adapt_1)), self.adapt_2))
        return F.linear(y, self.project)
