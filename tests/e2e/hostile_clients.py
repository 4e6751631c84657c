"""Hostile clients attack a server, each kind in a process of its own and at a pace
of its own: what they send a second is bounded, so that the server is what gives in
and not the machine that they share with it.

Usage: hostile_clients.py NAME ADDRESS TOKEN SECONDS FILE

FILE gets, as JSON, what was sent and what came back, by kind.
"""

import asyncio
import collections
import functools
import json
import re
import socket
import sys
import time
import zlib

import grpc
from tritonclient.grpc import service_pb2_grpc

import floods
import trust
import wrong_requests
from ending_test import one_row
from http2_frames import (DATA, END_STREAM, HEADERS, MAX_FRAME, MODEL_INFER, PREFACE,
                          RST_STREAM, Connection, header_block)
from raw_http2 import RawClient

CALL_S = 20
HALF_OPEN = 200  # connections
HALF_SENT = 100  # connections, a message each
HALF_SENT_A_SECOND = 50  # until there are so many
IMAGE_BYTES = 3 * 224 * 224 * 4  # of such a message
BOMB_BYTES = 32 << 20
BOMBS_A_SECOND = 10
FIELDS = 1000  # a call; frame_counter.h allows 4,000
TOO_MANY_FIELDS = 5000
FIELD_BYTES = 100
FLOODS_A_SECOND = 20
STREAMS_A_SECOND = 100
RESETS_A_SECOND = 900  # below what a connection is allowed
FULL_SPEED_A_SECOND = 2  # connections; the server ends each by its resets
SHAPES_A_SECOND = 100


class Account:
    """What was sent, and what came back."""

    def __init__(self):
        self.sent = collections.Counter()
        self.back = collections.Counter()


def ticks(rate, seconds):
    """Yields `rate` times a second; what is late is left out, not caught up."""
    due = time.monotonic()
    until = due + seconds
    while (now := time.monotonic()) < until:
        if now < due:
            time.sleep(min(due, until) - now)
        else:
            due = max(due + 1 / rate, now)
            yield


async def async_ticks(rate, seconds):
    """The same, where other calls go on meanwhile."""
    due = time.monotonic()
    until = due + seconds
    while (now := time.monotonic()) < until:
        if now < due:
            await asyncio.sleep(min(due, until) - now)
        else:
            due = max(due + 1 / rate, now)
            yield


def name_of(status):
    return next(code.name for code in grpc.StatusCode if code.value[0] == status)


def outcome_on_own_connection(address, more, body):
    """Returns how a call of ModelInfer with those headers and that body ended."""
    try:
        with Connection(address) as connection:
            connection.open_call(1, more=more)
            pieces = [body[i:i + MAX_FRAME] for i in range(0, len(body), MAX_FRAME)]
            for piece in pieces:
                connection.send(DATA, 0, 1, piece)
            connection.send(DATA, END_STREAM, 1)
            last = connection.read_until(lambda frame: frame.stream == 1 and (
                frame.type == RST_STREAM or
                frame.type == HEADERS and frame.flags & END_STREAM))[-1]
    except OSError:
        return "connection ended"
    if last.type == RST_STREAM:
        return "RST_STREAM"
    return name_of(int(re.search(rb"grpc-status[\1\2](\d+)", last.body).group(1)))


# --- the attacks ---

def half_open(address, _, seconds, account):
    """Connections that send nothing, or half of HTTP/2's preface, and wait."""
    host, port = address.rsplit(":", 1)
    peers = {}
    for _ in ticks(5, seconds):
        for number in range(HALF_OPEN):
            if number in peers and is_ended(peers[number]):
                peers.pop(number).close()
                account.back["connection ended"] += 1
            if number not in peers:
                try:
                    peers[number] = socket.create_connection((host, int(port)), 5)
                    peers[number].sendall(PREFACE[:12] if number % 2 else b"")
                    account.sent["connections"] += 1
                except OSError as error:
                    account.back[type(error).__name__] += 1
    account.back["open at the end"] = len(peers)


