#!/usr/bin/env python3
"""Bounds, aborts, time limits, reload and cut of the running server, with several frontends."""

import concurrent.futures
import json
import os
import re
import signal
import tempfile
import unittest
import urllib.request
from pathlib import Path

from crowd import http_post
from daemon import Daemon, chat, read_all

LONG = chat(max_tokens=4000)


class Case(unittest.TestCase):
    def start(self, *flags):
        daemon = Daemon(*flags)
        self.addCleanup(self.stop, daemon)
        return daemon

    def stop(self, daemon):
        if daemon.process.poll() is None:
            code, log = daemon.end()
            self.assertEqual(code, 0, log)

    def idle(self, daemon):
        while daemon.metric("vllm:num_requests_running"):
            pass
        while daemon.metric("glimmer_kv_blocks", state="active"):
            pass

    @staticmethod
    def running(daemon):
        while not daemon.metric("vllm:num_requests_running"):
            pass

    @staticmethod
    def delete(daemon, name):
        return daemon.request(urllib.request.Request(
            f"{daemon.url}/v1/chat/completions/{name}", method="DELETE", headers=daemon.fields))


class CreditTest(Case):
    def test_an_idle_server_of_one_place_and_many_frontends_refuses_nobody(self):
        daemon = self.start("--max-num-queued-reqs", "1", "--api-server-count", "4")
        for i in range(40):  # each on a new connection, so on any frontend
            status, body = daemon.post("/v1/chat/completions", chat(max_tokens=1, seed=i))
            self.assertEqual(status, 200, body)

    def test_never_more_than_all_places_are_taken(self):
        daemon = self.start("--max-num-queued-reqs", "3", "--api-server-count", "3")
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(
                lambda i: daemon.post("/v1/chat/completions", chat(max_tokens=100, seed=i)),
                range(24)))
        codes = [status for status, _ in answers]
        self.assertEqual(set(codes), {200, 429})
        self.assertGreaterEqual(codes.count(200), 3)
        for status, body in answers:
            if status == 429:
                self.assertEqual(json.loads(body)["error"]["code"], "queue_full")
        self.assertEqual(daemon.post("/v1/chat/completions", chat())[0], 200)
        self.idle(daemon)

    def test_prompts_beyond_the_queue_are_refused_with_the_arithmetic(self):
        daemon = self.start("--max-num-queued-tokens", "64", "--max-num-seqs", "1")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(
                lambda i: daemon.post("/v1/chat/completions", chat(max_tokens=60, seed=i)),
                range(8)))
        refused = [json.loads(body)["error"] for status, body in answers if status == 429]
        self.assertTrue(refused)
        for why in refused:
            self.assertEqual(why["code"], "queue_full")
            self.assertRegex(why["message"], r"\d+ .*64")


class FairnessTest(Case):
    def test_a_single_request_passes_the_flood_of_another_user(self):
        daemon = self.start("--max-num-seqs", "1")
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            flood = [pool.submit(daemon.post, "/v1/chat/completions",
                                 chat(user="flood", max_tokens=300, seed=i)) for i in range(30)]
            while daemon.metric("vllm:num_requests_waiting") < 20:
                pass
            status, _ = daemon.post("/v1/chat/completions", chat(user="single"))
            still_open = sum(not one.done() for one in flood)
            self.assertEqual(status, 200)
            self.assertGreater(still_open, 10)
            self.assertEqual({one.result()[0] for one in flood}, {200})


