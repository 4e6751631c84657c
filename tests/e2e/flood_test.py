"""Floods of frames end their own connection and harm no other: memory stays
bounded, and another client is answered meanwhile and after it."""

import ssl
import tempfile
import time
import unittest

import grpc
from tritonclient.grpc import service_pb2_grpc

import floods
import trust
from attacks import Memory
from ending_test import one_row
from ferry_process import FerryProcess, wait_until

MOST_MIB = 150  # that a flood may add
SECONDS = 3
# What sends it, over how many connections, and what ends it; None: nothing does.
FLOODS = [(floods.resets, 1, "resets"), (floods.empty_calls, 1, "streams"),
          (floods.early_acknowledgement, 1, None), (floods.long_value, 1, "headers"),
          (floods.endless_block, 1, "headers"), (floods.indexed_fields, 1, "headers"),
          (floods.padded_block, 1, "headers"), (floods.hidden_streams, 1, "streams"),
          (floods.pings, 1, "control"), (floods.settings, 1, "control"),
          (floods.empty_data, 1, "control"), (floods.idle_streams, 60, "streams"),
          (floods.held_metadata, 1, "streams"), (floods.silence, 100, None)]


class FloodTest(unittest.TestCase):

    def check_each(self, server, channel, wrap=None):
        def ended(reason):
            return server.metric("ferry_connections_ended_total", reason=reason)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        memory = Memory(server.process.pid)
        for pieces, connections, reason in FLOODS:
            with self.subTest(pieces.__name__):
                before, told = memory.now(), ended(reason)
                worst, answered = before, 0
                with floods.Flood(server.address, pieces, connections,
                                  wrap) as flood:
                    until = time.monotonic() + SECONDS
                    while time.monotonic() < until:
                        stub.ModelInfer(one_row("echo"), timeout=20)
                        worst = max(worst, memory.now())
                        answered += 1
                    if reason is not None:
                        # It may linger before it ends (server/net/lingering.h).
                        self.assertTrue(wait_until(
                            lambda: ended(reason) > told and flood.ended > 0),
                            f"{ended(reason) - told} counted, {flood.ended} ended")
                self.assertGreater(answered, 0)
                self.assertLess(max(worst, memory.now()) - before, MOST_MIB)
        self.assertTrue(stub.ModelInfer(one_row("echo"), timeout=20).raw_output_contents)

    def test_plain_connections(self):
        with FerryProcess() as server:
            with grpc.insecure_channel(server.address) as channel:
                self.check_each(server, channel)
            self.assertTrue(wait_until(lambda: any(
                "connections whose client sent what no client sends" in line
                for line in server.log)))

    def test_connections_with_tls(self):
        with tempfile.TemporaryDirectory(prefix="ferry-trust-") as folder:
            authority = trust.Authority(folder)
            key, certificate = authority.sign("server")
            with FerryProcess(f"--tls-key={key}",
                              f"--tls-cert={certificate}") as server:
                server.tls = ssl.create_default_context(
                    cafile=authority.certificate)
                with grpc.secure_channel(server.address, trust.credentials(
                        authority)) as channel:
                    self.check_each(server, channel,
                                    trust.wrapper(authority.certificate))


if __name__ == "__main__":
    unittest.main()
