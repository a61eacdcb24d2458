"""Starts glimmerd for a test and ends it: the daemon, its port, and raw sockets to it."""

import faulthandler
import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

faulthandler.dump_traceback_later(250, exit=True)  # what hangs says where, and fails

DAEMON = os.environ["GLIMMERD"]
MODEL = os.environ["GLIMMER_MODEL"]


class Daemon:
    """A running glimmerd; ready when the constructor returns."""

    def __init__(self, *flags, model=MODEL, **environment):
        self.process = subprocess.Popen(
            [DAEMON, model, "--port", "0", "--served-model-name", "tiny", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | environment)
        self.port = 0
        self.fields = {}  # header fields of every POST
        for line in self.process.stdout:
            found = re.search(r"ready at http://[\d.]+:(\d+)/v1", line)
            if found:
                self.port = int(found.group(1))
                break
        if not self.port:
            raise RuntimeError(self.process.stderr.read())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self):
        """Ends it and returns (exit code, log)."""
        if self.process.poll() is None:
            self.terminate()
        _, log = self.process.communicate(timeout=60)
        return self.process.returncode, log

    def get(self, path):
        """(status, body) of a GET."""
        return self.request(urllib.request.Request(self.url + path))

    def post(self, path, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Content-Type": "application/json"} | self.fields | headers
        return self.request(urllib.request.Request(self.url + path, data=data, headers=fields))

    @staticmethod
    def request(request):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def metric(self, name, **labels):
        """Sum of the series of a metric whose labels include the given ones."""
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            match = re.match(rf"{re.escape(name)}(?:{{(.*)}})? (\S+)$", line)
            given = match and (match.group(1) or "")
            if match and all(f'{k}="{v}"' in given for k, v in labels.items()):
                total += float(match.group(2))
        return total

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


def chat(**fields):
    """A chat request of a few words."""
    return {"model": "tiny", "messages": [{"role": "user", "content": "Hello there"}],
            "max_tokens": 8, "seed": 7, "ignore_eos": True} | fields


def read_answer(sock):
    """Reads one sized HTTP answer: (head, body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return data.decode("latin-1"), ""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.I)
    while length and len(body) < int(length.group(1)):
        body += sock.recv(65536)
    return head.decode("latin-1"), body.decode()


def read_all(sock):
    """Everything until the peer ends."""
    data = b""
    while more := sock.recv(65536):
        data += more
    return data
