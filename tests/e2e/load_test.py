#!/usr/bin/env python3
"""Ten thousand streams at once, and five thousand callers for one place. What it checks is that
each gets its due and that memory stays bounded; times are for bench/."""

import json
import os
import resource
import tempfile
import unittest

from crowd import Crowd, http_post, resident_bytes
from daemon import Daemon, chat

STREAMS = 10_000
CALLERS = 5_000
IDLE_STREAM_BYTES_MAX = 16 << 10
CALLER_BYTES_MAX = 8 << 10

# Client and server each need a descriptor per connection; the server's limit is inherited.
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))


def script(*turns):
    file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)
    with file:
        file.writelines(json.dumps(turn) + "\n" for turn in turns)
    return file.name


def turn(match, words, delay_ms=0):
    return {"match": match, "text": " to=user<|message|>" + " a" * words + "<|eot|>",
            "delay_ms": delay_ms}


class LoadTest(unittest.TestCase):
    def start(self, turns, *flags):
        path = script(*turns)
        self.addCleanup(os.unlink, path)
        self.daemon = Daemon("--executor", f"script:{path}", "--log-level", "warning",
                             "--max-model-len", "512", *flags)
        self.addCleanup(self.stop)
        self.crowd = Crowd(self.daemon.port)
        self.addCleanup(self.crowd.close)

    def stop(self):
        code, log = self.daemon.end()
        self.assertEqual((code, log), (0, ""))

    def ask(self, words, **fields):
        return http_post("/v1/chat/completions", json.dumps(
            chat(messages=[{"role": "user", "content": words}], stream=True, max_tokens=400,
                 ignore_eos=False, **fields)).encode())

    def wait(self, name, count, **labels):
        self.crowd.until(lambda: self.daemon.metric(name, **labels) == count)

    def open_streams(self):
        return (self.daemon.metric("vllm:num_requests_running") +
                self.daemon.metric("vllm:num_requests_waiting"))

    def idle(self):
        """Everything is given back."""
        self.crowd.until(lambda: self.open_streams() == 0)
        for group in ("full", "sliding"):
            self.wait("glimmer_kv_blocks", 0, group=group, state="active")
        self.wait("glimmer_admission_credits", 0, state="used")

    def check_whole(self, callers, words):
        """Each stream ended as it should, with all its words."""
        for one in callers:
            *events, last = [e for e in one.body().decode().split("\n\n") if e]
            self.assertEqual(last, "data: [DONE]")
            choices = [json.loads(e[6:])["choices"][0] for e in events]
            self.assertEqual("".join(c["delta"].get("content", "") for c in choices), " a" * words)
            self.assertEqual(choices[-1]["finish_reason"], "stop")

    def test_ten_thousand_streams_are_open_at_once_and_each_ends_as_it_should(self):
        self.start([turn("hold", 400, delay_ms=50), turn("*", 5)], "--api-server-count", "2",
                   "--max-num-queued-reqs", "20000", "--max-connections", "11000",
                   "--max-num-seqs", "256")
        holders = self.crowd.call(self.ask("hold"), 256)
        self.wait("vllm:num_requests_running", 256)
        before = resident_bytes(self.daemon.process)
        streams = []
        for _ in range(STREAMS // 500):
            streams += self.crowd.call(self.ask("wait"), 500)
            self.crowd.until(lambda: all(one.raw for one in streams))
        self.crowd.until(lambda: self.open_streams() == STREAMS + len(holders))
        each = (resident_bytes(self.daemon.process) - before) / STREAMS
        print(f"{each:.0f} bytes a stream", flush=True)
        self.assertLess(each, IDLE_STREAM_BYTES_MAX)
        self.crowd.leave(holders)
        self.crowd.until(lambda: all(one.whole or one.ended for one in streams))
        self.check_whole(streams, 5)
        self.idle()

    def test_of_five_thousand_callers_for_one_place_each_is_told_429(self):
        self.start([turn("hold", 400, delay_ms=50)], "--max-num-queued-reqs", "1",
                   "--api-server-count", "2")
        holder, = self.crowd.call(self.ask("hold"))
        self.crowd.until(lambda: holder.raw)
        before = resident_bytes(self.daemon.process)
        callers = self.crowd.call(self.ask("in vain"), CALLERS)
        self.crowd.until(lambda: all(one.raw.endswith(b"}") for one in callers))
        grown = resident_bytes(self.daemon.process) - before
        for one in callers:
            self.assertEqual(one.status, 429)
            self.assertIn(b"\r\nretry-after: 1\r\n", one.raw)
        self.assertLess(grown, CALLER_BYTES_MAX * CALLERS)
        self.crowd.leave([holder])


if __name__ == "__main__":
    unittest.main()
