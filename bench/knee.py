#!/usr/bin/env python3
"""Prompts of some sixty thousand tokens at rates around what the front half of the server can take.

Usage: knee.py     GLIMMERD, GLIMMER_BENCH, GLIMMER_MODEL and PYTHONPATH=tests/e2e say what runs

The executor plays a script and costs nothing, so what is measured is reading, tokenizing, admitting
and answering. First the knee: requests a second of four callers that never pause. Then requests
come at shares of it, whether or not earlier ones are answered. Prints what `glimmer-bench serve`
says of each. Below the knee the first token takes little longer than alone; above it requests
queue or are told 429, and no rate makes each of them dearer.
"""

import json
import os
import subprocess
import tempfile

from daemon import Daemon

WORDS = 13_700  # of glimmer-bench; 4.4 tokens each in the vocabulary of the tiny model
REQUESTS = "300"
SHARES = (0.5, 0.8, 1.0, 1.2)


def serve(daemon, *flags):
    """Requests a second that were answered."""
    told = subprocess.run(
        [os.environ["GLIMMER_BENCH"], "serve", "--json", "--base-url", daemon.url, "--model", "tiny",
         "--input-words", str(WORDS), "--output-len", "16", "--num-prompts", REQUESTS, *flags],
        stdout=subprocess.PIPE, text=True, check=False).stdout
    lines = [json.loads(line) for line in told.splitlines()]
    print(json.dumps({"bench": "knee", "asked": " ".join(flags)} | {
        line["case"].split(":")[0]: {k: v for k, v in line.items() if k not in ("bench", "case")}
        for line in lines if line["case"] == "requests" or line["case"].startswith("TTFT")}),
        flush=True)
    return lines[0]["requests_per_s"]


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as script:
        script.write(json.dumps({"match": "*", "text": " to=user<|message|> a a a<|eot|>"}) + "\n")
        script.flush()
        # Without a prefix cache: a rate is of prompts that are new.
        daemon = Daemon("--executor", f"script:{script.name}", "--log-level", "warning",
                        "--max-model-len", "131072", "--max-num-batched-tokens", "65536",
                        "--no-enable-prefix-caching")
        knee = serve(daemon, "--concurrency", "4")
        for share in SHARES:
            serve(daemon, "--request-rate", f"{share * knee:.2f}")
        print(json.dumps({"bench": "knee", "tokens_each": daemon.metric(
            "vllm:request_prompt_tokens_sum") / daemon.metric("vllm:request_prompt_tokens_count")}))
        daemon.end()


if __name__ == "__main__":
    main()
