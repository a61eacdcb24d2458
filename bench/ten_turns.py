#!/usr/bin/env python3
"""A chat of ten turns: how much of each prompt is cached, and how long its first token takes.

Usage: ten_turns.py     GLIMMERD, GLIMMER_MODEL and PYTHONPATH=tests/e2e say what runs

Prints one JSON line per turn, first with the prefix cache, then without it. Fails when a turn has
less cached than its prompt without the last turn and one block.
"""

import json
import sys
import time

from daemon import Daemon, chat

BLOCK = 16
WORDS = "and more words about the same old harbour " * 60


def first_token(daemon, messages, turn):
    """(seconds to the first token, usage, the answer's text)."""
    body = json.dumps(chat(messages=messages, max_tokens=16, seed=turn, stream=True,
                           stream_options={"include_usage": True},
                           chat_template_kwargs={"current_date": "2026-01-01"})).encode()
    took, usage, text = None, None, ""
    with daemon.socket() as sock:
        begin = time.monotonic()
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                     b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        sock.sendall(body)
        for line in sock.makefile("rb"):
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            usage = chunk.get("usage") or usage
            for choice in chunk["choices"]:
                told = (choice["delta"].get("content") or "") + (
                    choice["delta"].get("reasoning") or "")
                if told and took is None:
                    took = time.monotonic() - begin
                text += told
    return took or time.monotonic() - begin, usage, text


def measure(name, *flags):
    daemon = Daemon("--max-model-len", "16384", "--log-level", "warning", *flags)
    first_token(daemon, [{"role": "user", "content": "Warm up."}], 0)
    messages, before, enough = [], 0, True
    for turn in range(1, 11):
        messages.append({"role": "user", "content": f"Turn {turn}: {WORDS}"})
        took, usage, text = first_token(daemon, messages, turn)
        messages.append({"role": "assistant", "content": text})
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        print(json.dumps({"bench": "ten_turns", "case": name, "turn": turn,
                          "prompt_tokens": usage["prompt_tokens"], "cached_tokens": cached,
                          "new_tokens": usage["prompt_tokens"] - cached,
                          "first_token_ms": round(took * 1000, 1)}), flush=True)
        enough = enough and cached >= before - BLOCK
        before = usage["prompt_tokens"]
    daemon.end()
    return enough


if __name__ == "__main__":
    fine = measure("prefix cache")
    measure("no prefix cache", "--no-enable-prefix-caching")
    sys.exit(0 if fine else "a turn had too little cached")
