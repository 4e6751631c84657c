"""Clients of a proxy that pass its bounds, and what tells them so."""

import contextlib
import os
import resource
import signal
import socket

import grpc
from tritonclient.grpc import service_pb2_grpc

import proxy_floods
from ending_test import one_row
from http2_frames import (DATA, HEADERS, MODEL_INFER, RST_STREAM, SETTINGS,
                          Connection, header_block)
from ferry_process import wait_until
from raw_http2 import RawClient

CONNECTIONS = 4096  # of all clients
OF_ONE = 500  # of them, fewer than one address may have
STREAMS = 1000  # of a connection
HALVES, HALF_MIB = 4, 8  # clients, and what each sends of its message
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


@contextlib.contextmanager
def half_sent(address, memories):
    """Gives clients that send half of a message, which the proxy has passed on."""
    before = sum(memory.now() for memory in memories)
    clients = [RawClient(address) for _ in range(HALVES)]
    try:
        for client in clients:
            client.start("ModelInfer", bytes(2 * HALF_MIB << 20), send=HALF_MIB << 20)
        if not wait_until(lambda: sum(memory.now() for memory in memories) >
                          before + HALVES * HALF_MIB / 2):
            raise AssertionError("the proxy kept what was sent")
        yield clients
    finally:
        for client in clients:
            client.close()


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
