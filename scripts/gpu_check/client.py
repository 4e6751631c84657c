"""A gRPC client of a server of this machine, on a bare socket: the machine of a
bundle has no gRPC for Python, and no library lets a client take no reply.

HTTP/2 is RFC 9113, HPACK RFC 7541, the messages those of proto/inference.proto.

Thread safety: thread-compatible; a thread has a connection of its own.
Errors: Refused for a call that the server ended otherwise; OSError where the
connection ended or said nothing in time.
"""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE) = (0, 1, 3, 4, 6, 8)
ACK = END_STREAM = 1
END_HEADERS = 4
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE = 1, 4
FIRST_WINDOW, MOST_WINDOW = 65_535, (1 << 31) - 1
MAX_FRAME = 16_384
CALL_S = 60  # without a byte from the server, at most
SERVICE = "/inference.GRPCInferenceService/"
OK, CANCELLED, RESOURCE_EXHAUSTED = 0, 1, 8  # of gRPC


class Refused(Exception):
    """A call that did not end with OK."""

    def __init__(self, code, text):
        super().__init__(f"code {code}: {text}")
        self.code = code


# --- messages -----------------------------------------------------------------


def varint(number):
    made = bytearray()
    while number >= 128:
        made.append(number % 128 + 128)
        number //= 128
    return bytes(made + bytes([number]))


def field(number, content):
    """Text, bytes or a message, as a field of a message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def read_varint(message, at):
    """Returns the number there, and where the next begins."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def contents(message, wanted):
    """Returns what of a message's fields has that number: text and bytes as
    bytes."""
    found, at = [], 0
    while at < len(message):
        tag, at = read_varint(message, at)
        if tag & 7 == 2:
            size, at = read_varint(message, at)
            value, at = message[at:at + size], at + size
        else:  # the messages that are read here have numbers beside
            value, at = read_varint(message, at)
        if tag >> 3 == wanted:
            found.append(value)
    return found


def infer_message(model, name, shape, data):
    """A ModelInferRequest of one input, FP32."""
    tensor = (field(1, name) + field(2, "FP32") +
              field(3, b"".join(map(varint, shape))))
    return field(1, model) + field(5, tensor) + field(7, data)


def literal(text):
    """A short string of HPACK, as it is."""
    return bytes([len(text)]) + text.encode()


def header_block(method):
    """The head of a call; nothing of it enters a table."""
    fields = ((":method", "POST"), (":scheme", "http"),
              (":path", SERVICE + method), (":authority", "127.0.0.1"),
              ("te", "trailers"), ("content-type", "application/grpc"))
    return b"".join(b"\0" + literal(name) + literal(value)
                    for name, value in fields)


def header_value(block, name):
    """Returns that header's text, or None. It stands there as it is: gRPC does
    not compress, and there is no table of what came before."""
    at = block.find(literal(name))
    if at < 0:
        return None
    at += 1 + len(name)
    size, at = block[at], at + 1
    if size == 127:  # the rest of it follows
        more, at = read_varint(block, at)
        size += more
    return block[at:at + size].decode(errors="replace")


# --- a connection -------------------------------------------------------------


class Connection:
    """`window`: how many bytes of each reply it takes; `with` closes it."""

    def __init__(self, port, window=MOST_WINDOW):
        self._socket = socket.create_connection(("127.0.0.1", port), CALL_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = self._socket.makefile("rb")
        self._next = 1
        self._may_send = {0: FIRST_WINDOW}  # bytes, by stream
        self._first = FIRST_WINDOW  # of a stream
        self._replies = {}  # by stream
        self._ended = {}  # stream: code and text
        self._socket.sendall(PREFACE)
        self._send(SETTINGS, 0, 0, struct.pack(
            ">HIHI", HEADER_TABLE_SIZE, 0, INITIAL_WINDOW_SIZE, window))
        self._send(WINDOW_UPDATE, 0, 0,
                   struct.pack(">I", MOST_WINDOW - FIRST_WINDOW))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._reader.close()
        self._socket.close()

    def infer(self, model, name, shape, data):
        """Returns the bytes of each output."""
        return contents(self.call("ModelInfer", infer_message(
            model, name, shape, data)), 6)

    def call(self, method, message):
        """Returns the reply's message."""
        return self.finish(self.begin(method, message))

    def begin(self, method, message):
        """Sends a call, whole, and returns its stream."""
        stream, self._next = self._next, self._next + 2
        self._may_send[stream] = self._first
        self._replies[stream] = bytearray()
        self._send(HEADERS, END_HEADERS, stream, header_block(method))
        body = b"\0" + struct.pack(">I", len(message)) + message
        at = 0
        while at < len(body):
            size = min(self._may_send[0], self._may_send[stream], MAX_FRAME,
                       len(body) - at)
            if size > 0:
                for of in (0, stream):
                    self._may_send[of] -= size
                at += size
                self._send(DATA, END_STREAM if at == len(body) else 0, stream,
                           body[at - size:at])
            elif stream in self._ended:
                break  # refused before all of it came
            else:
                self.take_frame()
        return stream

    def finish(self, stream):
        """Returns the reply of a call that was begun."""
        while stream not in self._ended:
            self.take_frame()
        code, text = self._ended.pop(stream)
        reply = bytes(self._replies.pop(stream))
        self._may_send.pop(stream)
        if code != OK:
            raise Refused(code, text)
        return reply[5:]

    def widen(self, stream, size):
        """Takes so many more bytes of a reply."""
        self._send(WINDOW_UPDATE, 0, stream, struct.pack(">I", size))

    def has_ended(self, stream):
        return stream in self._ended

    def received(self, stream):
        return len(self._replies[stream])

    def _send(self, kind, flags, stream, body=b""):
        self._socket.sendall(len(body).to_bytes(3, "big") +
                             bytes([kind, flags]) +
                             struct.pack(">I", stream) + body)

    def take_frame(self):
        """Waits for a frame and does what it asks for."""
        head = self._reader.read(9)
        body = self._reader.read(int.from_bytes(head[:3], "big"))
        if len(head) < 9:
            raise ConnectionError("the server closed the connection")
        kind, flags = head[3], head[4]
        stream = int.from_bytes(head[5:9], "big")
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(body)
        elif kind == PING and not flags & ACK:
            self._send(PING, ACK, 0, body)
        elif kind == WINDOW_UPDATE:
            self._may_send[stream] = (self._may_send.get(stream, 0) +
                                      int.from_bytes(body, "big"))
        elif kind == DATA and body:
            self._replies[stream] += body
            self.widen(0, len(body))
        elif kind == HEADERS and flags & END_STREAM:
            code = header_value(body, "grpc-status")
            self._ended[stream] = (int(code or -1),
                                   header_value(body, "grpc-message") or "")
        elif kind == RST_STREAM and stream not in self._ended:
            self._ended[stream] = CANCELLED, "the server reset the call"

    def _take_settings(self, body):
        for key, value in struct.iter_unpack(">HI", body):
            if key == INITIAL_WINDOW_SIZE:
                for known in self._may_send:
                    if known:
                        self._may_send[known] += value - self._first
                self._first = value
        self._send(SETTINGS, ACK, 0)
