"""Small pictures of coloured shapes: what is in them, and their pixels."""

from collections import namedtuple

import numpy as np

from vision import CELL

COLOURS = {"red": (215, 35, 35), "green": (30, 160, 50), "blue": (40, 70, 215),
           "yellow": (240, 215, 40), "black": (15, 15, 15), "white": (245, 245, 245),
           "orange": (245, 135, 20), "brown": (120, 70, 30)}
SHAPES = ["circle", "square", "triangle", "cross", "ring"]
SIDES, MOST = (2, 3, 4), 4  # cells of 28 pixels down and across; shapes

# things: [(colour, shape, cell)] in reading order; pixels: bytes [height, width, 3].
Picture = namedtuple("Picture", "things pixels")


def inside(shape, x, y):
    """Where a shape of radius 1 is, for coordinates from its middle."""
    reach = np.maximum(abs(x), abs(y))
    if shape == "circle":
        return x * x + y * y <= 1
    if shape == "ring":
        return (x * x + y * y <= 1) & (x * x + y * y >= 0.3)
    if shape == "square":
        return reach <= 0.85
    if shape == "triangle":
        return (y <= 0.75) & (abs(x) <= 0.55 * (y + 1))
    return (np.minimum(abs(x), abs(y)) <= 0.3) & (reach <= 1)


def plan(random):
    """-> cells down and across, and [(colour, shape, cell)], each shape in a cell of its own."""
    down, across = random.choice(SIDES), random.choice(SIDES)
    cells = sorted(random.sample(range(down * across), random.randint(1, MOST)))
    few = random.choice([2, len(SHAPES)]), random.choice([2, len(COLOURS)])
    shapes, colours = random.sample(SHAPES, few[0]), random.sample(list(COLOURS), few[1])
    return down, across, [(random.choice(colours), random.choice(shapes), cell) for cell in cells]


def background(random, things):
    """A dull colour unlike those of the things."""
    while True:
        colour = np.array([random.randint(50, 225)] * 3) + [random.randint(-15, 15)
                                                           for _ in range(3)]
        if all(abs(colour - COLOURS[name]).sum() > 120 for name, _, _ in things):
            return colour


def draw(random, down, across, things):
    noise = np.random.default_rng(random.getrandbits(32))
    size = (down * CELL, across * CELL)
    image = np.empty((*size, 3))
    image[:] = background(random, things)
    rows, columns = np.mgrid[:size[0], :size[1]] + 0.5
    for colour, shape, cell in things:
        radius = random.uniform(8.5, 12)
        play = CELL / 2 - radius + 1
        x, y = ((at + 0.5) * CELL + random.uniform(-play, play)
                for at in (cell % across, cell // across))
        x, y = (min(max(at, radius), side - radius) for at, side in ((x, size[1]), (y, size[0])))
        turn = random.uniform(-0.3, 0.3)
        u, v = (columns - x) / radius, (rows - y) / radius
        u, v = u * np.cos(turn) + v * np.sin(turn), v * np.cos(turn) - u * np.sin(turn)
        tint = np.array(COLOURS[colour]) + [random.randint(-12, 12) for _ in range(3)]
        image[inside(shape, u, v)] = tint
    image += noise.normal(0, 4, image.shape)
    return Picture(things, image.clip(0, 255).round().astype(np.uint8))
