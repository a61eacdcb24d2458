"""Quantised weights widened to float32, written down a second time: from the formats' definitions,
sharing no code with model/. Each operation rounds to float32 once."""

import numpy as np


def e4m3_table():
    """Values of the 256 codes: bias 7, denormals, no infinity, NaN in the last code."""
    values = []
    for code in range(256):
        exponent, mantissa = code >> 3 & 15, code & 7
        value = mantissa / 512 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        values.append(np.nan if code & 127 == 127 else -value if code & 128 else value)
    return np.array(values, dtype=np.float32)


E4M3 = e4m3_table()
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6],
                dtype=np.float32)


def widen_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp8_blocks(codes, scales):
    """codes [out, in] uint8; scales float32 [ceil(out / 128), ceil(in / 128)]."""
    rows = np.arange(codes.shape[0]) // 128
    columns = np.arange(codes.shape[1]) // 128
    return E4M3[codes] * scales[rows[:, None], columns[None, :]]


def fp8_tensor(codes, scale):
    return E4M3[codes] * np.float32(scale)


def e2m1_values(pairs):
    """[out, in / 2] bytes to [out, in]: the low half is the even column."""
    values = np.empty((pairs.shape[0], pairs.shape[1] * 2), dtype=np.float32)
    values[:, 0::2] = E2M1[pairs & 15]
    values[:, 1::2] = E2M1[pairs >> 4]
    return values


def bf16_rounded(values):
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def whole_numbers(weights, columns, lowest, scale_of):
    """Quantised at load: groups of columns, code = round(w / scale), ties to even."""
    out = np.empty_like(weights)
    for begin in range(0, weights.shape[1], columns):
        group = weights[:, begin:begin + columns]
        extreme = np.take_along_axis(group, np.abs(group).argmax(1)[:, None], 1)
        scale = bf16_rounded(scale_of(extreme))
        codes = np.rint(group / np.where(scale == 0, np.float32(1), scale))
        highest = 127 if lowest == -127 else 7
        out[:, begin:begin + columns] = np.clip(codes, lowest, highest) * scale
    return out


def int8(weights):
    return whole_numbers(weights, COLUMNS[int8], -127, lambda w: np.abs(w) / np.float32(127))


def int4(weights):
    return whole_numbers(weights, COLUMNS[int4], -8, lambda w: w / np.float32(-8))


COLUMNS = {int8: 64, int4: 32}


def activations(x, columns):
    """What the codes of activations [rows, in] stand for, in the groups of their weights."""
    out = np.empty_like(x)
    for begin in range(0, x.shape[1], columns):
        group = x[:, begin:begin + columns]
        scale = np.abs(group).max(1, keepdims=True) / np.float32(127)
        out[:, begin:begin + columns] = np.rint(group / np.where(scale == 0, 1, scale)) * scale
    return out


def nvfp4(pairs, scales, factor):
    """ModelOpt: block scale times weight_scale_2."""
    blocks = E4M3[scales] * np.float32(factor)
    return e2m1_values(pairs) * np.repeat(blocks, 16, axis=1)


def nvfp4_packed(pairs, scales, divisor):
    """compressed-tensors: block scale over weight_global_scale."""
    blocks = E4M3[scales] / np.float32(divisor)
    return e2m1_values(pairs) * np.repeat(blocks, 16, axis=1)
