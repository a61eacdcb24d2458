"""The tokenizer: its split pattern, its vocabulary, and which tokens of a text carry loss."""

import json
import re
from collections import Counter
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import prompt
import words
from curriculum import STAGES, Conversations

BASE, SPECIALS = 1920, 128
NAMED = {0: prompt.BOS, 1: prompt.END_OF_TEXT, 7: prompt.EOM, 8: prompt.EOT,
         18: "<|finetune_right_pad|>", 22: prompt.START, 23: prompt.MESSAGE,
         80: "<|image_start|>", 81: "<|image_end|>", 82: "<|vid_start|>", 83: "<|vid_end|>",
         87: "<|vid_frame_separator|>", 90: "<|image|>", 91: "<|video|>", 92: "<|patch|>"}
BLANK_WORDS_MAX = 330


def special_name(index):
    return NAMED.get(index, f"<|reserved_special_token_{index}|>")


def sample_texts(count):
    """Conversations of all stages, control tokens taken out."""
    conversations = Conversations(seed=7)
    for number in range(count):
        stage = STAGES[number % len(STAGES)]
        text, _ = conversations.draw(min(stage.until, 1e6) - 1e-6)
        for phrase in (prompt.ABOUT_TOOLS, prompt.CALL_EXAMPLE):
            text = text.replace(phrase, "\n")
        yield re.sub(r"<\|[a-z_]+\|>", "\n", text)


def blank_words(texts):
    """The words of our templates, which take their leading blank; never a word that is copied."""
    copied = set(words.pools())
    counts = Counter(word for text in texts for word in re.findall(r"(?<= )[A-Za-z]+", text))
    frequent = [word for word, count in counts.most_common() if word not in copied and count >= 12]
    return frequent[:BLANK_WORDS_MAX]


def sentence_starts(texts):
    """Capitalised words of our templates that are in no pool."""
    copied = set(words.pools())
    counts = Counter(word for text in texts for word in re.findall(r"\b[A-Z][a-z]+", text))
    return [word for word, count in counts.items() if word not in copied and count >= 12]


def longest_first(items):
    return sorted(items, key=lambda item: (-len(item), item))


def split_pattern(blanked):
    """Phrases of the format, headers, template words with their blank, then words that stand
    alone in every context (camelCase cut), digits, line ends, single characters."""
    phrases = "|".join(re.escape(p).replace("\\\n", r"\n").replace(r"\ ", " ")
                       .replace(r"\-", "-").replace(r"\#", "#").replace(r"\'", "'")
                       for p in longest_first(prompt.PHRASES))
    return (rf"{phrases}| to=(?:(?:self|user)(?![\p{{L}}\p{{N}}_.-]))?"
            rf"| (?:{'|'.join(longest_first(blanked))})(?!\p{{L}})"
            r"|\p{Lu}?\p{Ll}+|\p{L}|\p{N}|\n+|[^\n\p{L}\p{N}]")


def byte_level(text):
    """Text in the alphabet in which every byte is a printable letter."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return level.pre_tokenize_str(text)[0][0]


def subwords(pattern, size):
    """Merges for words in no list, learnt from the pools and from invented words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    material = Conversations(seed=8).tasks
    invented = [material.invent() for _ in range(20_000)]
    tokenizer.train_from_iterator(
        [" ".join(invented), " ".join(words.pools() * 5)],
        trainers.BpeTrainer(vocab_size=size, show_progress=False,
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tokenizer.to_str())["model"]


def build():
    """The whole tokenizer.json as a dictionary."""
    texts = list(sample_texts(4000))
    blanked = blank_words(texts)
    pattern = split_pattern(blanked)
    whole = [*prompt.PHRASES, " to=self", " to=user", " to=", *(f" {word}" for word in blanked),
             *words.pools(), "assistant", "system", "user", "tool", "self", "Glimmer", "\n\n",
             "low", "medium", "high", "xhigh", "string", "integer", "boolean", "number", "array",
             "object", *sentence_starts(texts)]
    whole = list(dict.fromkeys(byte_level(text) for text in whole))
    learnt = subwords(pattern, BASE - len(whole))
    vocabulary = list(dict.fromkeys([*sorted(learnt["vocab"], key=learnt["vocab"].get), *whole]))
    fill = subwords(pattern, BASE - len(whole) + (BASE - len(vocabulary)))
    vocabulary = list(dict.fromkeys([*sorted(fill["vocab"], key=fill["vocab"].get), *whole]))
    vocabulary = vocabulary[:BASE] + [f"<|unused_{n}|>" for n in range(len(vocabulary), BASE)]
    known = set(vocabulary)
    merges = [pair for pair in fill["merges"] if "".join(pair) in known]
    return document(pattern, vocabulary, merges)


def document(pattern, vocabulary, merges):
    plain = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    bos = dict(SpecialToken=dict(id=prompt.BOS, type_id=0))
    return dict(
        version="1.0", truncation=None, padding=None,
        added_tokens=[dict(id=BASE + n, content=special_name(n), **plain) for n in range(SPECIALS)],
        normalizer=None,
        pre_tokenizer=dict(type="Sequence", pretokenizers=[
            dict(type="Split", pattern=dict(Regex=pattern), behavior="Isolated", invert=False),
            dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)]),
        post_processor=dict(
            type="TemplateProcessing", single=[bos, dict(Sequence=dict(id="A", type_id=0))],
            pair=[bos, dict(Sequence=dict(id="A", type_id=0)),
                  dict(SpecialToken=dict(id=prompt.BOS, type_id=1)),
                  dict(Sequence=dict(id="B", type_id=1))],
            special_tokens={prompt.BOS: dict(id=prompt.BOS, ids=[BASE], tokens=[prompt.BOS])}),
        decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None,
                   end_of_word_suffix=None, fuse_unk=False, byte_fallback=False,
                   ignore_merges=True, vocab={word: n for n, word in enumerate(vocabulary)},
                   merges=[list(pair) for pair in merges]))


class Vocabulary:
    """Encodes conversations; the control tokens in them are recognised."""

    def __init__(self, path):
        self.tokenizer = Tokenizer.from_file(str(path))
        self.size = self.tokenizer.get_vocab_size()
        self.start, self.message, self.eot = (
            self.tokenizer.token_to_id(t) for t in (prompt.START, prompt.MESSAGE, prompt.EOT))
        self.assistant = self.tokenizer.token_to_id("assistant")
        self.stops = {self.eot, self.tokenizer.token_to_id(prompt.END_OF_TEXT)}

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_all(self, texts):
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def written(self, ids):
        """True at each token the model has to write itself."""
        marks, inside = [], False
        for place, token in enumerate(ids):
            marks.append(inside)
            if token == self.eot:
                inside = False
            elif token == self.assistant and place and ids[place - 1] == self.start:
                inside = True
        return marks


def write(folder):
    path = Path(folder) / "tokenizer.json"
    path.write_text(json.dumps(build(), ensure_ascii=False) + "\n", encoding="utf-8")
    return path
