#!/usr/bin/env python3
"""Holds the line: floors, sizes, words and places, as docs/architecture.md states them.

Usage: tidy.py ROOT        check the tree, print each slip, exit 1 if there is one
       tidy.py --self-test feed each rule one bad example and see that it is caught
"""

import re
import subprocess
import sys
from pathlib import Path

# Which rooms a room may include. Floors go down; leaves of one floor never see one another.
FLOORS = [
    ["base"],
    ["gpu", "tokenizer", "scheduler", "parsers", "protocol", "net", "media"],
    ["model"],
    ["executor"],
    ["engine"],
    ["actors"],
    ["glimmer"],
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# A leaf sees base alone; joining net and protocol is the actors' privilege.
FORBIDDEN = {("engine", "net"), ("executor", "net"), ("model", "net"), ("executor", "protocol"),
             ("model", "protocol"), ("executor", "parsers"), ("executor", "tokenizer"),
             ("model", "scheduler"), ("model", "parsers"), ("model", "tokenizer")}

# Third parties and the only places that may include them.
OWNED = {
    r"simdjson": ["base/json.cpp"],
    r"uv\.h": ["net/"],
    r"caf/": ["actors/", "glimmer/", "tests/actors/", "tests/glimmer/", "tests/e2e/"],
    r"(oneapi/)?tbb": ["gpu/cpu/"],
    r"pcre2": ["tokenizer/", "tests/tokenizer/", "tools/"],
    r"cuda": ["gpu/cuda/", "gpu/kernels/"],
    r"hip/": ["gpu/hip/", "gpu/kernels/"],
}

LINES_PER_FILE = 500
LINES_PER_FUNCTION = 70
COLUMNS = 100
ARGUMENTS = 6
LINES_PER_SHELL = 150

MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
REAL_TIME = "actors/real_clock.hpp"  # where real time is read, and let pass
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|\btime\.sleep\(")
PATHS = re.compile(r"/(work|root|farm)/")
WORDS = re.compile(r"(^|[_/])(utils?|helpers?|common|misc|manager)([_./]|$)")
PLAIN = re.compile(
    r"^(?:const )?(?:std::)?(?:u?int(?:8|16|32|64)?_t|int|unsigned|long|size_t|float|double|bool|"
    r"string_view|string|const string)&?$")


def strip(text):
    """Blanks out comments, strings and character literals, keeping line breaks."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    pattern = (r'R"([^(\s]*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
               r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")
    return re.sub(pattern, blank, text, flags=re.S)


def functions(code):
    """Yields (line, head, lines of body) of every function defined outside another."""
    stack, start, line = [], 0, 1
    for i, c in enumerate(code):
        if c == "\n":
            line += 1
        elif c == ";" and "(" not in [k for k, *_ in stack]:
            start = i + 1
        elif c == "{":
            head = code[start:i]
            kind = scope_kind(head) if not any(k == "f" for k, *_ in stack) else "b"
            stack.append((kind, head, line))
            start = i + 1
        elif c == "}" and stack:
            kind, head, opened = stack.pop()
            start = i + 1
            if kind == "f":
                yield opened, head, line - opened


def scope_kind(head):
    head = re.sub(r"\btemplate\s*<[^{}]*?>(?=\s*(?:class|struct|[\w:]))", "", head)
    if re.search(r"\b(namespace|class|struct|union|enum|concept)\b[^()]*$", head):
        return "t"
    return "f" if re.search(r"\)[^()=]*$|\)\s*(?:noexcept)?\s*(?:->.*)?$|\)\s*:\s", head, re.S) else "b"


def arguments(head):
    """The parameter list of a function's head, split at top-level commas; None if unclear."""
    head = re.split(r"\)\s*(?:const|noexcept|override|final|\s)*:\s", head)[0] + ")"
    match = re.search(r"(operator\s*\(\)|[\w~>\]=+\-*/<]+)\s*\(", head)
    if not match:
        return None
    depth, item, items = 0, "", []
    for c in head[match.end():]:
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            if depth == 0:
                break
            depth -= 1
        if c == "," and depth == 0:
            items.append(item.strip())
            item = ""
        else:
            item += c
    return [a for a in items + [item.strip()] if a and a != "void"]


def plain_type(argument):
    argument = re.sub(r"\s*=.*$", "", argument, flags=re.S).strip()
    match = re.match(r"^(.*?)\s+(\w+)$", argument, re.S)
    kind = match.group(1).strip() if match else argument
    return kind if PLAIN.match(kind) else None


def check_shape(path, text):
    lines = text.split("\n")
    if len(lines) - 1 > LINES_PER_FILE:
        yield f"{path}: {len(lines) - 1} lines; at most {LINES_PER_FILE}"
    if path.startswith("actors/") and path.endswith(".cpp") and len(lines) - 1 > LINES_PER_SHELL:
        yield f"{path}: a shell of {len(lines) - 1} lines; at most {LINES_PER_SHELL}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns; at most {COLUMNS}"
    for line, head, body in functions(strip(text)):
        if body > LINES_PER_FUNCTION:
            yield f"{path}:{line}: a function of {body} lines; at most {LINES_PER_FUNCTION}"
        if re.search(r"\boverride\b", head):
            continue  # whoever declared it first answers for its arguments
        items = arguments(head) or []
        if len(items) > ARGUMENTS:
            yield f"{path}:{line}: {len(items)} arguments; at most {ARGUMENTS}"
        kinds = [plain_type(a) for a in items]
        for first, second in zip(kinds, kinds[1:]):
            if first and first == second:
                yield f"{path}:{line}: two adjacent arguments of type {first}"


def check_words(path, text):
    if WORDS.search(path) and "block_manager" not in path:
        yield f"{path}: a name that says nothing (util, helper, common, misc, manager)"
    for number, line in enumerate(text.split("\n"), 1):
        for rule, what in ((MARKERS, "a leftover marker"), (SLEEPS, "a sleep"),
                           (PATHS, "a path of one machine")):
            if rule is SLEEPS and path == REAL_TIME:
                continue
            if rule.search(line) and not path.startswith("tests/tidy/"):
                yield f"{path}:{number}: {what}"


def check_includes(path, text):
    room = path.split("/")[0]
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        quote, target = match.groups()
        place = f"{path}:{number}"
        for owner, folders in OWNED.items():
            if quote == "<" and re.match(owner, target) and not path.startswith(tuple(folders)):
                yield f"{place}: <{target}> belongs to {', '.join(folders)}"
        if target.startswith("fmt/") and path.endswith(".hpp"):
            yield f"{place}: fmt appears in .cpp files only"
        if quote == '"':
            yield from check_floor(place, room, target)


def check_floor(place, room, target):
    other = target.split("/")[0]
    if room not in FLOOR or other == room:
        return
    if other not in FLOOR:
        yield f'{place}: "{target}" is no room; include from the root'
    elif FLOOR[other] >= FLOOR[room] or (room, other) in FORBIDDEN:
        yield f"{place}: {room} must not include {other}: includes only go down"


def check_header(path, text):
    if path.endswith((".hpp", ".cuh")) and "#pragma once" not in text:
        yield f"{path}: no #pragma once"


def check_place(root, paths):
    """Every source stands in the meson.build of its folder (or of a folder above it)."""
    for path in paths:
        if not path.endswith((".cpp", ".cu")) or path.startswith("tests/e2e/embed/"):
            continue
        folder = (root / path).parent
        name = Path(path).name
        while folder != root.parent:
            build = folder / "meson.build"
            inside = str((root / path).relative_to(folder))
            if build.exists() and re.search(rf"'(?:[\w/]*/)?{re.escape(inside)}'", build.read_text()):
                break
            folder = folder.parent
        else:
            yield f"{path}: no meson.build names {name}"


def check_file(path, text):
    if path.endswith((".cpp", ".hpp", ".cu", ".cuh")):
        yield from check_shape(path, text)
        yield from check_includes(path, text)
        yield from check_header(path, text)
    yield from check_words(path, text)


SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".py", ".sh", ".build", ".md", ".h", ".c")


def check_tree(root):
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True, text=True)
    if listing.returncode == 0:
        paths = [p for p in listing.stdout.split("\0") if p]
    else:
        paths = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    paths = sorted(p for p in paths if (root / p).is_file() and
                   (p.endswith(SOURCES) or p in ("dev", ".ci/run")))
    for path in paths:
        yield from check_file(path, (root / path).read_text(encoding="utf-8"))
    yield from check_place(root, paths)


