#!/usr/bin/env python3
"""The prefix cache through the whole server: same bits, right counts, nothing left behind."""

import json
import unittest

from daemon import Daemon, chat

BLOCK = 16


def answer_of(daemon, **fields):
    """(choices without what differs from run to run, usage) of a unary answer."""
    status, body = daemon.post("/v1/chat/completions", chat(**fields))
    assert status == 200, body
    answer = json.loads(body)
    return answer["choices"], answer["usage"]


def streamed(daemon, **fields):
    """(content and reasoning, last usage) of a stream."""
    fields |= {"stream": True, "stream_options": {"include_usage": True}}
    _, body = daemon.post("/v1/chat/completions", chat(**fields))
    text, usage = "", None
    for line in body.splitlines():
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line[6:])
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            text += choice["delta"].get("reasoning") or ""
            text += choice["delta"].get("content") or ""
    return text, usage


def cached(usage):
    return usage["prompt_tokens_details"]["cached_tokens"]


class CacheTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--api-key", "sesame", "--api-server-count", "2")
        cls.daemon.fields["Authorization"] = "Bearer sesame"
        cls.plain = Daemon("--no-enable-prefix-caching")

    @classmethod
    def tearDownClass(cls):
        for daemon in (cls.daemon, cls.plain):
            code, log = daemon.end()
            assert code == 0, log

    def tearDown(self):
        while self.daemon.metric("vllm:num_requests_running"):
            pass
        while self.daemon.metric("glimmer_kv_blocks", state="active"):
            pass

    def test_ten_turns_compute_only_what_is_new_and_give_the_same_bits(self):
        messages, last_prompt = [], 0
        for turn in range(10):
            messages.append({"role": "user", "content": f"Turn {turn}: " + "more words " * 30})
            fields = {"messages": messages, "seed": turn, "max_tokens": 24,
                      "logprobs": True, "top_logprobs": 2}
            choices, usage = answer_of(self.daemon, **fields)
            expected, plain_usage = answer_of(self.plain, **fields)
            self.assertEqual(choices, expected)
            self.assertEqual(cached(plain_usage), 0)
            self.assertEqual(usage["prompt_tokens"], plain_usage["prompt_tokens"])
            if turn > 0:  # the template closes the last prompt's open turn anew: a block at most
                self.assertGreaterEqual(cached(usage), last_prompt - BLOCK - BLOCK)
                self.assertLess(cached(usage), usage["prompt_tokens"])
            last_prompt = usage["prompt_tokens"]
            messages.append({"role": "assistant",
                             "content": choices[0]["message"]["content"] or "Yes."})

    def test_streams_and_choices_tell_the_same_hit(self):
        messages = [{"role": "user", "content": "a prompt of some length " * 12}]
        first = answer_of(self.daemon, messages=messages)
        again = answer_of(self.daemon, messages=messages)
        self.assertEqual(first[0], again[0])
        self.assertGreater(cached(again[1]), again[1]["prompt_tokens"] - 2 * BLOCK)
        self.assertEqual(streamed(self.daemon, messages=messages)[1], again[1])
        choices, usage = answer_of(self.daemon, messages=messages, n=3)
        self.assertEqual(cached(usage), cached(again[1]))
        self.assertEqual(choices, answer_of(self.plain, messages=messages, n=3)[0])

    def test_the_first_running_usage_already_knows_the_hit(self):
        messages = [{"role": "user", "content": "a prompt that comes twice " * 12}]
        _, usage = answer_of(self.daemon, messages=messages)
        _, usage = answer_of(self.daemon, messages=messages)
        options = {"include_usage": True, "continuous_usage_stats": True}
        for n in (1, 3):
            _, body = self.daemon.post("/v1/chat/completions", chat(
                messages=messages, n=n, stream=True, stream_options=options))
            chunks = [json.loads(line[6:]) for line in body.splitlines()
                      if line.startswith("data: {")]
            self.assertEqual({cached(chunk["usage"]) for chunk in chunks}, {cached(usage)})

    def test_a_salt_keeps_prompts_apart(self):
        messages = [{"role": "user", "content": "salted words " * 20}]
        answer_of(self.daemon, messages=messages, cache_salt="a")
        self.assertEqual(cached(answer_of(self.daemon, messages=messages, cache_salt="b")[1]), 0)
        self.assertGreater(cached(answer_of(self.daemon, messages=messages, cache_salt="a")[1]), 0)

    def test_counters_tell_each_prompt_token_once(self):
        daemon = Daemon()
        messages = [{"role": "user", "content": "counted words " * 20}]
        usages = [answer_of(daemon, messages=messages)[1] for _ in range(3)]
        sent, hit = (sum(usage["prompt_tokens"] for usage in usages), sum(map(cached, usages)))
        self.assertGreater(hit, 0)

        def told(source):
            return daemon.metric("vllm:prompt_tokens_by_source_total", source=source)
        while told("local_compute") + told("local_cache_hit") < sent:
            pass
        self.assertEqual(told("local_cache_hit"), hit)
        self.assertEqual(told("local_compute"), sent - hit)
        self.assertEqual(daemon.metric("vllm:prefix_cache_hits_total"), hit)
        self.assertEqual(daemon.metric("vllm:prefix_cache_queries_total"), sent)
        code, log = daemon.end()
        self.assertEqual(code, 0, log)

    def test_the_cache_can_be_reset_by_those_who_have_a_key(self):
        messages = [{"role": "user", "content": "forgotten words " * 20}]
        answer_of(self.daemon, messages=messages)
        key = self.daemon.fields.pop("Authorization")
        self.assertEqual(self.daemon.post("/reset_prefix_cache", b"")[0], 401)
        self.daemon.fields["Authorization"] = key
        self.assertEqual(self.daemon.post("/reset_prefix_cache", b"")[0], 200)
        self.assertEqual(cached(answer_of(self.daemon, messages=messages)[1]), 0)


if __name__ == "__main__":
    unittest.main()
