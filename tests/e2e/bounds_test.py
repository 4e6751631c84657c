"""What bounds the server's memory and time, from outside: clients that do not
read, requests that can never fit, backends that hang, short exit times."""

import json
import os
import signal
import subprocess
import sys
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from ferry_process import FerryProcess, wait_until

ROW_BYTES = 1 << 20  # of the model "wide"
UNLIMITED = [("grpc.max_receive_message_length", -1),
             ("grpc.use_local_subchannel_pool", 1)]

# Sends `argv[2]` requests at once to argv[1], says so, and prints how each
# ended.
STOPPED_CLIENT = """
import collections, json, sys
sys.path.insert(0, sys.argv[3])
import grpc
from bounds_test import code_of, start, stub_of
stub = stub_of(sys.argv[1])
calls = [start(stub, "slow_wide") for _ in range(int(sys.argv[2]))]
print("sent", flush=True)
print(json.dumps(collections.Counter(code_of(call) for call in calls)))
"""


def stub_of(address):
    return service_pb2_grpc.GRPCInferenceServiceStub(
        grpc.insecure_channel(address, options=UNLIMITED))


def start(stub, model, row_bytes=ROW_BYTES):
    request = pb.ModelInferRequest(model_name=model)
    request.inputs.add(name="input", datatype="FP32",
                       shape=[1, row_bytes // 4])
    request.raw_input_contents.append(bytes(row_bytes))
    return stub.ModelInfer.future(request)


def code_of(call):
    try:
        call.result(timeout=60)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name
    except grpc.FutureCancelledError:
        return "CANCELLED"


class SlowReaderTest(unittest.TestCase):

    def test_replies_that_nobody_reads_are_bounded(self):
        count = 100
        bound = 16 << 20
        with FerryProcess(f"--grpc-max-unsent-bytes={bound}",
                          models=["wide", "slow_wide"]) as server:

            def metric(name):
                return server.metric(name, model="slow_wide")

            client = subprocess.Popen(
                [sys.executable, "-c", STOPPED_CLIENT, server.address,
                 str(count), os.path.dirname(os.path.abspath(__file__))],
                stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(client.stdout.readline(), "sent\n")
                self.assertTrue(wait_until(
                    lambda: metric("ferry_queue_requests") >= count - 10))
                client.send_signal(signal.SIGSTOP)
                # The oldest replies may lie whole in the connection's buffers,
                # where a drop comes too late, so wait for more than those.
                self.assertTrue(wait_until(lambda: server.metric(
                    "ferry_replies_dropped_total") >= count // 2))
                # A client that reads is served as before.
                reader = stub_of(server.address)
                self.assertEqual(
                    [code_of(start(reader, "wide")) for _ in range(8)],
                    ["OK"] * 8)
                client.send_signal(signal.SIGCONT)
                ended = json.loads(client.communicate(timeout=60)[0])
            finally:
                client.kill()
                client.wait()
                client.stdout.close()
            self.assertEqual(sum(ended.values()), count, ended)
            self.assertEqual(set(ended), {"OK", "CANCELLED"})
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_unsent_reply_bytes") == 0))


class TooLargeTest(unittest.TestCase):

    def test_what_never_fits_is_the_clients_mistake(self):
        with FerryProcess("--queue-bytes=1000000", models=["wide"]) as server:
            self.assertTrue(any("queue-bytes=1000000 is less" in line and "warning" in line
                                for line in server.log), server.log)
            call = start(stub_of(server.address), "wide")
            self.assertEqual(code_of(call), "INVALID_ARGUMENT")
            self.assertIn("expected at most 1000000 bytes", call.details())
            self.assertNotIn("grpc-retry-pushback-ms",
                             dict(call.trailing_metadata()))


class WatchdogTest(unittest.TestCase):

    def hang(self, *flags):
        server = FerryProcess(*flags, models=["endless"])
        self.addCleanup(server.stop)
        call = start(stub_of(server.address), "endless", row_bytes=64)
        self.assertTrue(wait_until(
            lambda: server.metric("ferry_running_batches") == 1))
        return server, call

    def test_hanging_backend_ends_the_process(self):
        server, call = self.hang("--backend-timeout-secs=0.5")
        self.assertEqual(server.wait(), 3)
        self.assertIn("backend hangs model=endless", "".join(server.log))
        self.assertEqual(code_of(call), "UNAVAILABLE")

    def test_backend_that_hangs_while_balancers_are_waited_for(self):
        server, _ = self.hang("--backend-timeout-secs=3",
                              "--drain-delay-secs=60")
        server.signal()
        self.assertEqual(server.wait(), 3)
        log = "".join(server.log)
        self.assertLess(log.index("drains signal"), log.index("cannot go on"))


class ExitTimeoutTest(unittest.TestCase):

    def test_short_exit_time_is_enough_for_an_idle_server(self):
        for seconds in (0, 0.3, 1):
            with FerryProcess(f"--exit-timeout-secs={seconds}") as server:
                server.signal()
                self.assertEqual(server.wait(), 0, "".join(server.log))

    def test_short_exit_time_serves_what_fits_into_it(self):
        with FerryProcess("--exit-timeout-secs=1", models=["slow"]) as server:
            call = start(stub_of(server.address), "slow", row_bytes=64)
            self.assertTrue(wait_until(
                lambda: server.metric("ferry_running_batches") == 1))
            server.signal()
            self.assertEqual(server.wait(), 0, "".join(server.log))
            self.assertEqual(code_of(call), "OK")


if __name__ == "__main__":
    unittest.main()
