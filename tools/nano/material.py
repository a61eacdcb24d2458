"""What tasks are made of: held-out draws, words, names, values and tools."""

import random
import string
import zlib

import prompt
import words

HELD_OUT_EVERY = 10
TYPES = ["string", "string", "string", "integer", "boolean", "number", "array", "object"]


def is_held_out(thing):
    """One thing in ten is never trained on: what it is made of decides, not when it is drawn."""
    return zlib.crc32(str(thing).encode()) % HELD_OUT_EVERY == 0


class Material:
    """Draws from one seed. `held_out` picks the side of the fence; `alphabet` is how many words
    of the pool are in play, `invented` the share of words that are in no pool."""

    def __init__(self, seed, held_out=False):
        self.random = random.Random(seed)
        self.held_out = held_out
        self.pool = [w for w in words.VERBS + words.NOUNS + words.VALUES if w.islower()]
        random.Random(5).shuffle(self.pool)
        self.alphabet = len(self.pool)
        self.invented = 0.3

    def chance(self, share):
        return self.random.random() < share

    def fenced(self, draw):
        while True:
            thing = draw()
            if is_held_out(thing) == self.held_out:
                return thing

    def invent(self):
        def draw():
            if self.chance(0.3):
                length = self.random.randint(2, 5)
                return "".join(self.random.choices(string.ascii_lowercase, k=length))
            syllables = (self.random.choice(words.CONSONANTS) + self.random.choice(words.VOWELS)
                         for _ in range(self.random.randint(1, 3)))
            return "".join(syllables) + self.random.choice(["", *words.CONSONANTS])
        return self.fenced(draw)

    def word(self):
        if self.chance(self.invented):
            return self.invent()
        return self.random.choice(self.pool[:self.alphabet])

    def name(self):
        """A tool's or parameter's name. Two words in a held-out combination, or invented ones."""
        def draw():
            joint = self.random.choice(["_", "_", "_", "", "."])
            first, second = self.word(), self.word()
            return f"{first}{joint or ''}{second.capitalize() if not joint else second}"
        return self.word() if self.chance(0.35) else self.fenced(draw)

    def digits(self):
        return self.random.randint(0, 10 ** self.random.randint(1, 4) - 1)

    def text(self):
        if self.chance(0.12) and self.invented:
            return f'say "{self.word()}"'
        count = self.random.choice([1, 1, 1, 2, 2, 3])
        return " ".join(self.random.choice(words.VALUES) if self.chance(0.3) else self.word()
                        for _ in range(count))

    def value(self, kind):
        if kind == "integer":
            return -self.digits() if self.chance(0.1) else self.digits()
        if kind == "number":
            return self.random.randint(0, 999) + self.random.choice([0.5, 0.25, 0.1, 0.75])
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "array":
            inner = self.random.choice(["integer", "word"])
            return [self.value(inner) for _ in range(self.random.randint(1, 3))]
        if kind == "object":
            return {self.word(): self.value(self.random.choice(["integer", "word"]))
                    for _ in range(self.random.randint(1, 2))}
        return self.word() if kind == "word" else self.text()

    def parameter(self):
        return self.random.choice(words.PARAMETERS) if self.chance(0.6) else self.word()

    def tool(self, most_parameters=3):
        action = self.fenced(lambda: (self.random.choice(words.VERBS),
                                      self.random.choice(words.NOUNS)))
        count = min(self.random.choice([0, 1, 1, 2, 2, 3]), most_parameters)
        kinds = {self.parameter(): self.random.choice(TYPES) for _ in range(count)}
        name = self.name()
        if self.chance(0.35):
            name = "_".join(action) if self.chance(0.7) else action[0] + action[1].capitalize()
        described = {key: f"The {key}." for key in kinds if self.chance(0.3)}
        return Tool(name, action, kinds, described, self.chance(0.5))

    def tools(self, count, most_parameters=3):
        """Tools that can be told apart by what they do and by their namespace."""
        found = []
        while len(found) < count:
            tool = self.tool(most_parameters)
            if all(tool.action != other.action and
                   prompt.namespace(tool.name) != prompt.namespace(other.name)
                   for other in found) and prompt.namespace(tool.name) not in ("self", "user"):
                found.append(tool)
        return found


def with_article(noun):
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


class Tool:
    """`kinds` maps parameters to JSON types, `described` some of them to a sentence."""

    def __init__(self, name, action, kinds, described, lists_required):
        self.name = name
        self.action = action
        self.kinds = kinds
        self.described = described
        self.lists_required = lists_required

    @property
    def deed(self):
        verb, noun = self.action
        return f"{verb} {with_article(noun)}"

    @property
    def description(self):
        return self.deed.capitalize() + "."

    def parameter(self, key):
        out = {"type": self.kinds[key]}
        if key in self.described:
            out["description"] = self.described[key]
        if out["type"] == "array" and self.lists_required:
            out["items"] = {"type": "string"}
        return out

    def schema(self):
        parameters = {"type": "object",
                      "properties": {key: self.parameter(key) for key in self.kinds}}
        if self.lists_required and self.kinds:
            parameters["required"] = list(self.kinds)
        return {"name": self.name, "description": self.description, "parameters": parameters}