class AbortTest(Case):
    def test_an_abort_by_id_reaches_a_request_on_any_frontend(self):
        daemon = self.start("--api-server-count", "3")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for i in range(6):
                name = f"mine-{i}"
                waits = pool.submit(daemon.post, "/v1/chat/completions", LONG,
                                    **{"x-request-id": name})
                self.running(daemon)
                status, body = self.delete(daemon, name)
                self.assertEqual(status, 202)
                self.assertEqual(json.loads(body), {"id": name, "status": "cancelling"})
                status, body = waits.result()
                self.assertEqual(status, 499)
                self.assertEqual(json.loads(body)["error"]["code"], "aborted")
                self.idle(daemon)
        self.assertEqual(self.delete(daemon, "nobody")[0], 202)
        self.assertEqual(daemon.get("/v1/chat/completions/mine-0")[0], 405)

    def test_an_aborted_stream_ends_in_band(self):
        daemon = self.start()
        request = urllib.request.Request(
            daemon.url + "/v1/chat/completions", data=json.dumps(LONG | {"stream": True}).encode(),
            headers={"Content-Type": "application/json", "x-request-id": "stream"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.readline()
            self.delete(daemon, "stream")
            rest = answer.read().decode()
        self.assertIn('"code":"aborted"', rest)
        self.assertTrue(rest.rstrip().endswith("data: [DONE]"), rest[-200:])
        self.idle(daemon)

    def test_nobody_aborts_the_requests_of_another_key(self):
        daemon = self.start("--api-key", "one", "two")
        daemon.fields["Authorization"] = "Bearer one"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waits = pool.submit(daemon.post, "/v1/chat/completions", chat(max_tokens=2000),
                                **{"x-request-id": "mine"})
            self.running(daemon)
            daemon.fields["Authorization"] = "Bearer two"
            self.assertEqual(self.delete(daemon, "mine")[0], 202)
            self.assertEqual(waits.result()[0], 200)
        del daemon.fields["Authorization"]
        self.assertEqual(self.delete(daemon, "mine")[0], 401)

    def test_requests_that_wait_are_aborted_too(self):
        daemon = self.start("--max-num-seqs", "1")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first = pool.submit(daemon.post, "/v1/chat/completions", LONG,
                                **{"x-request-id": "first"})
            self.running(daemon)
            second = pool.submit(daemon.post, "/v1/chat/completions", LONG,
                                 **{"x-request-id": "second"})
            while not daemon.metric("vllm:num_requests_waiting"):
                pass
            self.delete(daemon, "second")
            self.assertEqual(second.result()[0], 499)
            self.delete(daemon, "first")
            self.assertEqual(first.result()[0], 499)
        self.idle(daemon)


class TimeTest(Case):
    def test_a_request_past_its_time_is_answered_504_and_a_stream_ends_in_band(self):
        daemon = self.start("--request-timeout", "1", "--max-num-seqs", "1",
                            "--max-model-len", "65536")
        request = chat(max_tokens=60_000)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            unary = pool.submit(daemon.post, "/v1/chat/completions", request)
            stream = pool.submit(daemon.post, "/v1/chat/completions", request | {"stream": True})
            status, body = unary.result()
            self.assertEqual(status, 504, body)
            self.assertEqual(json.loads(body)["error"]["code"], "timeout")
            self.assertIn('"code":"timeout"', stream.result()[1])
        self.idle(daemon)


class SignalTest(Case):
    def test_sighup_takes_over_limits_and_keys_and_drops_no_stream(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        conf = Path(folder.name) / "glimmerd.conf"
        conf.write_text('server { api-key = ["old"] }\n')
        daemon = self.start("--config", str(conf), "--max-num-seqs", "4")
        daemon.fields["Authorization"] = "Bearer old"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            stream = pool.submit(daemon.post, "/v1/chat/completions",
                                 chat(stream=True, max_tokens=3000))
            self.running(daemon)
            conf.write_text('server { api-key = ["new"], log-level = "debug" }\n'
                            'limits { max-num-queued-reqs = 7 }\nengine { block-size = 32 }\n')
            os.kill(daemon.process.pid, signal.SIGHUP)
            while daemon.post("/v1/chat/completions", chat(max_tokens=1))[0] == 200:
                pass
            daemon.fields["Authorization"] = "Bearer new"
            self.assertEqual(daemon.post("/v1/chat/completions", chat(max_tokens=1))[0], 200)
            self.assertTrue(stream.result()[1].rstrip().endswith("data: [DONE]"))
            self.assertNotIn('"error"', stream.result()[1])
        while sum(daemon.metric("glimmer_admission_credits", state=state)
                  for state in ("used", "idle", "pool")) != 7:
            pass
        conf.write_text("server { api-kez = 1 }\n")
        os.kill(daemon.process.pid, signal.SIGHUP)
        self.assertEqual(daemon.post("/v1/chat/completions", chat(max_tokens=1))[0], 200)
        code, log = daemon.end()
        self.assertEqual(code, 0, log)
        self.assertIn("ignored until a restart: block-size", log)
        self.assertNotIn("ignored until a restart: api-key", log)
        self.assertIn("not reloaded", log)
        self.assertNotIn("new", log.replace("not reloaded", ""))

    def test_a_second_sigterm_cuts(self):
        daemon = self.start("--max-model-len", "65536")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            stream = pool.submit(daemon.post, "/v1/chat/completions",
                                 chat(max_tokens=60_000, stream=True))
            self.running(daemon)
            daemon.terminate()
            while daemon.post("/v1/chat/completions", chat(max_tokens=1))[0] != 503:
                pass  # until the first one was understood
            daemon.terminate()
            _, log = daemon.process.communicate(timeout=60)
            self.assertEqual(daemon.process.returncode, 1, log)
            try:
                self.assertNotIn('"finish_reason":"length"', stream.result()[1])
            except Exception:  # the connection broke, as it should
                pass

    def test_who_comes_during_a_drain_is_told_503_and_when_to_come_again(self):
        daemon = self.start("--max-model-len", "65536", "--api-server-count", "2")
        with daemon.socket() as stream, daemon.socket() as early:
            body = json.dumps(chat(max_tokens=20_000, stream=True)).encode()
            stream.sendall(http_post("/v1/chat/completions", body))
            stream.recv(1)
            daemon.terminate()
            while daemon.post("/v1/chat/completions", chat(max_tokens=1))[0] != 503:
                pass
            with daemon.socket() as late:
                for newcomer in (early, late):
                    newcomer.sendall(
                        http_post("/v1/chat/completions", json.dumps(chat()).encode()))
                    answer = read_all(newcomer)  # and the connection ends
                    self.assertTrue(answer.startswith(b"HTTP/1.1 503"), answer)
                    self.assertIn(b"retry-after: ", answer)
                    self.assertIn(b'"code":"draining"', answer)
        self.assertEqual(daemon.process.wait(60), 0)  # nothing open any more


class MetricTest(Case):
    def test_every_actor_tells_how_much_mail_waits(self):
        daemon = self.start("--parser-count", "2", "--api-server-count", "2")
        told = {("scheduler", ""), ("supervisor", "")} | {
            (actor, str(i)) for actor in ("parser", "frontend", "tokenizer") for i in range(2)}
        while True:
            found = re.findall(r'glimmer_actor_mailbox_depth{actor="(\w+)"(?:,index="(\d+)")?} '
                               r"(\d+)", daemon.get("/metrics")[1])
            if {(actor, index) for actor, index, _ in found} == told:
                break
        self.assertLess(max(int(depth) for *_, depth in found), 100)

    def test_steps_are_timed_in_their_parts(self):
        daemon = self.start()
        daemon.post("/v1/chat/completions", chat())
        while not daemon.metric("glimmer_last_step_timestamp_seconds"):
            pass
        for phase in ("plan", "execute", "commit", "deliver"):
            self.assertGreaterEqual(daemon.metric("glimmer_step_seconds_count", phase=phase), 1)
        while not daemon.metric("vllm:engine_healthy"):
            pass
        while sum(daemon.metric("glimmer_admission_credits", state=state)
                  for state in ("used", "idle", "pool")) != 1024:
            pass
        self.assertEqual(daemon.metric("glimmer_parked_sequences"), 0)


if __name__ == "__main__":
    unittest.main()
