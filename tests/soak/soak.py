#!/usr/bin/env python3
"""Mixed load on a running server, with clients that leave, lag, abort and err.

Usage: soak.py [SECONDS [SEED]]     GLIMMERD, GLIMMER_MODEL and PYTHONPATH=tests/e2e say what runs

Fails on any answer that should not be, on memory that grows by more than 2 % between marks once
all is warm, on books that are not idle at the end, and on a word in the log. Marks are a minute
apart, or a sixth of a short run.
"""

import collections
import faulthandler
import json
import random
import socket
import statistics
import sys
import threading
import time

from crowd import http_post, resident_bytes
from daemon import Daemon, chat, read_all

CLIENTS = 12
CONTEXT = 1024
GROWTH_MAX = 0.02
STORY = "The harbour master counts the boats twice before the tide turns. "
FLAGS = ["--api-server-count", "2", "--parser-count", "2", "--max-num-seqs", "8",
         "--max-num-batched-tokens", "256", "--max-num-queued-reqs", "32",
         "--max-model-len", str(CONTEXT), "--kv-cache-memory", "8M", "--log-level", "warning",
         "--parked-timeout-ms", "2000"]


class Client(threading.Thread):
    """Asks until told to stop; keeps the first thing that was wrong."""

    def __init__(self, number, daemon, stop, seed):
        super().__init__(daemon=True)
        self.number, self.server, self.stop = number, daemon, stop
        self.chance = random.Random(f"{seed} {number}")
        self.asked = 0
        self.seen = collections.Counter()
        self.wrong = None

    def run(self):
        kinds = [self.unary, self.stream, self.choices, self.long, self.leave_stream,
                 self.leave_unary, self.lag, self.abort, self.err, self.complete, self.look]
        while not self.stop.is_set() and not self.wrong:
            kind = self.chance.choice(kinds)
            self.asked += 1
            self.seen[kind.__name__] += 1
            try:
                kind()
            except Exception as error:  # any is a finding: it ends the run
                self.wrong = f"{kind.__name__}: {error!r}"

    # ---- what it asks --------------------------------------------------------------------------

    def words(self, most=40):
        return STORY * self.chance.randint(1, 3) + "so " * self.chance.randint(0, most)

    def request(self, **fields):
        return chat(messages=[{"role": "user", "content": self.words()}],
                    max_tokens=self.chance.randint(1, 60), seed=self.chance.randint(0, 999),
                    user=f"user {self.number % 4}", ignore_eos=self.chance.random() < 0.5) | fields

    def expect(self, answer, *allowed):
        status, body = answer
        self.seen[status] += 1
        if status not in allowed + (429,):
            raise AssertionError(f"{status}: {body[:300]}")
        return body if status != 429 else None

    def ask(self, *allowed, path="/v1/chat/completions", **fields):
        return self.expect(self.server.post(path, self.request(**fields)), *(allowed or (200,)))

    def unary(self):
        body = self.ask()
        assert body is None or json.loads(body)["choices"][0]["finish_reason"], body

    def stream(self):
        body = self.ask(stream=True)
        assert body is None or body.endswith("data: [DONE]\n\n") and '"error"' not in body, body

    def choices(self):
        body = self.ask(n=3, logprobs=True, top_logprobs=3)
        assert body is None or len(json.loads(body)["choices"]) == 3

    def long(self):
        content = STORY * self.chance.randint(20, 50)
        self.ask(200, 400, messages=[{"role": "user", "content": content}], max_tokens=8)

    def complete(self):
        body = self.server.post("/v1/completions", {
            "prompt": self.words(), "max_tokens": 4, "echo": True, "logprobs": 1})
        self.expect(body, 200)

    def look(self):
        self.expect(self.server.get(self.chance.choice(["/metrics", "/health", "/v1/models"])), 200)

    def err(self):
        wrong = self.chance.choice([
            {"temperature": -1}, {"n": 0}, {"model": "other"}, {"top_p": 7}, {"stop": 5},
            {"messages": [{"role": "user", "content": "long " * 3000}]}])
        self.ask(400, 404, **wrong)

    # ---- how it behaves ------------------------------------------------------------------------

    def open(self, name="", **fields):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(120)
        sock.connect(("127.0.0.1", self.server.port))
        request = http_post("/v1/chat/completions", json.dumps(self.request(**fields)).encode())
        own = f"Connection: close\r\nx-request-id: {name or 'nobody'}\r\nHost".encode()
        sock.sendall(request.replace(b"Host", own, 1))
        return sock

    def leave_stream(self):
        with self.open(stream=True, max_tokens=500) as sock:
            for _ in range(self.chance.randint(1, 6)):
                sock.recv(self.chance.randint(1, 2000))

    def leave_unary(self):
        with self.open(max_tokens=500):
            pass

    def lag(self):
        with self.open(stream=True, max_tokens=120) as sock:
            heard = b""
            while more := sock.recv(self.chance.randint(1, 200)):
                heard += more
        assert heard.startswith((b"HTTP/1.1 200", b"HTTP/1.1 429")), heard[:300]

    def abort(self):
        name = f"abort-{self.number}-{self.asked}"
        with self.open(name, stream=self.chance.random() < 0.5, max_tokens=700) as sock:
            status, body = delete(self.server, name)
            assert status == 202, body
            heard = read_all(sock)
        assert heard.startswith(tuple(f"HTTP/1.1 {code}".encode() for code in (200, 429, 499))), heard


