"""Clients of a proxy that pass its bounds, and what tells them so."""

import contextlib
import os
import queue
import resource
import signal
import socket

import grpc
from tritonclient.grpc import service_pb2_grpc

import proxy_floods
from attacks import Memory
from ending_test import one_row
from ferry_process import wait_until
from http2_frames import (DATA, HEADERS, MODEL_INFER, RST_STREAM, SETTINGS,
                          Connection, header_block)
from raw_http2 import RawClient

CONNECTIONS = 4096  # of all clients
OF_ONE = 500  # of them, fewer than one address may have
STREAMS = 1000  # of a connection
HALVES, HALF_MIB = 4, 8  # clients, and what each sends of its message
QUIET_S = 3
MANY_FIELDS = [(f"x-{i}", "v") for i in range(110)]


def ask(connection, stream=1, more=()):
    """Asks for an inference; fails where it is not answered."""
    connection.ask(stream, one_row("sim"), more=more)
    connection.read_until(lambda frame: frame.stream == stream and
                          frame.type == DATA)


def serve(address, source=""):
    """Asks over a connection of its own."""
    with Connection(address, source) as connection:
        ask(connection)


def fill(stack, address):
    """Returns as many connections as the proxy takes of all clients, from addresses
    of which each is within its bounds."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, port = address.rsplit(":", 1)
    return [stack.enter_context(contextlib.closing(socket.create_connection(
        (host, int(port)), 30, (f"127.0.2.{1 + number // OF_ONE}", 0))))
            for number in range(CONNECTIONS)]


def open_calls(connection, count):
    """Begins calls that send nothing more. The proxy has told its bound of them."""
    told = connection.read_until(lambda frame: frame.type == SETTINGS)[-1].body
    if b"\0\3" + STREAMS.to_bytes(4, "big") not in told:
        raise AssertionError(f"{told}: expected {STREAMS} streams")
    for number in range(count):
        connection.open_call(2 * number + 1)


def first_reset(connection):
    """Returns which call the proxy resets first, and the code."""
    frame = connection.read_until(lambda frame: frame.type == RST_STREAM)[-1]
    return frame.stream, int.from_bytes(frame.body, "big")


def check_half_sent(case, address, servers):
    """Clients send half of a message: the proxy passes it on, and another client is
    served. None of them is ended in `QUIET_S`."""
    memories = [Memory(server["pid"]) for server in servers]
    before = sum(memory.now() for memory in memories)
    clients = [case.enterContext(contextlib.closing(RawClient(address)))
               for _ in range(HALVES)]
    for client in clients:
        client.start("ModelInfer", bytes(2 * HALF_MIB << 20), send=HALF_MIB << 20)
    case.assertTrue(wait_until(lambda: sum(memory.now() for memory in memories) >
                               before + HALVES * HALF_MIB / 2))
    serve(address)
    case.assertFalse(wait_until(lambda: any(
        client.ended or client.is_closed for client in clients), QUIET_S))


def code_of_silence(address):
    """Returns the code of a stream that sends nothing, once the proxy ends it."""
    requests = queue.SimpleQueue()
    with grpc.insecure_channel(address) as channel:
        replies = service_pb2_grpc.GRPCInferenceServiceStub(
            channel).ModelStreamInfer(iter(requests.get, None), timeout=60)
        try:
            return next(replies)
        except grpc.RpcError as error:
            return error.code()
        finally:
            requests.put(None)


def begin_headers(connection, stream):
    """Sends headers that do not end."""
    connection.send(HEADERS, 0, stream, header_block(MODEL_INFER))


def code_of_a_cut_stream(channel, servers):
    """Returns the code of a stream that has an answer when its server is killed."""
    stream = proxy_floods.Stream(service_pb2_grpc.GRPCInferenceServiceStub(channel))
    with contextlib.closing(stream):
        stream.ask()
        for server in servers:
            os.kill(server["pid"], signal.SIGKILL)
        try:
            return stream.ask()
        except grpc.RpcError as error:
            return error.code()