def is_ended(peer):
    try:
        peer.setblocking(False)
        return peer.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def half_messages(address, token, seconds, account):
    """Calls that send half of a message of an image and stay open; each second one
    of them is begun anew."""
    peers = collections.deque()

    def end_one():
        peer = peers.popleft()
        account.back["ended by the server" if peer.ended or peer.is_closed
                     else "still open"] += 1
        peer.close()
    for number, _ in enumerate(ticks(HALF_SENT_A_SECOND, seconds)):
        if len(peers) == HALF_SENT and number % HALF_SENT_A_SECOND == 0:
            end_one()
        if len(peers) < HALF_SENT:
            try:
                peers.append(RawClient(address, patience_s=1))
                peers[-1].start("ModelInfer", bytes(IMAGE_BYTES),
                                send=IMAGE_BYTES // 2, more=trust.bearer(token))
                account.sent["half messages"] += 1
            except OSError as error:
                account.back[type(error).__name__] += 1
    while peers:
        end_one()


def gzip_bombs(address, token, seconds, account):
    """Messages of 32 kB that inflate to 32 MiB, each on a connection of its own."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(bytes(BOMB_BYTES)) + packer.flush()
    body = b"\1" + len(bomb).to_bytes(4, "big") + bomb
    more = (("grpc-encoding", "gzip"), *trust.bearer(token))
    for _ in ticks(BOMBS_A_SECOND, seconds):
        account.sent["bombs"] += 1
        account.back[outcome_on_own_connection(address, more, body)] += 1


def metadata_flood(address, _, seconds, account):
    """Calls with 1,000 fields of 100 bytes, and each tenth with 5,000, without a
    token; each on a connection of its own."""
    fields = [(f"x-{i:04}", "v" * FIELD_BYTES) for i in range(TOO_MANY_FIELDS)]
    for number, _ in enumerate(ticks(FLOODS_A_SECOND, seconds)):
        count = FIELDS if number % 10 else TOO_MANY_FIELDS
        account.sent[f"calls of {count} fields"] += 1
        account.back[outcome_on_own_connection(address, fields[:count], b"")] += 1


def stream_churn(address, token, seconds, account):
    """Streams of inferences that are begun and ended at once: one half asks once and
    reads the answer, the other is cancelled as it asks."""
    async def one(stub, number):
        async def ask():
            yield one_row("echo")
            await asyncio.sleep(CALL_S if number % 2 else 0)
        call = stub.ModelStreamInfer(ask(), metadata=trust.bearer(token),
                                     timeout=CALL_S)
        if number % 2:
            await call.wait_for_connection()
            call.cancel()
        try:
            async for answer in call:
                account.back[answer.error_message[:40] or "answer"] += 1
        except asyncio.CancelledError:
            account.back["cancelled by itself"] += 1
    asyncio.run(through_stub(address, STREAMS_A_SECOND, seconds, account, "streams",
                             one))


def rapid_resets(address, token, seconds, account):
    """Calls that are begun and reset: at full speed until the server ends their
    connection, of which two a second are begun, and on one more 900 a second, which
    is allowed."""
    head = header_block(MODEL_INFER, trust.bearer(token))

    def paced():
        yield from floods.acknowledge()
        first = 1
        for _ in ticks(10, seconds):
            numbers = range(first, first + RESETS_A_SECOND // 5, 2)
            yield b"".join(floods.reset(number, head) for number in numbers)
            account.sent["resets at a pace"] += len(numbers)
            first = numbers.stop
            yield b""
    with floods.Flood(address, paced) as allowed:
        with floods.Flood(address, functools.partial(floods.resets, head),
                          pause_s=1 / FULL_SPEED_A_SECOND) as flood:
            time.sleep(seconds)
    account.sent["connections at full speed"] = flood.begun
    account.sent["bytes at full speed"] = flood.sent
    account.back["ended at full speed"] = flood.ended
    account.back["ended at a pace"] = allowed.ended


def impossible_shapes(address, token, seconds, account):
    """Inferences of the honest client's model whose shape cannot be."""
    requests = []
    for wrong in wrong_requests.TYPES_AND_SHAPES:
        requests.append(wrong.request())
        if requests[-1].model_name == "echo":
            requests[-1].model_name = "sim"  # it has the same tensors

    async def one(stub, number):
        await stub.ModelInfer(requests[number % len(requests)], timeout=CALL_S,
                              metadata=trust.bearer(token))
        account.back["OK"] += 1
    asyncio.run(through_stub(address, SHAPES_A_SECOND, seconds, account, "requests",
                             one))


async def through_stub(address, rate, seconds, account, what, one):
    """Starts `one` at that rate over a channel."""
    async def counted(stub, number):
        try:
            await one(stub, number)
        except grpc.RpcError as error:
            account.back[error.code().name] += 1
    async with grpc.aio.insecure_channel(address, options=[
            ("grpc.enable_retries", 0)]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        calls = set()
        async for _ in async_ticks(rate, seconds):
            calls.add(asyncio.ensure_future(counted(stub, account.sent[what])))
            account.sent[what] += 1
            calls = {call for call in calls if not call.done()}
        if calls:
            await asyncio.wait(calls, timeout=CALL_S)


ATTACKS = (half_open, half_messages, gzip_bombs, metadata_flood, stream_churn,
           rapid_resets, impossible_shapes)
MODELS = ("sim", "echo", "any_shape", "whole")  # of ferry_process that they ask


def main(name, address, token, seconds, path):
    attack = next(attack for attack in ATTACKS if attack.__name__ == name)
    account = Account()
    attack(address, token, float(seconds), account)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"sent": account.sent, "back": account.back}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
