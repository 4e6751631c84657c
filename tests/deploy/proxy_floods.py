"""Floods through a proxy: another client of it is answered meanwhile, and no stream
of that client ends, as one would with a connection to a server that both share."""

import contextlib
import queue
import time

import grpc
from tritonclient.grpc import service_pb2_grpc

import floods
from attacks import Memory
from ending_test import one_row
from ferry_process import wait_until

# Bounds of an address meet this client alone.
FLOODER = "127.0.0.2"
MOST_MIB = 150  # that a flood may add to a server
SECONDS = 2  # of a flood, each from an address of its own
# What sends it, and over how many connections.
FLOODS = [(floods.resets, 1), (floods.stream_resets, 8), (floods.empty_calls, 1),
          (floods.early_acknowledgement, 1), (floods.wrong_trailers, 8),
          (floods.long_value, 1), (floods.endless_block, 1),
          (floods.indexed_fields, 1), (floods.padded_block, 1),
          (floods.hidden_streams, 1), (floods.pings, 1), (floods.settings, 1),
          (floods.empty_data, 1), (floods.idle_streams, 60), (floods.silence, 100)]


class Stream:
    """One ModelStreamInfer, which no proxy and no client sends again."""

    def __init__(self, stub):
        self._requests = queue.SimpleQueue()
        self._replies = stub.ModelStreamInfer(iter(self._requests.get, None),
                                              timeout=60)

    def ask(self):
        self._requests.put(one_row("sim"))
        return next(self._replies)

    def close(self):
        self._requests.put(None)
        self._replies.cancel()


def check_each(case, launched, address):
    """Sends each flood to the proxy at `address`, which is in front of `launched`,
    servers of the model "sim"."""
    servers = launched.wait_until_ready()
    memories = [Memory(server["pid"]) for server in servers]
    with grpc.insecure_channel(address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

        def is_answered():
            try:
                return stub.ModelInfer(one_row("sim"), timeout=20)
            except grpc.RpcError:
                return None

        for number, (pieces, connections) in enumerate(FLOODS):
            with case.subTest(pieces.__name__), contextlib.ExitStack() as stack:
                case.assertTrue(wait_until(is_answered, 30))
                before = [memory.now() for memory in memories]
                worst = before
                streams = [stack.enter_context(contextlib.closing(Stream(stub)))
                           for _ in servers]
                answered = 0
                with floods.Flood(address, pieces, connections,
                                  source=f"127.0.1.{number + 1}") as flood:
                    until = time.monotonic() + SECONDS
                    while time.monotonic() < until:
                        stub.ModelInfer(one_row("sim"), timeout=20)
                        for stream in streams:
                            case.assertFalse(stream.ask().error_message)
                        worst = [max(was, memory.now())
                                 for was, memory in zip(worst, memories)]
                        answered += 1
                case.assertGreater(answered, 0)
                case.assertGreaterEqual(flood.connected, connections)
                for most, was in zip(worst, before):
                    case.assertLess(most - was, MOST_MIB)
                case.assertEqual(
                    [(one["pid"], one["state"]) for one in launched.status()],
                    [(one["pid"], "ready") for one in servers])
        case.assertTrue(is_answered())


def refused(address, calls):
    """Returns why the first of `calls` that is not answered is refused by a proxy."""
    with grpc.insecure_channel(address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for _ in range(calls):
            try:
                stub.ModelInfer(one_row("sim"), timeout=20)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                return error.details()
    return None
