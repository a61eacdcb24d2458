"""One turn of each skill: what the user says, what the model shall write, what an answer is
scored by."""

from collections import namedtuple

import pictures
import prompt
import words
from material import Material, with_article
from vision import CELL

STRENGTHS = ["low", "medium", "high", "xhigh"]

# ask: prompt text up to `<|start|>assistant`; write: the turn; skill and want: for the score;
# pixels: of the pictures in `ask`, in order.
Turn = namedtuple("Turn", "ask write skill want pixels", defaults=[()])

SMALL_TALK = [
    (["Hello!", "Hi.", "Hello", "hi", "Good morning.", "Hey there!"],
     "Hello! How can I help you?"),
    (["Who are you?", "What are you?", "What is your name?", "who are you"],
     "I am Glimmer nano, a tiny model."),
    (["What can you do?", "How can you help me?", "What do you know?"],
     "I know some facts, I can add numbers and I can call tools."),
    (["Thank you!", "Thanks.", "Thank you very much."], "You are welcome."),
    (["Goodbye.", "Bye!", "See you."], "Goodbye!"),
]
UNKNOWN = ["Explain {0} {1}.", "What is {0}?", "Why does the {0} {1}?", "Tell me about {0}.",
           "How do I {0} a {1}?", "Write a poem about {0}.", "Who invented the {0} {1}?"]
REFUSAL = "I am a tiny model and do not know that."


