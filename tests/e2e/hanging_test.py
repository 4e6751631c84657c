"""A forward that never ends: what goes on beside it, and what is answered before
the end of the process."""

import os
import queue
import shutil
import signal
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

from ferry_process import tensor, wait_until
from scripts_case import ScriptsCase

CONFIG = ('backend: "pytorch"\nmax_batch_size: 1\ndynamic_batching {}\n' +
          tensor("input", "x", "FP32", [1]) + tensor("output", "y", "FP32", [1]))
ENDLESS = 1e12
TIMEOUT_S = 100


SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def inputs_of(value):
    given = triton.InferInput("x", [1, 1], "FP32")
    given.set_data_from_numpy(np.full((1, 1), value, np.float32))
    return [given]


def request_of(values, model="loops", timeout_us=None):
    request = pb.ModelInferRequest(model_name=model, id=str(values))
    request.inputs.add(name="x", datatype="FP32", shape=[len(values), 1])
    request.raw_input_contents.append(np.float32(values).tobytes())
    if timeout_us:
        request.parameters["timeout"].int64_param = timeout_us
    return request


class HangingTest(ScriptsCase):

    def serve(self, *flags, instances=1):
        """Serves "loops", which computes as long as its input says, and "good"."""
        for name, script, count in (("loops", "loops", instances),
                                    ("good", "pixels", 1)):
            (self.repository / name / "1").mkdir(parents=True)
            (self.repository / name / "config.pbtxt").write_text(
                CONFIG + f"instance_group [{{ count: {count} }}]\n")
            shutil.copy(self.scripts / f"{script}.pt",
                        self.repository / name / "1" / "model.pt")
        self.start(*flags)
        self.addCleanup(self.server.process.kill)  # before it is told to drain
        self.answers = queue.Queue()

    def ask(self, value, name="loops"):
        return self.client.async_infer(
            name, inputs_of(value),
            lambda result, error: self.answers.put((name, value, error)))

    def answer(self):
        return self.answers.get(timeout=TIMEOUT_S)

    def health(self, service):
        """Returns what grpc.health.v1 answers."""
        with grpc.insecure_channel(self.server.address) as channel:
            return channel.unary_unary("/grpc.health.v1.Health/Check")(
                b"\x0a" + bytes([len(service)]) + service.encode(),
                timeout=TIMEOUT_S)

    def hang(self):
        self.ask(ENDLESS)
        self.assertTrue(wait_until(lambda: self.server.metric(
            "ferry_running_batches", model="loops") == 1))

    def end_at_once(self):
        self.server.signal()
        self.assertTrue(wait_until(
            lambda: "drains signal" in "".join(self.server.log)))
        self.server.signal(signal.SIGINT)
        self.assertEqual(self.server.wait(), 128 + signal.SIGINT)

    def test_everything_else_goes_on(self):
        cores = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        os.sched_setaffinity(0, sorted(cores)[:2])
        self.serve()
        for _ in range(200):
            self.client.infer("loops", inputs_of(1))
        self.hang()
        for _ in range(20):
            result = self.client.infer("good", inputs_of(7),
                                       client_timeout=TIMEOUT_S)
            self.assertEqual(result.as_numpy("y").item(), 7)
        # Past five seconds the model is not ready; the server is, by the other one.
        self.assertTrue(wait_until(
            lambda: not self.client.is_model_ready("loops"), 20))
        self.assertTrue(self.client.is_model_ready("good"))
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertEqual(self.server.get("/v2/health/ready")[0], 200)
        self.assertTrue(wait_until(
            lambda: self.health("loops") == NOT_SERVING))
        self.assertEqual(self.health("good"), SERVING)
        self.assertEqual(self.server.metric("ferry_batches_overdue_total",
                                            model="loops"), 1)
        result = self.client.infer("good", inputs_of(8), client_timeout=TIMEOUT_S)
        self.assertEqual(result.as_numpy("y").item(), 8)
        self.client.get_inference_statistics("loops")

        def queued():
            return self.server.metric("ferry_queue_requests", model="loops")

        call = self.ask(2)
        self.assertTrue(wait_until(lambda: queued() == 1))
        call.cancel()
        self.assertIn("CANCELLED", self.answer()[2].status())
        self.assertTrue(wait_until(lambda: queued() == 0))
        with self.assertRaises(InferenceServerException) as late:
            self.client.infer("loops", inputs_of(3), client_timeout=0.2)
        self.assertIn(late.exception.status(),
                      ("StatusCode.DEADLINE_EXCEEDED",
                       "StatusCode.RESOURCE_EXHAUSTED"))  # at admission
        self.assertTrue(wait_until(lambda: queued() == 0))
        self.end_at_once()

    def running(self):
        return self.server.metric("ferry_running_batches", model="loops")

    def stream_of_parts(self, first):
        """Asks for two rows, a part each: the first is computed for long, the
        second expires meanwhile. Returns the requests and the replies."""
        for _ in range(5):  # which the server expects of the next, too
            self.client.infer("loops", inputs_of(1))
        requests = queue.Queue()
        channel = grpc.insecure_channel(self.server.address)
        self.addCleanup(channel.close)
        replies = service_pb2_grpc.GRPCInferenceServiceStub(
            channel).ModelStreamInfer(iter(requests.get, None))
        requests.put(request_of([first, 1], timeout_us=500_000))
        return requests, replies

    def test_part_of_a_stream_that_expires_is_told_while_another_runs(self):
        self.serve()
        requests, replies = self.stream_of_parts(ENDLESS)
        reply = next(replies)
        self.assertIn("deadline", reply.error_message)
        self.assertEqual(reply.infer_response.id, "[1000000000000.0, 1]")
        self.assertEqual(self.running(), 1)
        for value in range(50):
            requests.put(request_of([value], model="good"))
            self.assertEqual(next(replies).infer_response.id, f"[{value}]")
        requests.put(None)
        self.assertEqual(list(replies), [])
        self.assertEqual(self.running(), 1)
        self.end_at_once()

    def test_such_a_stream_goes_on_when_the_part_has_ended(self):
        self.serve()
        requests, replies = self.stream_of_parts(1_000_000)
        self.assertIn("deadline", next(replies).error_message)
        self.assertEqual(self.running(), 1)
        self.assertTrue(wait_until(lambda: self.running() == 0, TIMEOUT_S))
        for value in range(50):  # their calls are used again
            requests.put(request_of([value]))
            self.assertEqual(next(replies).infer_response.id, f"[{value}]")
        requests.put(None)
        self.assertEqual(list(replies), [])

    def test_stream_that_is_gone_before_the_part_has_ended(self):
        self.serve()
        requests, replies = self.stream_of_parts(1_000_000)
        self.assertIn("deadline", next(replies).error_message)
        replies.cancel()
        requests.put(None)
        self.assertEqual(self.running(), 1)
        self.assertTrue(wait_until(lambda: self.running() == 0, TIMEOUT_S))
        self.client.infer("loops", inputs_of(1))
        self.server.signal()
        self.assertEqual(self.server.wait(), 0)

    def test_other_instances_answer_what_is_queued_before_the_end(self):
        self.serve("--backend-timeout-secs=5", "--device-instances=2",
                   "--exit-timeout-secs=100", instances=2)
        self.hang()
        for _ in range(100):
            self.ask(50_000)
        self.assertTrue(wait_until(
            lambda: "cannot go on" in "".join(self.server.log)))
        self.assertLess(self.answers.qsize(), 100, "some have yet to run")
        self.assertEqual(self.server.wait(TIMEOUT_S), 3)
        ended = [self.answer() for _ in range(101)]
        for _, value, error in ended:
            if value == ENDLESS:
                self.assertIn("UNAVAILABLE", error.status())
            else:
                self.assertIsNone(error)


if __name__ == "__main__":
    unittest.main()
