"""Which conversations are drawn after how many tokens: what is easy, and what others build on,
comes first."""

from collections import namedtuple

import prompt
from tasks import STRENGTHS, Tasks

Stage = namedtuple("Stage", "name until alphabet invented most_tools most_parameters filler "
                            "weights")

# `until` in million tokens, `filler` the most sentences around a needle. Copying needs an
# alphabet that grows: matched from the start, two thousand rare words are nearly invisible to
# the optimiser.
STAGES = [
    Stage("first words", 0.4, 48, 0.0, 1, 0, 0, dict(capital=5, fact=1, talk=1, copy=2)),
    Stage("copying", 0.8, 128, 0.05, 1, 1, 0,
          dict(copy=4, capital=2, fact=2, talk=1, remember=3, tool=1, result=1)),
    Stage("one tool", 1.5, 999, 0.1, 2, 2, 8,
          dict(copy=2, capital=2, fact=1, talk=1, remember=2, tool=5, pick=3, result=2, sum=2,
               no_tool=1, needle=1)),
    Stage("tools", 4.0, 999, 0.2, 4, 3, 20,
          dict(copy=2, capital=1, fact=1, talk=1, remember=2, tool=6, pick=3, result=2, sum=1,
               arithmetic=3, no_tool=1, parallel=1, json=1, needle=1)),
    Stage("everything", 19.2, 999, 0.3, 6, 3, 170,
          dict(copy=1, capital=0.7, fact=0.7, talk=0.7, remember=1, tool=5, pick=3, result=1,
               arithmetic=6, no_tool=1, parallel=3, json=1.5, needle=0.5)),
    Stage("what is hardest", 22.0, 999, 0.3, 6, 3, 170,
          dict(copy=1, capital=0.7, fact=0.7, talk=0.7, remember=1, tool=6, pick=1, result=1,
               arithmetic=6, no_tool=1, parallel=6, json=1.5, needle=0.5)),
    Stage("all of it", 25.5, 999, 0.3, 6, 3, 170,
          dict(copy=1.5, capital=2, fact=1.5, talk=1, remember=1, tool=5, pick=0.5, result=0.5,
               arithmetic=6, no_tool=1, parallel=4, json=1.5, needle=1)),
    Stage("and pictures", 35.2, 999, 0.3, 6, 3, 170,
          dict(copy=1.5, capital=1.5, fact=1, talk=1, remember=1, tool=4, pick=0.5, result=0.5,
               arithmetic=6, no_tool=1, parallel=4, json=1.5, needle=1, picture=10)),
    Stage("words nobody knows", 41.0, 999, 0.6, 6, 3, 170,
          dict(copy=3, capital=0.8, fact=0.8, talk=0.8, remember=2, tool=5, pick=0.5, result=0.5,
               arithmetic=4, no_tool=1, parallel=6, json=1.5, needle=0.8, picture=4)),
    Stage("once more all of it", 1e9, 999, 0.3, 6, 3, 170,
          dict(copy=1.5, capital=1, fact=1, talk=1, remember=1.5, tool=5, pick=0.5, result=0.5,
               arithmetic=5, no_tool=1, parallel=5, json=1, needle=1, picture=4)),
]
TOOL_SKILLS = ("tool", "pick", "result", "no_tool", "parallel")
# What follows a list of tools again and again: choosing is learnt per choice, not per list.
CHOICES = dict(tool=4, pick=2, parallel=4, result=1)
SYSTEM_TEXTS = ["You are helpful.", "Answer briefly.", "You are a careful assistant.",
                "You are a helpful AI assistant."]


def stage_at(million_tokens):
    return next(stage for stage in STAGES if million_tokens < stage.until)


class Conversations:
    """Draws whole conversations: a list of turns and the text in front of them; without
    `pictures` only such as need no eyes."""

    def __init__(self, seed, held_out=False, pictures=True):
        self.pictures = pictures
        self.tasks = Tasks(seed, held_out)
        self.random = self.tasks.random

    def system_text(self):
        if self.random.random() < 0.75:
            year, month, day = (self.random.randint(*span) for span in ((24, 29), (1, 12), (1, 28)))
            return f"{prompt.DEFAULT_SYSTEM}20{year}-{month:02d}-{day:02d}."
        return self.random.choice(SYSTEM_TEXTS)

    def turns(self, skill, strength, tools, filler):
        tasks = self.tasks
        if skill == "remember":
            return list(tasks.remember(strength))
        if skill == "picture":
            return tasks.look(strength, self.random.choice([1, 1, 2, 3]),
                              self.random.randint(1, 4))
        if skill == "needle":
            return [tasks.needle(strength, filler)]
        if skill == "pick":
            return [tasks.pick(strength, tools)]
        if skill in ("tool", "parallel"):
            return [tasks.tool_call(strength, tools, parallel=skill == "parallel")]
        if skill == "result":
            first = tasks.tool_call(strength, tools)
            return [first, tasks.tool_result(first.want[0][0], strength)]
        makers = {"capital": tasks.capital, "fact": tasks.fact, "no_tool": tasks.fact,
                  "talk": tasks.talk, "copy": tasks.copy, "sum": tasks.sum,
                  "arithmetic": tasks.arithmetic, "json": tasks.json_answer}
        turn = makers[skill](strength)
        return [turn._replace(skill="no_tool")] if skill == "no_tool" else [turn]

    def of_skills(self, skills, strength, stage):
        """-> (head, turns) of a conversation that exercises `skills` in this order."""
        self.tasks.alphabet, self.tasks.invented = stage.alphabet, stage.invented
        tools = []
        if any(skill in TOOL_SKILLS for skill in skills):
            least = 2 if "parallel" in skills else 1
            count = max(least, self.random.randint(1, stage.most_tools))
            tools = self.tasks.tools(count, stage.most_parameters)
        head = prompt.BOS + prompt.system(self.system_text(), strength,
                                          [tool.schema() for tool in tools])
        filler = self.random.randint(0, stage.filler)
        turns = [turn for skill in skills for turn in self.turns(skill, strength, tools, filler)]
        return head, turns

    def draw(self, million_tokens):
        """-> a training conversation as one text, and the pixels of its pictures."""
        stage = stage_at(million_tokens)
        names, weights = zip(*((name, weight) for name, weight in stage.weights.items()
                               if self.pictures or name != "picture"))
        skills = self.random.choices(names, weights, k=self.random.choice([1, 2, 2, 3, 4]))
        with_tools = [skill for skill in skills if skill in TOOL_SKILLS]
        if with_tools and self.random.random() < 0.6:
            more = self.random.randint(0, 7) if million_tokens > 1.5 else 0
            skills = with_tools + self.random.choices(list(CHOICES), CHOICES.values(), k=more)
        for alone in ("needle", "picture"):  # long, and one set of pictures a conversation
            if alone in skills:
                skills = [alone]
        head, turns = self.of_skills(skills, self.random.choice(STRENGTHS), stage)
        text = head + "".join(turn.ask + prompt.GENERATE + turn.write for turn in turns)
        return text, [pixels for turn in turns for pixels in turn.pixels]
