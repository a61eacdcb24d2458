"""Thousands of connections of one client, each with one request, on one thread."""

import os
import select
import socket
import struct
import time

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, and leave no port waiting


class Caller:
    """One connection: what was asked, what came."""

    __slots__ = ("sock", "unsent", "raw", "asked_at", "heard_at", "ended")

    def __init__(self, sock, request):
        self.sock, self.unsent, self.raw = sock, request, bytearray()
        self.asked_at = time.monotonic()
        self.heard_at = 0.0
        self.ended = False  # by the server

    def body(self):
        """The body so far, out of its chunks."""
        head, _, rest = bytes(self.raw).partition(b"\r\n\r\n")
        if b"chunked" not in head.lower():
            return rest
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
        return body

    @property
    def status(self):
        return int(self.raw[9:12] or 0)

    @property
    def whole(self):
        """Whether a streamed answer has ended."""
        return self.raw.endswith(b"\r\n0\r\n\r\n")


class Crowd:
    """Many callers; nothing is read but in `listen`, `until` and while others connect."""

    def __init__(self, port):
        self.port = port
        self.poll = select.epoll()
        self.callers = {}

    def call(self, request, times=1):
        """Connects and asks without waiting; returns the new callers."""
        made = []
        for _ in range(times):
            sock = socket.socket()
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            sock.connect_ex(("127.0.0.1", self.port))
            one = self.callers[sock.fileno()] = Caller(sock, request)
            self.poll.register(sock, select.EPOLLIN | select.EPOLLOUT)
            made.append(one)
        return made

    def listen(self, wait=0.1):
        for number, events in self.poll.poll(wait, 4096):
            one = self.callers[number]
            if events & select.EPOLLOUT and one.unsent:
                one.unsent = one.unsent[one.sock.send(one.unsent):]
                if not one.unsent:
                    self.poll.modify(number, select.EPOLLIN)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                self.hear(one)

    def hear(self, one):
        try:
            heard = one.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        if not one.raw:
            one.heard_at = time.monotonic()
        one.raw += heard
        if not heard:
            one.ended = True
            self.poll.unregister(one.sock)

    def until(self, done, seconds=120):
        """Listens until `done()`; fails after a time in which anything should have happened."""
        limit = time.monotonic() + seconds
        while not done():
            if time.monotonic() > limit:
                raise TimeoutError("the server did not answer everybody")
            self.listen()

    def leave(self, callers):
        """They close with a reset, whatever is under way."""
        for one in list(callers):
            del self.callers[one.sock.fileno()]
            one.sock.close()

    def close(self):
        self.leave(self.callers.values())
        self.poll.close()


def resident_bytes(process):
    """Memory of a process that lies in RAM."""
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def http_post(path, body):
    return (b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (path.encode(), len(body))) + body
