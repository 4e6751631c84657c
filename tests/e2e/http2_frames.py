"""One HTTP/2 connection, frame by frame (RFC 9113), for what no library sends."""

import collections
import socket

TIMEOUT_S = 30
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = (0, 1, 3, 4, 6, 7, 8, 9)
ACK = END_STREAM = 1
END_HEADERS = 4
MAX_FRAME = 16384
MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer"

Frame = collections.namedtuple("Frame", "type flags stream body")


def literal(text):
    """A string of HPACK (RFC 7541, 5.2), as it is."""
    data = text.encode()
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest = len(data) - 127
    size = bytearray([127])
    while rest >= 128:
        size.append(rest % 128 + 128)
        rest //= 128
    return bytes(size) + bytes([rest]) + data


def fields(pairs):
    """A block of names and values, of which none enters a table."""
    return b"".join(b"\x00" + literal(name) + literal(value)
                    for name, value in pairs)


def header_block(path, more=()):
    """The head of a gRPC call."""
    return fields([(":method", "POST"), (":scheme", "http"), (":path", path),
                   (":authority", "x"), ("te", "trailers"),
                   ("content-type", "application/grpc"), *more])


def in_message(request):
    """A protobuf as gRPC sends it."""
    data = request.SerializeToString()
    return b"\x00" + len(data).to_bytes(4, "big") + data


class Connection:
    """`with` closes it. `source`: the address that it comes from."""

    def __init__(self, address, source=""):
        host, port = address.rsplit(":", 1)
        self.peer = socket.create_connection((host, int(port)), TIMEOUT_S,
                                             (source, 0))
        self.stream = self.peer.makefile("rb")
        self.peer.sendall(PREFACE)
        self.send(SETTINGS)

    def send(self, frame_type, flags=0, stream=0, body=b""):
        self.peer.sendall(len(body).to_bytes(3, "big") +
                          bytes([frame_type, flags]) +
                          stream.to_bytes(4, "big") + body)

    def open_call(self, stream, path=MODEL_INFER, more=(), tail=b""):
        """`tail`: fields of HPACK as they are, behind the others."""
        block = header_block(path, more) + tail
        pieces = [block[i:i + MAX_FRAME]
                  for i in range(0, len(block), MAX_FRAME)]
        for i, piece in enumerate(pieces):
            self.send(CONTINUATION if i else HEADERS,
                      END_HEADERS if i == len(pieces) - 1 else 0, stream,
                      piece)

    def ask(self, stream, request, path=MODEL_INFER, more=(), tail=b""):
        """Sends a whole unary call."""
        self.open_call(stream, path, more, tail)
        self.send(DATA, END_STREAM, stream, in_message(request))

    def read(self):
        """Returns the next frame, None at the end. Answers what HTTP/2 asks
        for by itself."""
        head = self.stream.read(9)
        if len(head) < 9:
            return None
        frame = Frame(head[3], head[4], int.from_bytes(head[5:9], "big"),
                      self.stream.read(int.from_bytes(head[:3], "big")))
        if frame.type in (SETTINGS, PING) and not frame.flags & ACK:
            self.send(frame.type, ACK,
                      body=frame.body if frame.type == PING else b"")
        return frame

    def read_until(self, wanted):
        """Returns the frames up to the first that `wanted` takes; fails at the
        end of the connection."""
        frames = []
        while not frames or not wanted(frames[-1]):
            frame = self.read()
            if frame is None:
                raise ConnectionError(f"ended after {frames}")
            frames.append(frame)
        return frames

    def read_all(self):
        frames = []
        while (frame := self.read()) is not None:
            frames.append(frame)
        return frames

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.peer.close()
