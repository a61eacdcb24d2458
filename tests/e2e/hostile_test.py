#!/usr/bin/env python3
"""Bad input and bad manners over real sockets: a clear answer, and the next request is served."""

import json
import re
import socket
import unittest

from daemon import Daemon, chat, read_all, read_answer


def raw_chat(body, *fields):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = ["POST /v1/chat/completions HTTP/1.1", "Host: x", "Content-Type: application/json",
            f"Content-Length: {len(data)}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--header-timeout-ms", "700", "--max-body-bytes", "1M",
                            "--max-connections", "3000")

    @classmethod
    def tearDownClass(cls):
        code, log = cls.daemon.end()
        assert code == 0, log

    def tearDown(self):
        """Whatever happened, the server answers, and nothing is left behind."""
        status, body = self.daemon.post("/v1/chat/completions", chat())
        self.assertEqual(status, 200, body)
        while self.daemon.metric("vllm:num_requests_running"):
            pass
        while self.daemon.metric("glimmer_kv_blocks", state="active"):
            pass

    def refused(self, body, status=400, param=None, code=None):
        got, text = self.daemon.post("/v1/chat/completions", body)
        self.assertEqual(got, status, text)
        error = json.loads(text)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertNotRegex(error["message"], r"0x[0-9a-f]{6,}|\.cpp|/usr/")
        if param is not None:
            self.assertEqual(error["param"], param)
        if code is not None:
            self.assertEqual(error["code"], code)

    def test_broken_json(self):
        for body in (b"", b"{", b"{\"a\":}", b"[1,]", b"nul", b"\xff\xfe", b"{} {}",
                     b"{\"model\": \"\\ud800\"}", b"{\"temperature\": NaN}"):
            self.refused(body)

    def test_json_nested_a_hundred_thousand_deep(self):
        for opener in (b"[", b"{\"a\":"):
            self.refused(opener * 100_000)
            inner = b"{\"model\": \"tiny\", \"messages\": [], \"unknown\": "
            self.refused(inner + opener * 100_000)

    def test_values_out_of_range(self):
        for field, value in (("temperature", -1), ("temperature", "warm"), ("top_p", 0),
                             ("top_p", 1.5), ("top_k", -2), ("min_p", 2), ("max_tokens", 0),
                             ("max_tokens", -1), ("n", 0), ("n", 1_000_000_000),
                             ("presence_penalty", 3), ("frequency_penalty", -3),
                             ("repetition_penalty", 0), ("seed", "x"), ("stop", 5),
                             ("stream", "yes"), ("top_logprobs", 99), ("min_tokens", -1),
                             ("messages", "hello"), ("tools", {}), ("stop", ["a"] * 99)):
            self.refused(chat(**{field: value, "logprobs": True}), param=field)
        self.refused(json.dumps(chat())[:-1].encode() + b", \"top_p\": 1e999}", param="top_p")

    def test_token_ids_out_of_range(self):
        for token in ("-1", "2147483648", "1024", "x"):
            got, text = self.daemon.post("/v1/chat/completions", chat(logit_bias={token: 1}))
            self.assertEqual(got, 400)
            self.assertIn("logit_bias", json.loads(text)["error"]["param"])

    def test_unknown_model_and_long_prompt(self):
        self.refused(chat(model="other"), status=404, code="model_not_found")
        self.refused(chat(messages=[{"role": "user", "content": "a b c " * 5000}]),
                     code="context_length_exceeded")

    def test_images_are_refused_clearly(self):
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        self.refused(chat(messages=[{"role": "user", "content": [image]}]),
                     code="unsupported_parameter")

    def test_unknown_routes_and_methods(self):
        self.assertEqual(self.daemon.get("/nothing")[0], 404)
        self.assertEqual(self.daemon.get("/v1/chat/completions")[0], 405)
        self.assertEqual(self.daemon.post("/v1/models", {})[0], 405)

    def test_http_garbage(self):
        for garbage in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 64,
                        b"GET / HTTP/9.9\r\n\r\n", b"GET /\x01 HTTP/1.1\r\n\r\n",
                        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n"):
            with self.daemon.socket() as sock:
                sock.sendall(garbage)
                sock.shutdown(socket.SHUT_WR)
                answer = read_all(sock)
            self.assertTrue(answer == b"" or re.match(rb"HTTP/1.1 (400|505)", answer), answer)

    def test_a_flood_of_header_fields(self):
        with self.daemon.socket() as sock:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
            try:
                for i in range(3000):
                    sock.sendall(f"X-Field-{i}: {'y' * 60}\r\n".encode())
                answer = read_answer(sock)[0]
            except ConnectionError:
                return
            self.assertRegex(answer, r"HTTP/1.1 (400|431)")

    def test_a_body_over_the_limit(self):
        with self.daemon.socket() as sock:
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                         b"Content-Length: 99999999\r\n\r\n")
            self.assertRegex(read_answer(sock)[0], r"HTTP/1.1 413")

    def test_a_slow_header_is_cut_off(self):
        with self.daemon.socket() as sock:
            sock.sendall(b"GET /health HTTP/1.1\r\n")
            answer = read_all(sock)
        self.assertTrue(answer == b"" or b"408" in answer.split(b"\r\n")[0], answer)

    def test_a_thousand_idle_connections(self):
        idle = [self.daemon.socket() for _ in range(1000)]
        self.assertEqual(self.daemon.get("/health")[0], 200)
        self.assertEqual(self.daemon.post("/v1/chat/completions", chat())[0], 200)
        for sock in idle:
            sock.close()

    def test_expect_100_continue(self):
        body = json.dumps(chat()).encode()
        with self.daemon.socket() as sock:
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                         b"Expect: 100-continue\r\n"
                         + f"Content-Length: {len(body)}\r\n\r\n".encode())
            self.assertIn("100 Continue", read_answer(sock)[0])
            sock.sendall(body)
            self.assertIn("200 OK", read_answer(sock)[0])

    def test_chunked_bodies(self):
        body = json.dumps(chat()).encode()
        chunks = b"".join(f"{len(body[i:i + 9]):x}\r\n".encode() + body[i:i + 9] + b"\r\n"
                          for i in range(0, len(body), 9))
        with self.daemon.socket() as sock:
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
            self.assertIn("200 OK", read_answer(sock)[0])

    def test_head_keep_alive_and_pipelining(self):
        with self.daemon.socket() as sock:
            sock.sendall(b"HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(65536)
            self.assertTrue(head.endswith(b"\r\n\r\n"))
            self.assertRegex(head, rb"(?i)content-length: [1-9]")
            sock.sendall(raw_chat(chat(seed=1)) + raw_chat(chat(seed=2))
                         + b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answers = read_all(sock).decode()
        self.assertEqual(answers.count("HTTP/1.1 200 OK"), 3)
        self.assertLess(answers.index("chat.completion"), answers.index("\"version\""))

    def test_a_half_closed_socket_is_a_client_that_left(self):
        before = self.daemon.metric("vllm:request_success_total", finished_reason="abort")
        with self.daemon.socket() as sock:
            sock.sendall(raw_chat(chat(max_tokens=4000)))
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
        while self.daemon.metric("vllm:request_success_total",
                                 finished_reason="abort") == before:
            pass

    def test_unary_requests_of_gone_clients_are_cancelled(self):
        sock = self.daemon.socket()
        sock.sendall(raw_chat(chat(max_tokens=4000)))
        while not self.daemon.metric("vllm:num_requests_running"):
            pass
        sock.close()
        while self.daemon.metric("vllm:num_requests_running"):
            pass


class OverloadTest(unittest.TestCase):
    def test_a_429_comes_with_the_body_unread(self):
        daemon = Daemon("--max-num-queued-reqs", "1")
        with daemon.socket() as busy, daemon.socket() as late:
            busy.sendall(raw_chat(chat(stream=True, max_tokens=4000)))
            busy.recv(1)
            late.sendall(raw_chat(chat())[:-5])
            head, body = read_answer(late)
            self.assertRegex(head, r"HTTP/1.1 429")
            self.assertRegex(head, r"(?i)retry-after: \d")
            self.assertEqual(json.loads(body)["error"]["code"], "queue_full")
        code, log = daemon.end()
        self.assertEqual(code, 0, log)


if __name__ == "__main__":
    unittest.main()