def self_test():
    long_body = "int f() {\n" + "  g();\n" * 80 + "}\n"
    bad = {
        "floor": ("base/a.hpp", '#pragma once\n#include "model/config.hpp"\n'),
        "leaf": ("parsers/a.hpp", '#pragma once\n#include "tokenizer/bpe.hpp"\n'),
        "owner": ("scheduler/a.cpp", "#include <caf/all.hpp>\n"),
        "fmt": ("base/a.hpp", "#pragma once\n#include <fmt/core.h>\n"),
        "pragma": ("base/a.hpp", "int a();\n"),
        "long function": ("base/a.cpp", long_body),
        "long file": ("base/a.cpp", "int a;\n" * 501),
        "long line": ("base/a.cpp", "//" + "x" * 100 + "\n"),
        "shell": ("actors/a.cpp", "int a;\n" * 151),
        "arguments": ("base/a.cpp", "void f(A a, B b, C c, D d, E e, F g, G h) {}\n"),
        "adjacent": ("base/a.cpp", "void f(int a, int b) {}\n"),
        "marker": ("base/a.cpp", "// TO" "DO: later\n"),
        "sleep": ("tests/base/a.cpp", "std::this_thread::sleep_for(x);\n"),
        "machine path": ("docs/a.md", "see /wo" "rk/main\n"),
        "word": ("base/string_util.hpp", "#pragma once\n"),
    }
    missed = [name for name, (path, text) in bad.items() if not list(check_file(path, text))]
    fine = "int f(int a, float b) {\n  if (a) {\n    g(a, b);\n  }\n  return 0;\n}\n"
    wrong = list(check_file("base/a.cpp", fine))
    for name in missed:
        print(f"tidy misses: {name}")
    for slip in wrong:
        print(f"tidy blames good code: {slip}")
    return 1 if missed or wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    slips = list(check_tree(Path(sys.argv[1]).resolve()))
    print("\n".join(slips))
    print(f"{len(slips)} slips")
    return 1 if slips else 0


if __name__ == "__main__":
    sys.exit(main())
