"""Scores a server that serves glimmer-nano: served.py URL [--count N] [--greedy]

The same held-out prompts and judgement as score.py, written by the server: what a quantised model,
or another engine, has lost. Pictures are left out.
"""

import argparse
import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import export
from score import MOST, SAMPLING, SKILLS, judged
from tokens import Vocabulary

AT_ONCE = 16


def writer(url, vocabulary, sampling):
    with urllib.request.urlopen(f"{url}/v1/models") as answer:
        model = json.load(answer)["data"][0]["id"]
    temperature, top_k, top_p = sampling or (0, 0, 1)

    def one(prompt, seed):
        body = dict(model=model, prompt=prompt, max_tokens=MOST, temperature=temperature,
                    top_k=top_k, top_p=top_p, seed=seed, return_token_ids=True,
                    skip_special_tokens=False)
        request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["token_ids"]

    def write(items, seed):
        prompts = [vocabulary.encode(item.prompt) for item in items]
        seeds = [1000 * seed + n for n in range(len(items))]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(one, prompts, seeds))
    return write


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="of the server, without /v1")
    parser.add_argument("--count", type=int, default=100, help="prompts per skill")
    parser.add_argument("--greedy", action="store_true")
    a = parser.parse_args()
    vocabulary = Vocabulary(export.FOLDER / "tokenizer.json")
    write = writer(a.url, vocabulary, None if a.greedy else SAMPLING)
    scores, reasoning = judged(write, SKILLS, vocabulary, a.count)
    print(json.dumps(dict(skills=scores, reasoning=reasoning), indent=1))


if __name__ == "__main__":
    main()
