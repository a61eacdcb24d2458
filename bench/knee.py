#!/usr/bin/env python3
"""Prompts of sixty thousand tokens at rates around what the front half of the server can take.

Usage: knee.py     GLIMMERD, GLIMMER_MODEL and PYTHONPATH=tests/e2e say what runs

The executor plays a script and costs nothing, so what is measured is reading, tokenizing, admitting
and answering. First the knee: requests a second with CALLERS callers that never pause. Then requests
come at a share of it, whether or not earlier ones are answered. One JSON line a share: time to the
first token of those answered, and how many were told 429. A server without a knee in its front half
keeps the first below a few times the time of one request up to 100 %, and refuses what is above.
"""

import json
import os
import random
import statistics
import tempfile
import threading
import time

from crowd import http_post
from daemon import Daemon, chat

TOKENS = 60_000
CALLERS = 4
SECONDS = 10
SHARES = (0.5, 0.8, 1.0, 1.2)
WORDS = "the harbour master counts old boats twice before every turn of a tide".split()


def bodies(daemon, count):
    """Requests whose prompts have about TOKENS tokens and nothing in common."""
    chance = random.Random(7)

    def text(words):
        return " ".join(chance.choices(WORDS, k=words))
    counted = json.loads(daemon.post("/tokenize", {"model": "tiny", "prompt": text(2000)})[1])
    words = TOKENS * 2000 // counted["count"]
    return [http_post("/v1/chat/completions", json.dumps(chat(
        messages=[{"role": "user", "content": text(words)}], stream=True, max_tokens=4,
        ignore_eos=False)).encode()) for _ in range(count)]


def ask(daemon, request):
    """-> (status, seconds to the first event)."""
    begin = time.monotonic()
    with daemon.socket() as sock:
        sock.sendall(request)
        heard = b""
        while b"\r\n\r\n" not in heard or (heard[9:12] == b"200" and b"data: " not in heard):
            more = sock.recv(1 << 16)
            if not more:
                break
            heard += more
        took = time.monotonic() - begin
        while heard[9:12] == b"200" and not heard.endswith(b"0\r\n\r\n"):
            more = sock.recv(1 << 16)
            if not more:
                break
            heard = more
    return int(heard[9:12]) if heard.startswith(b"HTTP") else 200, took


def knee(daemon, requests):
    """Requests a second with CALLERS callers that never pause; and how long one alone takes."""
    alone = statistics.median(ask(daemon, request)[1] for request in requests[:5])
    done, end = [], time.monotonic() + SECONDS

    def call(number):
        turn = number
        while time.monotonic() < end:
            done.append(ask(daemon, requests[turn % len(requests)])[0])
            turn += CALLERS
    callers = [threading.Thread(target=call, args=(n,)) for n in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return done.count(200) / SECONDS, alone


def at_rate(daemon, requests, rate):
    answers, callers = [], []
    begin = time.monotonic()
    for number in range(int(rate * SECONDS)):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        callers.append(threading.Thread(
            target=lambda n=number: answers.append(ask(daemon, requests[n % len(requests)]))))
        callers[-1].start()
    for caller in callers:
        caller.join()
    return answers


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as script:
        script.write(json.dumps({"match": "*", "text": " to=user<|message|> a a a<|eot|>"}) + "\n")
        script.flush()
        # Without a prefix cache: a rate is of prompts that are new.
        daemon = Daemon("--executor", f"script:{script.name}", "--log-level", "warning",
                        "--max-model-len", "131072", "--max-num-batched-tokens", "65536",
                        "--no-enable-prefix-caching", "--tokenizer-count",
                        str(max(1, os.cpu_count() - 1)))
        requests = bodies(daemon, 60)
        rate, alone = knee(daemon, requests)
        for share in SHARES:
            answers = at_rate(daemon, requests, share * rate)
            times = sorted(took for status, took in answers if status == 200)
            print(json.dumps({
                "bench": "knee", "share": share, "requests_per_s": round(share * rate, 1),
                "body_kb": len(requests[0]) // 1000, "alone_ms": round(1000 * alone, 1),
                "answered": len(times), "refused": sum(s == 429 for s, _ in answers),
                "first_token_p50_ms": round(1000 * statistics.median(times), 1),
                "first_token_p99_ms": round(1000 * times[int(0.99 * (len(times) - 1))], 1)}),
                flush=True)
        daemon.end()


if __name__ == "__main__":
    main()
