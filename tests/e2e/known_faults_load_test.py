#!/usr/bin/env python3
"""Faults that servers have had when clients leave, lag or come in crowds."""

import json
import os
import re
import socket
import tempfile
import unittest
from pathlib import Path

from crowd import http_post, resident_bytes
from daemon import Daemon, chat, read_answer


class UnderLoad(unittest.TestCase):
    """Faults of cancelling, leaking and being crowded. Each test has a daemon of its own, because
    it looks at memory or at threads."""

    def start(self, turn, *flags):
        script = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)
        with script:
            script.write(json.dumps({"match": "*", "text": " to=user<|message|>" + turn}) + "\n")
        self.addCleanup(os.unlink, script.name)
        self.daemon = Daemon("--executor", f"script:{script.name}", "--log-level", "error", *flags)
        self.addCleanup(self.stop)

    def stop(self):
        code, log = self.daemon.end()
        self.assertEqual((code, log), (0, ""))

    def wait(self, value, name, **labels):
        while self.daemon.metric(name, **labels) != value:
            pass

    def idle(self):
        self.wait(0, "vllm:num_requests_running")
        self.wait(0, "vllm:num_requests_waiting")
        self.wait(0, "glimmer_kv_blocks", state="active")
        self.wait(0, "glimmer_admission_credits", state="used")

    def ask(self, **fields):
        return http_post("/v1/chat/completions", json.dumps(
            {"messages": [{"role": "user", "content": "go"}]} | fields).encode())

    def test_a_reader_that_stops_is_parked_and_costs_no_memory_meanwhile(self):
        self.start(" a" * 100_000 + "<|eot|>", "--max-model-len", "131072")
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", self.daemon.port))
            reader.sendall(self.ask(stream=True, max_tokens=90_000))
            self.wait(1, "glimmer_parked_sequences")
            made = self.daemon.metric("vllm:generation_tokens_total")
            self.assertLess(made, 80_000)  # it waits with most of its answer
            resident = resident_bytes(self.daemon.process)
            for _ in range(50):  # others are served
                self.assertEqual(self.daemon.post("/v1/chat/completions", {
                    "max_tokens": 3, "messages": [{"role": "user", "content": "go"}]})[0], 200)
            self.assertEqual(self.daemon.metric("glimmer_parked_sequences"), 1)
            self.assertLess(resident_bytes(self.daemon.process) - resident, 8 << 20)
            heard = bytearray()
            while not heard.endswith(b"\r\n0\r\n\r\n"):
                heard += reader.recv(1 << 16)
            self.assertGreater(heard.count(b'"content":" a"'), 89_900)  # all behind the header
        self.idle()

    def test_thousands_of_users_leave_nothing_behind(self):
        self.start(" a<|eot|>", "--max-model-len", "512")

        def crowd_of_users(first):
            sockets = [self.daemon.socket() for _ in range(8)]
            for begin in range(first, first + 5000, 8):
                for number, sock in enumerate(sockets):
                    sock.sendall(self.ask(user=f"user {begin + number}"))
                for sock in sockets:
                    self.assertIn("200 OK", read_answer(sock)[0])
            for sock in sockets:
                sock.close()
            return resident_bytes(self.daemon.process)

        warm = crowd_of_users(0)
        self.assertLess(crowd_of_users(5000), 1.02 * warm)
        self.idle()

    def test_a_stream_with_logprobs_of_everything_may_be_left(self):
        self.start(" a" * 5000 + "<|eot|>", "--max-model-len", "8192", "--no-enable-prefix-caching")
        for events in (0, 1, 5, 40):
            with self.daemon.socket() as sock:
                sock.sendall(self.ask(stream=True, n=3, logprobs=True, top_logprobs=20))
                heard = b""
                while heard.count(b"data: ") < events:
                    heard += sock.recv(1 << 16)
            self.idle()
            with self.daemon.socket() as sock:
                sock.sendall(self.ask(n=3, logprobs=True, top_logprobs=20, prompt_logprobs=5))
            self.idle()

    def test_many_streams_share_their_wake_ups(self):
        """Threads that wake for every token of every stream would spend the machine on that."""
        self.start(" a" * 1000 + "<|eot|>", "--max-model-len", "2048")
        sockets = [self.daemon.socket() for _ in range(48)]

        def switches():
            folder = Path(f"/proc/{self.daemon.process.pid}/task")
            return sum(int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", one.read_text())[1])
                       for one in folder.glob("*/status"))

        before = switches()
        for sock in sockets:
            sock.sendall(self.ask(stream=True))
        for sock in sockets:
            heard = b""
            while not heard.endswith(b"\r\n0\r\n\r\n"):
                heard = heard[-16:] + sock.recv(1 << 16)
            sock.close()
        while self.daemon.metric("vllm:generation_tokens_total") < 48_000:
            pass
        self.assertLess(switches() - before, 48_000)

    def test_extreme_sampling_values_are_served_or_refused_and_never_fatal(self):
        for fields in ({"temperature": 1e-8}, {"temperature": 1e8}, {"top_p": 1e-300},
                       {"min_p": 1}, {"top_k": 2**31 - 1}, {"seed": 2**63 - 1},
                       {"logit_bias": {"5": 100}}, {"n": 10**9}, {"max_tokens": 2**40},
                       {"repetition_penalty": 1e-30}, {"stop_token_ids": [2**31]}):
            daemon = self.plain()
            status, body = daemon.post("/v1/chat/completions", chat(**fields))
            self.assertIn(status, (200, 400), (fields, body))
            if status == 400:
                self.assertIn(json.loads(body)["error"]["param"].split("[")[0].split(".")[0],
                              fields)

    @classmethod
    def plain(cls):
        """A daemon that computes, shared."""
        if not hasattr(cls, "computes"):
            cls.computes = Daemon("--log-level", "warning")
            cls.addClassCleanup(cls.computes.end)
        return cls.computes


if __name__ == "__main__":
    unittest.main()
