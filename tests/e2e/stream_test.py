"""ModelStreamInfer through an unchanged tritonclient, threads and asyncio."""

import asyncio
import queue
import threading
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, wait_until

TIMEOUT_S = 30

server = None


def setUpModule():
    global server
    server = FerryProcess(models=["echo", "sim", "any_shape", "slow",
                                  "slower", "wide"])


def tearDownModule():
    server.stop()


def make_input(values, name="input"):
    tensor = triton.InferInput(name, list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return tensor


def raw_request(model, values, request_id=""):
    request = pb.ModelInferRequest(model_name=model, id=request_id)
    request.inputs.add(name="input", datatype="FP32", shape=values.shape)
    request.raw_input_contents.append(values.tobytes())
    return request


class StreamTest(unittest.TestCase):

    def setUp(self):
        self.client = triton.InferenceServerClient(server.address)
        self.answers = queue.Queue()
        self.channel = grpc.insecure_channel(server.address)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def tearDown(self):
        self.client.close()
        self.channel.close()

    def start(self, **options):
        self.client.start_stream(
            callback=lambda result, error: self.answers.put((result, error)),
            **options)

    def next_answer(self):
        return self.answers.get(timeout=TIMEOUT_S)

    def test_answers_come_in_the_order_of_requests(self):
        self.start()
        for number in range(300):
            # Shapes that differ leave in batches of their own.
            values = np.full((1, 1 + number % 3), number, np.float32)
            self.client.async_stream_infer("any_shape", [make_input(values)],
                                           request_id=str(number))
        for number in range(300):
            result, error = self.next_answer()
            self.assertIsNone(error)
            self.assertEqual(result.get_response().id, str(number))
            self.assertEqual(result.as_numpy("output")[0, 0], number)
        self.client.stop_stream()

    def test_slow_request_holds_back_the_fast_ones_behind_it(self):
        self.start()
        for model in ("slow", "echo"):
            self.client.async_stream_infer(
                model, [make_input(np.ones((1, 16), np.float32))],
                request_id=model)
        self.assertEqual([self.next_answer()[0].get_response().id
                          for _ in range(2)], ["slow", "echo"])

    def test_requests_of_a_stream_share_batches(self):
        before = self.client.get_inference_statistics("sim").model_stats[0]
        self.start()
        for _ in range(200):
            self.client.async_stream_infer(
                "sim", [make_input(np.ones((1, 16), np.float32))])
        for _ in range(200):
            self.assertIsNone(self.next_answer()[1])
        after = self.client.get_inference_statistics("sim").model_stats[0]
        self.assertEqual(after.inference_count - before.inference_count, 200)
        self.assertLess(after.execution_count - before.execution_count, 100)

    def test_error_is_in_band_and_the_stream_goes_on(self):
        self.start()
        good = [make_input(np.ones((1, 16), np.float32))]
        bad = [make_input(np.ones((1, 15), np.float32))]
        for model, tensors in (("echo", good), ("none", good), ("echo", bad),
                               ("echo", good)):
            self.client.async_stream_infer(model, tensors, request_id="r")
        texts = []
        for _ in range(4):
            result, error = self.next_answer()
            texts.append(error.message() if error else result.get_response().id)
        self.assertEqual(texts[0], "r")
        self.assertIn("[request id: r] Request for unknown model: 'none'",
                      texts[1])
        self.assertIn("Expected [-1,16], got [1,15]", texts[2])
        self.assertEqual(texts[3], "r")

    def test_in_band_error_carries_the_id(self):
        bad = raw_request("none", np.ones((1, 16), np.float32), "seven")
        answers = list(self.stub.ModelStreamInfer(iter([bad])))
        self.assertEqual(len(answers), 1)
        self.assertIn("'none'", answers[0].error_message)
        self.assertEqual(answers[0].infer_response.id, "seven")

    def test_error_ends_the_stream_where_the_client_asks(self):
        good = raw_request("echo", np.ones((1, 16), np.float32))
        bad = raw_request("none", np.ones((1, 16), np.float32))
        stream = self.stub.ModelStreamInfer(
            iter([good, bad, good]), metadata=(("triton_grpc_error", "true"),))
        self.assertEqual(next(stream).error_message, "")
        with self.assertRaises(grpc.RpcError) as caught:
            next(stream)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        self.assertIn("'none'", caught.exception.details())

    def test_final_response_is_marked_asked_or_not(self):
        self.start()
        for asked in (True, False):
            self.client.async_stream_infer(
                "echo", [make_input(np.ones((1, 16), np.float32))],
                enable_empty_final_response=asked)
        for _ in range(2):
            response = self.next_answer()[0].get_response()
            self.assertTrue(
                response.parameters["triton_final_response"].bool_param)
            self.assertEqual(len(response.outputs), 1)

    def test_stream_of_nothing_ends_well(self):
        self.assertEqual(list(self.stub.ModelStreamInfer(iter([]))), [])

    def test_bytes_that_are_no_request(self):
        stream = self.channel.stream_stream(
            "/inference.GRPCInferenceService/ModelStreamInfer",
            response_deserializer=pb.ModelStreamInferResponse.FromString)
        answers = list(stream(iter([b"\xff", b""])))
        self.assertEqual(len(answers), 2)
        for answer in answers:
            self.assertTrue(answer.error_message)

    def test_more_requests_than_are_read_ahead(self):
        requests = [raw_request("echo", np.full((1, 16), number, np.float32),
                                str(number)) for number in range(5000)]
        answers = self.stub.ModelStreamInfer(iter(requests))
        self.assertEqual([answer.infer_response.id for answer in answers],
                         [str(number) for number in range(5000)])

    def test_cancel_frees_what_waits(self):
        def pending():
            return server.metric("ferry_queue_requests", model="slower")
        self.start()
        for _ in range(5):
            self.client.async_stream_infer(
                "slower", [make_input(np.ones((1, 16), np.float32))])
        self.assertTrue(wait_until(lambda: pending() == 4))
        self.client.stop_stream(cancel_requests=True)
        # Served they would take 2.4 s.
        self.assertTrue(wait_until(lambda: pending() == 0, timeout=1))

    def test_stream_timeout_is_the_deadline_of_its_requests(self):
        self.start(stream_timeout=0.3)
        for _ in range(3):
            self.client.async_stream_infer(
                "slower", [make_input(np.ones((1, 16), np.float32))])
        _, error = self.next_answer()
        self.assertIsInstance(error, InferenceServerException)

    def test_many_streams_at_once(self):
        failures = []

        def run(index):
            requests = [raw_request("sim", np.full((1, 16), index, np.float32),
                                    f"{index}-{turn}") for turn in range(50)]
            got = [(answer.infer_response.id,
                    np.frombuffer(answer.infer_response.raw_output_contents[0],
                                  np.float32)[0])
                   for answer in self.stub.ModelStreamInfer(iter(requests))]
            if got != [(f"{index}-{turn}", index) for turn in range(50)]:
                failures.append(got)
        threads = [threading.Thread(target=run, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_large_answers(self):
        values = np.random.rand(2, 1 << 18).astype(np.float32)
        self.start()
        for _ in range(8):
            self.client.async_stream_infer("wide", [make_input(values)])
        for _ in range(8):
            result, error = self.next_answer()
            self.assertIsNone(error)
            np.testing.assert_array_equal(result.as_numpy("output"), values)

    def test_asyncio(self):
        async def run():
            async with triton_aio.InferenceServerClient(server.address) as own:
                async def requests():
                    for number in range(100):
                        values = np.full((1, 16), number, np.float32)
                        yield {"model_name": "echo",
                               "inputs": [make_input(values)],
                               "request_id": str(number)}
                got = []
                async for result, error in own.stream_infer(requests()):
                    self.assertIsNone(error)
                    got.append((result.get_response().id,
                                result.as_numpy("output")[0, 0]))
                return got
        self.assertEqual(asyncio.run(run()),
                         [(str(n), float(n)) for n in range(100)])

    def test_server_ends_while_a_stream_is_open(self):
        with FerryProcess(models=["echo"]) as other:
            with triton.InferenceServerClient(other.address) as own:
                own.start_stream(callback=lambda result, error:
                                 self.answers.put((result, error)))
                own.async_stream_infer(
                    "echo", [make_input(np.ones((1, 16), np.float32))])
                self.assertIsNone(self.next_answer()[1])
                other.signal()
                self.assertEqual(other.wait(), 0)


if __name__ == "__main__":
    unittest.main()
