"""What bounds the server's memory and time, from outside: clients that do not
read, requests that can never fit, backends that hang, short exit times."""

import concurrent.futures
import itertools
import json
import os
import signal
import subprocess
import sys
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ferry_process
from ferry_process import FerryProcess, wait_until
from raw_http2 import RawClient

ROW_BYTES = 1 << 20  # of the model "wide"
AHEAD = 1024  # requests of a stream without an answer
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


def varint(number):
    """A number as protobuf writes it."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes(written + bytes([number]))


def stub_of(address):
    return service_pb2_grpc.GRPCInferenceServiceStub(
        grpc.insecure_channel(address, options=UNLIMITED))


def rows_for(model, row_bytes=ROW_BYTES, rows=1):
    request = pb.ModelInferRequest(model_name=model)
    request.inputs.add(name="input", datatype="FP32",
                       shape=[rows, row_bytes // 4])
    request.raw_input_contents.append(bytes(rows * row_bytes))
    return request


def start(stub, model, row_bytes=ROW_BYTES):
    return stub.ModelInfer.future(rows_for(model, row_bytes))


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


    def test_unread_replies_of_small_rpcs_are_bounded(self):
        count = 200
        bound = 16 << 20
        ferry_process.MODELS["long"] = ferry_process.LONG_CONFIG
        self.addCleanup(ferry_process.MODELS.pop, "long")
        with FerryProcess(f"--grpc-max-unsent-bytes={bound}",
                          models=["echo", "long"]) as server:
            request = pb.ModelConfigRequest(name="long")
            clients = [RawClient(server.address, window=0) for _ in range(2)]
            for client in clients:
                self.addCleanup(client.close)
                for _ in range(count // 2):
                    client.start("ModelConfig", request.SerializeToString())
            # A refusal is read in spite of the window, a config is not.
            self.assertTrue(wait_until(
                lambda: sum(len(client.ended) for client in clients) >=
                count - bound // 850_000))
            unsent = server.metric("ferry_unsent_reply_bytes")
            self.assertGreater(unsent, bound // 2)
            self.assertLessEqual(unsent, bound)
            # Who reads is served: the oldest of the others make room.
            reader = stub_of(server.address)
            self.assertTrue(wait_until(lambda: code_of(
                reader.ModelConfig.future(request)) == "OK"))
            self.assertEqual(code_of(start(reader, "echo", 64)), "OK")
            for client in clients:
                client.close()
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_unsent_reply_bytes") == 0))

    def test_joined_replies_that_nobody_reads_take_no_room_of_others(self):
        bytes_at_once = 64 << 20
        rows = 16  # two batches
        with FerryProcess(f"--queue-bytes={bytes_at_once}",
                          models=["wide"]) as server:
            request = rows_for("wide", rows=rows)
            client = RawClient(server.address, window=0)
            self.addCleanup(client.close)
            for _ in range(bytes_at_once // (rows * ROW_BYTES)):
                client.start("ModelInfer", request.SerializeToString())
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_unsent_reply_bytes") >= bytes_at_once))
            reader = stub_of(server.address)
            self.assertEqual(
                code_of(reader.ModelInfer.future(request)), "OK")


class SmallMessageTest(unittest.TestCase):

    def refusal(self, call):
        """Returns the text with which a call is refused as invalid."""
        with self.assertRaises(grpc.RpcError) as caught:
            next(iter(call()))
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.INVALID_ARGUMENT)
        return caught.exception.details()

    def test_small_rpcs_look_at_the_size_before_they_parse(self):
        service = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
        rpcs = {f"inference.GRPCInferenceService/{rpc.name}": rpc.name
                for rpc in service.methods
                if rpc.name not in ("ModelInfer", "ModelStreamInfer")}
        self.assertGreater(len(rpcs), 15)
        rpcs.update({"grpc.health.v1.Health/Check": "HealthCheck",
                     "grpc.health.v1.Health/Watch": "HealthCheck",
                     "ferry.v1.Admin/GetRuntimeOptions": "GetRuntimeOptions",
                     "ferry.v1.Admin/SetRuntimeOptions": "SetRuntimeOptions",
                     "ferry.v1.Admin/Drain": "Drain"})
        # A field of bytes that no request has, and one that is cut.
        large = b"\xa2\x06\x80\x80\x80\x01" + bytes(1 << 21)
        cut = b"\xa2\x06\x05ab"
        with FerryProcess("--admin-rpc") as server, grpc.insecure_channel(
                server.address) as channel:
            for path, name in rpcs.items():
                most = (1 << 16) + (name == "RepositoryModelLoad") * (1 << 20)
                rpc = channel.unary_stream(f"/{path}")
                with self.subTest(path=path):
                    self.assertEqual(
                        self.refusal(lambda: rpc(large)),
                        f"expected a {name}Request of at most {most} bytes, "
                        f"got {len(large)}")
                    self.assertEqual(
                        self.refusal(lambda: rpc(cut)),
                        f"expected a {name}Request, got a truncated or "
                        "malformed message")


class MemoryTest(unittest.TestCase):

    def memory(self, server, name):
        with open(f"/proc/{server.process.pid}/status",
                  encoding="ascii") as status:
            return next(int(line.split()[1]) << 10 for line in status
                        if line.startswith(name))

    def test_memory_of_a_peak_is_given_back(self):
        row_bytes = 48 << 20
        ferry_process.MODELS["widest"] = ferry_process.echo_config(
            [("input", "output", "FP32", [row_bytes // 4])], 1)
        self.addCleanup(ferry_process.MODELS.pop, "widest")
        with FerryProcess(models=["widest"]) as server:
            before = self.memory(server, "VmRSS")
            # gRPC keeps up to tens of MiB to read into, until a connection ends.
            with grpc.insecure_channel(server.address,
                                       options=UNLIMITED) as channel:
                reader = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                calls = [start(reader, "widest", row_bytes) for _ in range(8)]
                self.assertEqual([code_of(call) for call in calls], ["OK"] * 8)
            self.assertGreater(self.memory(server, "VmHWM"),
                               before + 2 * row_bytes)
            self.assertTrue(wait_until(
                lambda: self.memory(server, "VmRSS") < before + row_bytes,
                timeout=60), f"{self.memory(server, 'VmRSS')}, {before} before")

    def test_messages_that_are_half_sent_are_bounded(self):
        bound = 128 << 20
        sent = 30 << 20
        with FerryProcess(f"--grpc-memory-bytes={bound}") as server:
            before = self.memory(server, "VmRSS")
            clients = [RawClient(server.address, patience_s=2)
                       for _ in range(3 * bound // sent)]
            for client in clients:
                self.addCleanup(client.close)
            with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
                for client in clients:
                    pool.submit(client.start, "ModelInfer", bytes(60 << 20),
                                send=sent)
            self.assertLess(self.memory(server, "VmHWM"), before + 2 * bound)
            self.assertEqual(code_of(stub_of(server.address).ServerLive.future(
                pb.ServerLiveRequest())), "OK")

    def test_typed_strings_for_a_model_of_numbers_are_not_built(self):
        """Each empty string has two bytes here, and 32 once protobuf builds it."""
        strings = b"\x42\x00" * 8_000_000
        contents = b"\x2a" + varint(len(strings)) + strings
        tensor = pb.ModelInferRequest.InferInputTensor(
            name="input", datatype="FP32",
            shape=[1, 16]).SerializeToString() + contents
        message = (pb.ModelInferRequest(model_name="echo").SerializeToString() +
                   b"\x2a" + varint(len(tensor)) + tensor)
        with FerryProcess() as server, grpc.insecure_channel(
                server.address) as channel:
            infer = channel.unary_unary(
                "/inference.GRPCInferenceService/ModelInfer")
            before = self.memory(server, "VmRSS")
            with self.assertRaises(grpc.RpcError) as refused:
                infer(message, timeout=60)
            self.assertEqual(refused.exception.code(),
                             grpc.StatusCode.INVALID_ARGUMENT)
            self.assertLess(self.memory(server, "VmHWM"),
                            before + 2 * len(message))

    def test_answers_of_a_stream_that_wait_keep_no_request(self):
        """200 requests of 1 MB of fields wait behind a slow one: decoded they are
        eight times as large."""
        count = 200
        wrong = pb.ModelInferRequest(model_name="none")
        wrong.inputs.add(name="input", datatype="FP32", shape=[1] * 1_000_000)
        first = rows_for("slowest", 64)
        with FerryProcess(models=["slowest"]) as server:
            before = self.memory(server, "VmRSS")
            answers = stub_of(server.address).ModelStreamInfer(
                itertools.chain([first], itertools.repeat(wrong, count)))
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_refused_total", model="_unknown",
                reason="unknown_model") == count))
            self.assertEqual(server.metric("ferry_running_batches",
                                           model="slowest"), 1)
            self.assertLess(self.memory(server, "VmRSS"), before + (200 << 20))
            texts = [answer.error_message for answer in answers]
        self.assertEqual([bool(text) for text in texts], [False] + [True] * count)

    def test_stream_is_read_no_further_than_its_bound(self):
        """2,000 requests that are wrong wait behind a slow one."""
        wrong = pb.ModelInferRequest(model_name="none")
        with FerryProcess(models=["slowest"]) as server:
            stub = stub_of(server.address)

            def read():
                return server.metric("ferry_refused_total", model="_unknown",
                                     reason="unknown_model")
            answers = stub.ModelStreamInfer(itertools.chain(
                [rows_for("slowest", 64)], itertools.repeat(wrong, 2000)))
            self.assertTrue(wait_until(lambda: read() >= AHEAD - 1))
            for _ in range(50):
                stub.ServerLive(pb.ServerLiveRequest())
            self.assertEqual(read(), AHEAD - 1)
            self.assertEqual(server.metric("ferry_running_batches",
                                           model="slowest"), 1)
            self.assertEqual([bool(answer.error_message) for answer in answers],
                             [False] + [True] * 2000)


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
        server = FerryProcess(*flags, models=["hanging"])
        self.addCleanup(server.stop)
        call = start(stub_of(server.address), "hanging", row_bytes=64)
        self.assertTrue(wait_until(
            lambda: server.metric("ferry_running_batches") == 1))
        return server, call

    def test_hanging_backend_ends_the_process(self):
        server, call = self.hang("--backend-timeout-secs=0.5")
        self.assertEqual(server.wait(), 3)
        log = "".join(server.log)
        self.assertIn("backend hangs model=hanging", log)
        self.assertIn("state: not ready live=0 ", log)
        self.assertEqual(code_of(call), "UNAVAILABLE")

    def test_other_models_answer_what_they_admitted_before_the_end(self):
        with FerryProcess("--backend-timeout-secs=1", "--device-instances=2",
                          models=["endless", "slow"]) as server:
            hung = [start(stub_of(server.address), "endless", row_bytes=64)
                    for _ in range(2)]  # one runs, one is queued
            stub = stub_of(server.address)
            others = [start(stub, "slow", row_bytes=64) for _ in range(40)]
            self.assertTrue(wait_until(
                lambda: "cannot go on" in "".join(server.log)))
            self.assertFalse(all(call.done() for call in others))
            self.assertEqual(server.get("/v2/health/ready")[0], 503)
            self.assertEqual(server.get("/v2/health/live")[0], 503)
            self.assertEqual({code_of(call) for call in others}, {"OK"})
            self.assertEqual({code_of(call) for call in hung}, {"UNAVAILABLE"})
            self.assertEqual(server.wait(), 3)

    def test_server_whose_models_all_hang_is_not_ready(self):
        server, _ = self.hang("--exit-timeout-secs=0.1")
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.assertTrue(wait_until(
            lambda: server.get("/v2/health/ready")[0] == 503, 30))
        self.assertEqual(server.get("/v2/health/live")[0], 200)
        self.assertEqual(server.metric("ferry_batches_overdue_total",
                                       model="hanging"), 1)

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
                self.assertNotIn("hangs", "".join(server.log))

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
