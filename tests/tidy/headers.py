#!/usr/bin/env python3
"""Prints the headers of the rooms, one a line, relative to the root given."""

import sys
from pathlib import Path

ROOMS = ["base", "gpu", "tokenizer", "scheduler", "parsers", "protocol", "net", "media", "model",
         "executor", "engine", "actors", "glimmer"]

root = Path(sys.argv[1])
for room in ROOMS:
    for header in sorted((root / room).rglob("*.hpp")):
        print(header.relative_to(root))