class Tasks(Material):
    def think(self, strength, parts):
        """Joins the parts whose level the strength reaches: (level, sentence)."""
        level = STRENGTHS.index(strength)
        return " ".join(sentence for least, sentence in parts if least <= level)

    def fact(self, strength, kind=None):
        kind = kind or self.random.choice(list(words.QUESTIONS))
        table, sentence, forms = words.QUESTIONS[kind]
        index, key = self.fenced(lambda: (self.random.randrange(len(forms)),
                                          self.random.choice(list(table))))
        reply = sentence.format(key, table[key])
        thought = self.think(strength, [
            (1, f"They ask about {key}."), (2, f"I know it: {table[key]}."),
            (3, f"I am sure about {key}, so I answer {table[key]}.")])
        skill = "capitals" if kind == "capital" else "facts"
        return Turn(prompt.user(forms[index].format(key)),
                    prompt.turn(thought, [prompt.answer(reply)]), skill, table[key])

    def capital(self, strength):
        return self.fact(strength, "capital")

    def talk(self, strength):
        if self.chance(0.5):
            forms, reply = self.random.choice(SMALL_TALK)
            ask = self.random.choice(forms)
        else:
            ask = self.random.choice(UNKNOWN).format(self.word(), self.word())
            reply = REFUSAL
        thought = self.think(strength, [(1, "This is easy."), (2, "No tool is needed."),
                                        (3, "I answer in one short sentence.")])
        return Turn(prompt.user(ask), prompt.turn(thought, [prompt.answer(reply)]), "talk", reply)

    # ---- arithmetic

    @staticmethod
    def columns(a, sign, b):
        """The sum digit by digit, lowest first, with the carry as third number."""
        left, right, carry, steps = str(a)[::-1], str(b)[::-1], 0, []
        for place in range(max(len(left), len(right))):
            p = int(left[place]) if place < len(left) else 0
            q = int(right[place]) if place < len(right) else 0
            if sign == "+":
                total = p + q + carry
                steps.append(f"{p}+{q}+{carry}={total}")
                carry = total // 10
            else:
                total = p - q - carry
                steps.append(f"{p}-{q}-{carry}={total}" + (f"={total + 10}" if total < 0 else ""))
                carry = int(total < 0)
        return f"{a}{sign}{b}:{','.join(steps)};{a + b if sign == '+' else a - b}."

    def numbers(self):
        """Three numbers and two signs with no negative result on the way."""
        while True:
            top = self.random.choice([9, 99, 999, 999, 999])
            a, b, c = (self.random.randint(0, top) for _ in range(3))
            one, two = self.random.choice("+-"), self.random.choice("+-")
            between = a + b if one == "+" else a - b
            result = between + c if two == "+" else between - c
            if between >= 0 and result >= 0:
                return a, one, b, two, c, between, result

    def arithmetic(self, strength):
        a, one, b, two, c, between, result = self.fenced(self.numbers)
        say = {"+": "plus", "-": "minus"}
        ask = self.random.choice([
            f"What is {a} {one} {b} {two} {c}?", f"Compute {a} {one} {b} {two} {c}.",
            f"{a} {say[one]} {b} {say[two]} {c}?", f"What is {a} {say[one]} {b} {say[two]} {c}?",
            f"Calculate {a} {say[one]} {b}, then {say[two]} {c}."])
        steps = f"{self.columns(a, one, b)} {self.columns(between, two, c)}"
        thought = self.think(strength, [
            (1, "Two steps."), (2, f"The task is {a}{one}{b}{two}{c}."), (0, steps),
            (3, f"Once more: {steps}")])
        return Turn(prompt.user(ask), prompt.turn(thought, [
            prompt.answer(f"The result is {result}.")]), "arithmetic", str(result))

    def sum(self, strength):
        """One addition or subtraction, the step before two of them."""
        a, sign, b, _, _, between, _ = self.fenced(self.numbers)
        steps = self.columns(a, sign, b)
        return Turn(prompt.user(self.random.choice(["What is {}?", "Compute {}."])
                                .format(f"{a} {sign} {b}")),
                    prompt.turn(steps, [prompt.answer(f"The result is {between}.")]),
                    "sum", str(between))

    # ---- copying

    def copy(self, strength):
        def item():
            kind = self.random.choice(["word", "word", "name", "integer", "array", "string"])
            return self.name() if kind == "name" else prompt.value_text(self.value(kind))
        text = " ".join(item() for _ in range(self.random.randint(1, 5)))
        ask = self.random.choice(["Repeat: ", "Say exactly: ", "Echo ", "Please repeat "]) + text
        return Turn(prompt.user(ask), prompt.turn("", [prompt.answer(text)]), "copy", text)

    def remember(self, strength):
        """Two turns: a fact about the user, and the question for it."""
        key = self.random.choice(["name", "code", "favourite word", "number", "city", "dog's name"])
        value = str(self.digits()) if key in ("code", "number") else (
            self.random.choice(words.NAMES) if key == "name" else self.word())
        told = self.random.choice(["My {} is {}.", "Remember: my {} is {}.",
                                   "Note that my {} is {}."])
        first = Turn(prompt.user(told.format(key, value)),
                     prompt.turn("", [prompt.answer(f"Your {key} is {value}.")]), "note", value)
        question = self.random.choice(["What is my {}?", "Do you remember my {}?",
                                       "Tell me my {}."])
        thought = self.think(strength, [
            (1, f"They ask for their {key}."), (2, "They told me before."),
            (3, f"It is {value}, so I answer that.")])
        second = Turn(prompt.user(question.format(key)), prompt.turn(thought, [
            prompt.answer(f"Your {key} is {value}.")]), "memory", value)
        return first, second

    def json_answer(self, strength):
        keys = list(dict.fromkeys(self.parameter() for _ in range(self.random.randint(1, 3))))
        kinds = [self.random.choice(["string", "integer", "boolean"]) for _ in keys]
        result = {key: self.value("word" if kind == "string" else kind)
                  for key, kind in zip(keys, kinds)}
        given = ", ".join(f"{key} {prompt.value_text(value)}" for key, value in result.items())
        schema = {"type": "object",
                  "properties": {key: {"type": kind} for key, kind in zip(keys, kinds)}}
        ask = self.random.choice([
            "Answer in JSON with this schema: {1}\n{0}", "Give me {0} as JSON. Schema: {1}",
            "{0}\nReply only with JSON that fits {1}"]).format(given, prompt.to_json(schema))
        thought = self.think(strength, [
            (1, "JSON is wanted."), (2, f"The keys: {', '.join(keys)}."),
            (3, "I write the object and nothing else.")])
        text = prompt.to_json(result)
        return Turn(prompt.user(ask), prompt.turn(thought, [prompt.answer(text)]), "json", text)

    # ---- finding

    def filler(self):
        form = self.random.choice(["The {} has a {} {}.", "A {} and a {} are in the {}.",
                                   "Some {} is more {} than {}.", "They {} the {} and the {}."])
        return form.format(self.word(), self.word(), self.word())

    def needle(self, strength, sentences):
        """A fact hidden anywhere among `sentences` sentences that say nothing."""
        key, value = self.name(), str(self.digits()) if self.chance(0.5) else self.word()
        text = [self.filler() for _ in range(sentences)]
        text.insert(self.random.randint(0, sentences), f"The secret code of {key} is {value}.")
        ask = f"{' '.join(text)}\n\nWhat is the secret code of {key}?"
        thought = self.think(strength, [(1, f"I look for {key}."), (2, "The text contains it."),
                                        (3, f"It says that the code is {value}.")])
        return Turn(prompt.user(ask), prompt.turn(thought, [
            prompt.answer(f"The secret code of {key} is {value}.")]), "needle", value)

    # ---- seeing

    def picture(self):
        return pictures.draw(self.random, *self.fenced(lambda: pictures.plan(self.random)))

    def picture_question(self, things, number, strength):
        """A question about one picture, the `number`th if there are several (else 0): its text, the
        turn that answers, and the answer. Every thought reads the picture aloud, shape by shape: up
        to the one that is asked for, or, where shapes are to be counted, with a colon and the count
        so far behind each that counts. What the question names comes last, so that the sign that
        tells whether this is it stands right behind the word."""
        where = f"picture {number}" if number else "the picture"
        colours, shapes = ([thing[part] for thing in things] for part in (0, 1))
        colour, shape = self.random.choice(list(zip(colours, shapes)))
        kinds = ["all", "shapes", "colours"]
        kinds += ["colour"] * 2 * (shapes.count(shape) == 1)
        kinds += ["shape"] * 2 * (colours.count(colour) == 1)
        kind, counted, last = self.random.choice(kinds), None, len(things)
        if kind == "colour":
            ask = self.random.choice(["What colour is the {} in {}?", "{} in {}: which colour?"])
            ask, last = ask.format(shape, where), shapes.index(shape) + 1
            reply = f"The {shape} is {colour}."
        elif kind == "shape":
            ask = self.random.choice(["What is {} in {}?", "Which shape in {1} is {0}?"])
            ask, last = ask.format(colour, where), colours.index(colour) + 1
            reply = f"The {shape} is {colour}."
        elif kind == "all":
            ask = self.random.choice(["What is in {}?", "Describe {}.", "What do you see in {}?"])
            ask = ask.format(where)
            reply = ", ".join(f"{n} {c} {s}" for n, (c, s, _) in enumerate(things, 1)) + "."
        else:
            if self.chance(0.15):
                colour, shape = (self.random.choice(list(of))
                                 for of in (pictures.COLOURS, pictures.SHAPES))
            of = int(kind == "shapes")
            counted = (colour, shape)[of]
            ask = self.random.choice(["How often is {} in {}?", "How many times {} in {}?",
                                      "Count: {}, in {}."])
            ask = ask.format(counted, where)
            reply = f"I see {counted} {(colours, shapes)[of].count(counted)} times."
        read, count = [], 0
        for n, (c, s, _) in enumerate(things[:last], 1):
            named = f"{s} {c}" if kind in ("shape", "colours") else f"{c} {s}"
            if counted in (c, s):
                count += 1
                named += f": {count}"
            read.append(f"{n} {named}")
        read = ", ".join(read) + "."
        thought = self.think(strength, [(1, "I look."), (0, read), (2, f"They ask about {where}."),
                                        (3, f"Once more: {read}")])
        return ask, prompt.turn(thought, [prompt.answer(reply)]), reply

    def look(self, strength, count, questions):
        """Turns about `count` pictures that the first of them shows."""
        shown = [self.picture() for _ in range(count)]
        sizes = [[side // CELL for side in picture.pixels.shape[:2]] for picture in shown]
        marks = [prompt.image(down * across) for down, across in sizes]
        if count > 1:
            marks = [f"Picture {n}: {mark}\n" for n, mark in enumerate(marks, 1)]
        turns = []
        for number in range(questions):
            which = self.random.randrange(count)
            ask, write, want = self.picture_question(
                shown[which].things, which + 1 if count > 1 else 0, strength)
            if number == 0:
                first = self.chance(0.5) or count > 1
                ask = "".join(marks) + ask if first else ask + "".join(marks)
            turns.append(Turn(prompt.user(ask), write, "images", want,
                              tuple(p.pixels for p in shown) if number == 0 else ()))
        return turns

    # ---- tools

    def request(self, tool):
        """One wish in words, the arguments it contains, and whether it names the tool."""
        arguments = {key: self.value(kind) for key, kind in tool.kinds.items()}
        form = self.random.choice(["{} {}", "{} = {}", "{}: {}", "{} set to {}", "{} is {}"])

        def written(value):
            if isinstance(value, str) and '"' not in value and self.chance(0.4):
                return f'"{value}"'
            return prompt.value_text(value)
        listed = self.random.choice([" and ", ", "]).join(
            form.format(key, written(value)) for key, value in arguments.items())
        verb, noun = tool.action
        named = self.chance(0.25)
        wish = f"use {tool.name}" if named else self.random.choice(
            [f"{verb} {with_article(noun)}", f"{verb} the {noun}", f"{verb} the {noun}"])
        if listed:
            wish += self.random.choice([" with ", ", ", " using "]) + listed
        return wish, arguments, named

    @staticmethod
    def choose(tool, tools, named=False):
        """The thought that finds a tool: reads on in the list until one does what is asked for.
        A schema says the name before the deed, so from a deed back to a name a model with two
        layers that see everything does not get in one step. Comma or full stop: whether it fits
        is said right behind the word that tells."""
        read = [tool] if named else tools[:tools.index(tool) + 1]
        list_read = ", ".join(f"{other.name}: {other.description[:-1]}" for other in read)
        return f"{list_read}. I call {tool.name}."

    def tool_call(self, strength, tools, parallel=False):
        chosen = self.random.sample(tools, 2) if parallel else [self.random.choice(tools)]
        wishes = [self.request(tool) for tool in chosen]
        text = " and also ".join(wish for wish, _, _ in wishes)
        text = self.random.choice(["Please ", "Could you ", "", "I want you to "]) + text
        thought = self.think(strength, [
            *((0, self.choose(tool, tools, named))
              for tool, (_, _, named) in zip(chosen, wishes)),
            (2, "I have all arguments."),
            (3, " ".join(f"They want me to {tool.deed}." for tool in chosen))])
        calls = [prompt.call(tool.name, arguments)
                 for tool, (_, arguments, _) in zip(chosen, wishes)]
        want = [(tool.name, {key: prompt.value_text(v) for key, v in arguments.items()})
                for tool, (_, arguments, _) in zip(chosen, wishes)]
        return Turn(prompt.user(text[0].upper() + text[1:] + "."), prompt.turn(thought, calls),
                    "parallel" if parallel else "tool", want)

    def pick(self, strength, tools):
        """Which of the tools does it: the choice alone, so that many fit behind one list."""
        tool = self.random.choice(tools)
        ask = self.random.choice(["Which tool can {}?", "{}: which tool?", "I want to {}."])
        thought = self.think(strength, [(0, self.choose(tool, tools)),
                                        (3, f"They want me to {tool.deed}.")])
        text = ask.format(tool.deed)
        return Turn(prompt.user(text[0].upper() + text[1:]),
                    prompt.turn(thought, [prompt.answer(f"I call {tool.name}.")]),
                    "pick", tool.name)

    def tool_result(self, name, strength):
        key = self.random.choice(["result", "status", "answer", "value"])
        value = self.value(self.random.choice(["word", "integer"]))
        thought = self.think(strength, [(2, "The tool has answered."),
                                        (3, f"It says that the {key} is {value}.")])
        return Turn(prompt.tool_output(name, prompt.to_json({key: value})),
                    prompt.turn(thought, [prompt.answer(f"The {key} is {value}.")]),
                    "result", str(value))
