#!/usr/bin/env python3
"""The official OpenAI client against the daemon."""

import concurrent.futures
import unittest

import openai

from daemon import Daemon, chat


def options(**fields):
    """Arguments of the client's create(): what it does not know goes into extra_body."""
    request = chat(**fields)
    extra = {name: request.pop(name) for name in ("ignore_eos", "top_k", "min_p")
             if name in request}
    return request | {"extra_body": extra}


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--api-server-count", "2", "--tokenizer-count", "2",
                            "--parser-count", "2")
        cls.client = openai.OpenAI(base_url=cls.daemon.url + "/v1", api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code, log = cls.daemon.end()
        assert code == 0, log

    def text_of(self, **fields):
        answer = self.client.chat.completions.create(**options(**fields))
        return self.flat(answer.choices[0].message)

    @staticmethod
    def flat(message):
        return getattr(message, "reasoning", None), message.content, message.tool_calls

    def streamed(self, **fields):
        """The fold of a stream, and its last usage."""
        reasoning, content, usage = "", "", None
        stream = self.client.chat.completions.create(
            **options(stream=True, stream_options={"include_usage": True}, **fields))
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                reasoning += getattr(choice.delta, "reasoning", None) or ""
                content += choice.delta.content or ""
        return (reasoning or None, content or None), usage

    def test_models_are_listed(self):
        self.assertEqual([m.id for m in self.client.models.list().data], ["tiny"])

    def test_a_chat_answers_with_its_usage(self):
        answer = self.client.chat.completions.create(**options())
        self.assertEqual(answer.usage.completion_tokens, 8)
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertGreater(answer.usage.prompt_tokens, 20)

    def test_a_stream_folds_to_the_unary_answer(self):
        for seed in range(6):
            unary = self.client.chat.completions.create(**options(seed=seed, max_tokens=64))
            folded, usage = self.streamed(seed=seed, max_tokens=64)
            self.assertEqual(folded, self.flat(unary.choices[0].message)[:2])
            self.assertEqual(usage, unary.usage)

    def test_two_streams_run_side_by_side(self):
        alone = [self.streamed(seed=seed, max_tokens=48) for seed in (1, 2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            both = list(pool.map(lambda seed: self.streamed(seed=seed, max_tokens=48), (1, 2)))
        self.assertEqual(both, alone)

    def test_32_requests_at_once_equal_their_solo_runs(self):
        def run(i):
            return self.text_of(seed=i, max_tokens=16 + i,
                                messages=[{"role": "user", "content": "word " * (1 + 7 * i)}])
        alone = [run(i) for i in range(32)]
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            self.assertEqual(list(pool.map(run, range(32))), alone)

    def test_choices_are_numbered_and_differ(self):
        answer = self.client.chat.completions.create(**options(n=3, max_tokens=24))
        self.assertEqual([c.index for c in answer.choices], [0, 1, 2])
        texts = {str(self.flat(c.message)) for c in answer.choices}
        self.assertEqual(len(texts), 3)
        self.assertEqual(self.flat(answer.choices[0].message), self.text_of(max_tokens=24))

    def test_a_client_that_leaves_frees_its_sequence(self):
        stream = self.client.chat.completions.create(**options(stream=True, max_tokens=4000))
        for _ in zip(range(4), stream):
            pass
        stream.close()
        while self.daemon.metric("vllm:num_requests_running"):
            pass
        used = self.daemon.metric("glimmer_kv_blocks", state="active")
        self.assertEqual(used, 0)

    def test_sampling_fields_are_obeyed(self):
        greedy = self.text_of(temperature=0, seed=1)
        self.assertEqual(greedy, self.text_of(temperature=0, seed=2))
        self.assertEqual(greedy, self.text_of(top_k=1, seed=3))
        self.assertNotEqual(self.text_of(seed=1), self.text_of(seed=2))

    def test_logprobs_come_one_per_token(self):
        answer = self.client.chat.completions.create(**options(logprobs=True, top_logprobs=3))
        entries = answer.choices[0].logprobs.content
        self.assertEqual(len(entries), 8)
        for entry in entries:
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertLessEqual(entry.logprob, 0)

    def test_errors_are_the_clients_own_classes(self):
        with self.assertRaises(openai.NotFoundError) as unknown:
            self.client.chat.completions.create(**options(model="gpt-0"))
        self.assertEqual(unknown.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as wrong:
            self.client.chat.completions.create(**options(temperature=-1))
        self.assertEqual(wrong.exception.param, "temperature")
        with self.assertRaises(openai.BadRequestError) as long:
            self.text_of(messages=[{"role": "user", "content": "word " * 9000}])
        self.assertEqual(long.exception.code, "context_length_exceeded")


class DrainTest(unittest.TestCase):
    def test_sigterm_lets_open_streams_finish_and_refuses_new_ones(self):
        daemon = Daemon()
        with openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=0) as client:
            streams = [client.chat.completions.create(**options(stream=True, max_tokens=600,
                                                                seed=i)) for i in range(4)]
            first = [next(stream) for stream in streams]
            daemon.terminate()
            ends = [[chunk for chunk in stream][-1].choices[0].finish_reason for stream in streams]
        self.assertEqual(len(first), 4)
        self.assertEqual(ends, ["length"] * 4)
        code, log = daemon.end()
        self.assertEqual(code, 0, log)


if __name__ == "__main__":
    unittest.main()
