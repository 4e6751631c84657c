"""A gRPC client on a bare socket that does what no library lets a client do: it
takes no reply, or sends half of a request."""

import socket
import struct
import threading

from http2_frames import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS, MAX_FRAME,
                          PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
                          header_block)

INITIAL_WINDOW_SIZE = 4
FIRST_WINDOW = 65535


def frame(kind, flags, stream, body=b""):
    return (len(body).to_bytes(3, "big") + bytes([kind, flags]) +
            struct.pack(">I", stream) + body)


class RawClient:
    """`window`: how many bytes of each reply it takes. `patience_s`: how long it
    waits for leave to send more."""

    def __init__(self, address, window=FIRST_WINDOW, patience_s=10):
        self._patience_s = patience_s
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._next_stream = 1
        self._windows = {0: FIRST_WINDOW}  # of what may be sent, by stream
        self._stream_window = FIRST_WINDOW
        self.received = {}  # stream: bytes of DATA
        self.ended = set()  # streams
        self.is_closed = False  # the connection, by either side
        self._write(PREFACE + frame(
            SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))
        threading.Thread(target=self._read, daemon=True).start()

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def start(self, method, message, send=None, more=()):
        """Begins a call with `more` headers, pairs of name and value, of whose
        message it sends `send` bytes: None: all."""
        with self._changed:
            stream = self._next_stream
            self._next_stream += 2
            self._windows[stream] = self._stream_window
        headers = header_block(f"/inference.GRPCInferenceService/{method}", more)
        self._write(frame(HEADERS, END_HEADERS, stream, headers))
        body = b"\x00" + struct.pack(">I", len(message)) + message
        self._send(stream, body if send is None else body[:send], send is None)
        return stream

    def _send(self, stream, body, is_whole):
        at = 0
        while at < len(body):
            with self._changed:
                self._changed.wait_for(
                    lambda: min(self._windows[0], self._windows[stream]) > 0 or
                    stream in self.ended, timeout=self._patience_s)
                size = min(self._windows[0], self._windows[stream],
                           MAX_FRAME, len(body) - at)
                if size <= 0:
                    return  # refused, or not wanted for now
                self._windows[0] -= size
                self._windows[stream] -= size
            try:
                self._write(frame(DATA, 0, stream, body[at:at + size]))
            except OSError:
                return  # the server has closed the connection
            at += size
        if is_whole:
            self._write(frame(DATA, END_STREAM, stream))

    def _write(self, frames):
        with self._sending:
            self._socket.sendall(frames)

    def _read(self):
        try:
            file = self._socket.makefile("rb")
            while head := file.read(9):
                body = file.read(int.from_bytes(head[:3], "big"))
                with self._changed:
                    self._take(head[3], head[4],
                               int.from_bytes(head[5:], "big"), body)
                    self._changed.notify_all()
        except (OSError, ValueError):
            pass  # closed
        self.is_closed = True

    def _take(self, kind, flags, stream, body):
        if kind == SETTINGS and not flags & ACK:
            for key, value in struct.iter_unpack(">HI", body):
                if key == INITIAL_WINDOW_SIZE:
                    for known in self._windows:
                        if known:
                            self._windows[known] += value - self._stream_window
                    self._stream_window = value
            self._write(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._write(frame(PING, ACK, 0, body))
        elif kind == WINDOW_UPDATE:
            self._windows[stream] = (self._windows.get(stream, 0) +
                                     int.from_bytes(body, "big"))
        elif kind == DATA:
            self.received[stream] = self.received.get(stream, 0) + len(body)
        if kind == RST_STREAM or (kind in (DATA, HEADERS) and
                                  flags & END_STREAM):
            self.ended.add(stream)