def delete(daemon, name):
    with daemon.socket() as sock:
        sock.sendall(f"DELETE /v1/chat/completions/{name} HTTP/1.1\r\nHost: a\r\n"
                     "Connection: close\r\n\r\n".encode())
        answer = read_all(sock).decode()
    return int(answer[9:12]), answer


def wait_idle(daemon):
    """Everything is given back, or the name of what is not after a while."""
    wanted = {"vllm:num_requests_running": {}, "vllm:num_requests_waiting": {},
              "glimmer_parked_sequences": {}, "glimmer_kv_blocks": {"state": "active"},
              "glimmer_admission_credits": {"state": "used"}, "glimmer_actor_mailbox_depth": {}}
    limit = time.monotonic() + 30
    while left := [name for name, labels in wanted.items() if daemon.metric(name, **labels)]:
        if time.monotonic() > limit:
            return f"not idle: {', '.join(left)}"
    return None


def warm_up(daemon):
    """Fills every block once: memory that is touched for the first time is no growth."""
    free = {group: 1.0 for group in ("full", "sliding")}
    for number in range(400):
        if not any(free.values()):
            return
        daemon.post("/v1/chat/completions", chat(
            messages=[{"role": "user", "content": f"{number} " + STORY * 45}], max_tokens=4))
        free = {group: daemon.metric("glimmer_kv_blocks", state="free", group=group)
                for group in free}


def soak(seconds, seed):
    """Returns what was wrong, or None."""
    daemon = Daemon(*FLAGS)
    warm_up(daemon)
    stop = threading.Event()
    clients = [Client(number, daemon, stop, seed) for number in range(CLIENTS)]
    for one in clients:
        one.start()
    begin, marks, samples = time.monotonic(), [], []
    apart = min(60.0, seconds / 6)
    wrong = None
    while time.monotonic() < begin + seconds and not wrong:
        stop.wait(apart / 20)
        samples.append(resident_bytes(daemon.process))
        if len(samples) == 20:  # a mark is the middle of what was seen since the last one
            marks.append(statistics.median(samples))
            samples.clear()
            print(f"{time.monotonic() - begin:6.0f} s  {marks[-1] / 2**20:8.2f} MiB  "
                  f"{sum(one.asked for one in clients)} requests", flush=True)
        wrong = next((one.wrong for one in clients if one.wrong), None)
    stop.set()
    for one in clients:
        one.join(180)
    wrong = wrong or next((one.wrong for one in clients if one.wrong), None) or wait_idle(daemon)
    seen = sum((one.seen for one in clients), collections.Counter())
    print(dict(seen), flush=True)
    code, log = daemon.end()
    if wrong:
        return wrong
    warm = marks[max(1, len(marks) // 3):]
    grown = warm[-1] / warm[0] - 1
    print(f"memory {100 * grown:+.2f} % over {len(warm)} marks", flush=True)
    if grown > GROWTH_MAX:
        return f"memory grew by {100 * grown:.1f} %"
    if (code, log) != (0, ""):
        return f"exit code {code}, log: {log[-2000:]}"
    return None


if __name__ == "__main__":
    run_seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    run_seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    faulthandler.cancel_dump_traceback_later()
    faulthandler.dump_traceback_later(run_seconds + 300, exit=True)
    print(f"seed {run_seed}", flush=True)
    found = soak(run_seconds, run_seed)
    print(found or "nothing found")
    sys.exit(1 if found else 0)
