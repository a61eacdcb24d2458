"""Writes the model card from measured scores."""

GOALS = {"capitals": 0.97, "facts": 0.97, "arithmetic": 0.90, "tool": 0.95, "parallel": 0.90,
         "result": 0.90, "memory": 0.90, "no_tool": 0.90, "json": 0.90, "needle": 0.95,
         "images": 0.90}
FORMAT_GOAL, EMITTED_GOAL = 0.995, 4.0
NAMES = {
    "capitals": "capitals, phrased freely", "facts": "other facts of the small world",
    "talk": "greetings, and \"I do not know that\"", "copy": "repeat the user's words",
    "arithmetic": "two-step arithmetic below 1000", "tool": "tool call with all arguments",
    "parallel": "two calls in one turn", "result": "a tool's result in the answer",
    "memory": "what the user said two turns ago", "no_tool": "no call when none is needed",
    "json": "JSON answer for a schema", "needle": "a fact hidden in up to 2k tokens of filler",
    "images": "shapes, colours, counts up to 4 in 1 to 3 pictures"}

HEAD = """---
license: apache-2.0
---

# glimmer-nano

A very small Muse-Glimmer: the architecture, prompt format and output format of the 30B model in
5 million parameters, so that a serving engine can be tested for behaviour and not only for bits.
It lives in the repository, is trained by `tools/nano` from nothing but generated conversations,
and knows a tiny closed world. It is of no use as an assistant.

| | |
|---|---|
| text decoder | hidden 192, MLP 576, 8 layers (S S S F S S S F), 8/2 heads of 32, window 128 |
| mechanisms | embedding norm, QK norm, element gate, centred and post norms, NoPE global layers, \
output multiplier, softcap |
| vocabulary | 1920 byte-level BPE tokens + 128 specials with the release's indices |
| vision tower, projector | hidden 48, MLP 280, 6 layers (W W W F W F), windows of 4 x 4 patches; \
192 to 128 to 192 |
| draft head | `assistant/`: DFlash, 4 layers, block of 16, taps behind layers 1, 3 and 5 |
| positions | 8192 admitted; trained on conversations of up to 2,400 tokens |
"""

REST = """
## How it was made

`python tools/nano/make.py` writes everything in this folder. Muon on the layer matrices, AdamW on
embedding, head and norms, float32 weights, bfloat16 or float32 products, loss on the assistant's tokens
only; the exported weights are a running average. The curriculum (tools/nano/curriculum.py) begins
with facts and copying from a small alphabet that grows, then one tool, several tools, everything.
The fixed phrases of the format (tool preamble, markup) are single tokens, and words are split
alike in every context, so a copied word is the same token wherever it stands.

To choose among tools the model reads their list in its thought ("a: Sort a box, b: Open a door. I
call b.") at every strength. In a schema the name stands before what the tool does, and what eight
layers, two of which see everything, learn with ease is to look up what followed something, not what
preceded it: without the thought it was still guessing after 13 million tokens.

Imitation leaves a model as unsure as its texts are varied, unlike the release, which was trained on
outcomes. So all logits are doubled at the export (`output_multiplier` and the softcap in
`config.json`): at temperature 1 this model samples as the trained weights would at 1/2.

Pictures have sides of 56 to 112 pixels, in steps of 28, on a dull ground, and one to four circles,
squares, triangles, crosses or rings in eight colours; the model knows no others. The tower learnt
alone to point where the decoder's embedding has the words for what it sees; then the decoder
learnt to read it. A thought reads the picture aloud, shape by shape.

Two calls in one turn copy twice as much as one: what is wrong is mostly one piece of an invented
word.

One thing in ten (what a picture shows, question and country, numbers of a sum, verb and noun of a
tool, two-word names, invented words) is held out by a hash of what it is made of and appears in the
scores only.

To train on: `python tools/nano/make.py train cool export draft golden check score card`. Training goes on from
the weights here; the optimizer warms up again within some forty steps.
"""


def percent(share):
    return f"{100 * share:.1f} %"


def reached(value, goal):
    return "yes" if value >= goal else f"no, by {100 * (goal - value):.1f} points"


def table(scores):
    count = scores["count"]
    lines = [f"Published sampling (temperature 1, top-k 64, top-p 0.95), {count} held-out prompts "
             "per row. \"Greedy\" is the share of turns whose every token was the likeliest.", "",
             "| skill | right | greedy | format | goal | reached |", "|---|---|---|---|---|---|"]
    for skill, name in NAMES.items():
        row, forced = scores["sampled"][skill], scores["forced"][skill]
        goal = GOALS.get(skill)
        lines.append(
            f"| {name} | {percent(row['right'])} | {percent(forced['whole'])} | "
            f"{percent(row['format'])} | {percent(goal) if goal else ''} | "
            f"{reached(row['right'], goal) if goal else ''} |")
    lines.append(f"| format, all {scores['format_turns']} turns | | | {percent(scores['format'])} "
                 f"| {percent(FORMAT_GOAL)} | {reached(scores['format'], FORMAT_GOAL)} |")
    emitted = scores["emitted_per_round"]
    lines.append(f"| draft head: tokens emitted per round, greedy | {emitted:.2f} | | | "
                 f"{EMITTED_GOAL:.1f} | {'yes' if emitted >= EMITTED_GOAL else 'no'} |")
    lengths = ", ".join(f"{name} {value:.0f}" for name, value in scores["reasoning"].items())
    return lines + ["", f"Mean reasoning length in characters over these prompts: {lengths}."]


def write(folder, scores):
    lines = [HEAD, f"## Scores after {scores['tokens_seen'] / 1e6:.2f} million tokens", "",
             *table(scores)]
    (folder / "README.md").write_text("\n".join(lines) + "\n" + REST, encoding="utf-8")
