"""Folders that stall, as a network file system does whose server is gone: inference
goes on, health is told, and a stop waits for none of them. Threads that stall: the
server is not ready, and ends."""

import os
import tempfile
import unittest
from unittest import mock

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import trust
from connections_test import NOT_SERVING, SERVING
from ending_test import one_row, stream_that_waits
from ferry_process import FerryProcess, wait_until

CALL_S = 30
TOKEN = "stall-5ca1ab1e-token"


class StallTest(unittest.TestCase):

    def setUp(self):
        self.folder = self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-stall-"))
        self.sign = os.path.join(self.folder, "stalls")
        self.addCleanup(self.go_on)

    def stall(self):
        trust.write(self.sign, "")

    def go_on(self):
        if os.path.exists(self.sign):
            os.remove(self.sign)

    def start(self, stalls, *flags, what="FOLDER"):
        """Starts a server of which that folder may stall, or thread."""
        with mock.patch.dict(os.environ, {
                "LD_PRELOAD": os.environ["FERRY_STALL_LIBRARY"],
                f"FERRY_STALL_{what}": stalls, "FERRY_STALL_WHILE": self.sign}):
            server = FerryProcess(*flags)
        self.addCleanup(server.stop)
        self.channel = self.enterContext(grpc.insecure_channel(server.address))
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)
        return server

    def test_stalled_tokens_hold_up_nothing(self):
        tokens = os.path.join(self.folder, "trust", "tokens")
        os.mkdir(os.path.dirname(tokens))
        trust.write(tokens, trust.token_line("web", "infer,read", TOKEN))
        server = self.start(os.path.dirname(tokens), f"--auth-token-file={tokens}",
                            "--open-health")
        self.stall()
        self.assertTrue(wait_until(lambda: any(
            "expected an answer of their folder at once" in line
            for line in server.log), 20))
        self.stub.ModelInfer(one_row("echo"), timeout=CALL_S,
                             metadata=trust.bearer(TOKEN))
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.go_on()
        self.assertTrue(wait_until(lambda: any(
            "tokens answer again" in line for line in server.log), 20))
        self.stall()
        self.assertTrue(wait_until(lambda: sum(
            "expected an answer of their folder at once" in line
            for line in server.log) == 2, 20))
        server.signal()
        self.assertEqual(server.wait(), 0)

    def test_stalled_models_hold_up_no_inference_and_no_stop(self):
        # All folders of tests' models begin so.
        server = self.start(os.path.join(tempfile.gettempdir(), "ferry-e2e-"),
                            "--model-control-mode=poll",
                            "--repository-poll-secs=0.1")
        self.stall()
        index = self.stub.RepositoryIndex.future(pb.RepositoryIndexRequest(),
                                                 timeout=CALL_S)
        self.assertTrue(wait_until(
            lambda: server.metric("ferry_control_job_seconds") > 1))
        for _ in range(20):
            self.stub.ModelInfer(one_row("echo"), timeout=CALL_S)
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.assertFalse(index.done())
        server.signal()
        self.assertEqual(server.wait(), 0)
        self.assertIn("stopped while a model is still being loaded, or the "
                      "repository read", server.log[-1])
        with self.assertRaises(grpc.RpcError):
            index.result()

    def test_server_of_a_stalled_thread_is_not_ready_until_it_turns(self):
        for thread in ("ferry-infer", "ferry-accept"):
            with self.subTest(thread=thread):
                server = self.start(thread, what="THREAD")
                self.stall()
                self.assertTrue(wait_until(
                    lambda: server.get("/v2/health/ready")[0] == 503, 20))
                self.assertTrue(wait_until(lambda: any(
                    f"have not turned for 5 s: {thread}" in line
                    for line in server.log), 5))
                self.assertEqual(server.get("/v2/health/live")[0], 200)
                self.go_on()
                self.assertTrue(wait_until(
                    lambda: server.get("/v2/health/ready")[0] == 200, 20))
                self.stub.ModelInfer(one_row("echo"), timeout=CALL_S)
                server.signal()
                self.assertEqual(server.wait(), 0)

    def test_server_of_a_stalled_main_thread_is_not_live_until_it_turns(self):
        # Which the main thread alone reads, at each look at its memory.
        server = self.start("/proc/self/status")
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        watch = self.channel.unary_stream("/grpc.health.v1.Health/Watch")(
            b"", timeout=4 * CALL_S)
        self.assertEqual(next(watch), SERVING)
        self.stall()
        self.assertTrue(wait_until(
            lambda: server.get("/v2/health/live")[0] == 503, 60))
        self.assertEqual(server.get("/v2/health/ready")[0], 503)
        # gRPC says the same, to those that ask and to those that watch.
        self.assertFalse(self.stub.ServerLive(pb.ServerLiveRequest()).live)
        self.assertFalse(self.stub.ServerReady(pb.ServerReadyRequest()).ready)
        self.assertFalse(self.stub.ModelReady(pb.ModelReadyRequest(name="echo")).ready)
        self.assertEqual(check(b"", timeout=CALL_S), NOT_SERVING)
        self.assertEqual(next(watch), NOT_SERVING)
        self.go_on()
        self.assertTrue(wait_until(
            lambda: server.get("/v2/health/ready")[0] == 200, 20))
        self.assertEqual(server.get("/v2/health/live")[0], 200)
        self.assertEqual(next(watch), SERVING)
        watch.cancel()
        self.stub.ModelInfer(one_row("echo"), timeout=CALL_S)
        server.signal()
        self.assertEqual(server.wait(), 0)

    def test_thread_that_stays_stalled_ends_the_server(self):
        server = self.start("ferry-infer", "--backend-timeout-secs=12",
                            "--exit-timeout-secs=1", what="THREAD")
        self.stall()
        self.assertTrue(wait_until(lambda: any(
            "have not turned for 5 s" in line for line in server.log), 20))
        call = self.stub.ModelInfer.future(one_row("echo"), timeout=1)
        self.assertEqual(call.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(server.wait(), 3)
        self.assertTrue(any("thread hangs name=ferry-infer" in line
                            for line in server.log), server.log)

    def test_server_whose_acceptor_stays_stalled_drains_before_it_ends(self):
        server = self.start("ferry-accept", "--backend-timeout-secs=12", what="THREAD")
        requests, replies = stream_that_waits(self, self.stub, "echo")
        self.stall()
        with self.assertRaises(grpc.RpcError) as ended:
            next(replies)
        self.assertIn("draining", ended.exception.details())
        requests.put(None)
        self.assertEqual(server.wait(), 3)
        self.assertTrue(any("thread hangs name=ferry-accept" in line
                            for line in server.log), server.log)

    def test_stop_waits_for_no_acceptor_that_is_stalled(self):
        server = self.start("ferry-accept", what="THREAD")
        self.stall()
        self.assertTrue(wait_until(lambda: any(
            "have not turned for 5 s" in line for line in server.log), 20))
        server.signal()
        self.assertEqual(server.wait(), 0)
        self.assertIn("stopped while a thread that takes connections hangs",
                      "".join(server.log))


if __name__ == "__main__":
    unittest.main()
