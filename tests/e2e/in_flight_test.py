"""Many requests in flight at once by each way of tritonclient: callbacks,
asyncio, streams. Each caller gets its own rows; times out or gives up alone."""

import asyncio
import functools
import queue
import unittest

import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, wait_until

COUNT = 400
STREAMS = 8
TIMEOUT_S = 30

server = None


def setUpModule():
    global server
    server = FerryProcess(models=["echo", "sim", "any_shape", "slower"])


def tearDownModule():
    server.stop()


def rows_of(number):
    """Returns rows that no other number has, 1 to 5 of them."""
    rows = 1 + number % 5
    return np.arange(rows * 16, dtype=np.float32).reshape(rows, 16) + (
        number * 1000)


def inputs_of(values):
    tensor = triton.InferInput("input", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return [tensor]


ONE_ROW = np.ones((1, 16), np.float32)


class InFlightTest(unittest.TestCase):

    def setUp(self):
        self.client = triton.InferenceServerClient(server.address)
        self.addCleanup(self.client.close)
        self.answers = queue.Queue()

    def answered(self, number, result, error):
        self.answers.put((number, result, error))

    def next_answer(self):
        return self.answers.get(timeout=TIMEOUT_S)

    def rows_served(self):
        stats = self.client.get_inference_statistics("sim").model_stats[0]
        return stats.inference_count, stats.execution_count

    def assertOwnRows(self, number, result, error=None):
        self.assertIsNone(error)
        np.testing.assert_array_equal(result.as_numpy("output"),
                                      rows_of(number))
        self.assertEqual(result.get_response().id, str(number))

    def test_callbacks(self):
        rows, batches = self.rows_served()
        for number in range(COUNT):
            self.client.async_infer(
                "sim", inputs_of(rows_of(number)),
                functools.partial(self.answered, number),
                request_id=str(number))
        answers = [self.next_answer() for _ in range(COUNT)]
        for answer in answers:
            self.assertOwnRows(*answer)
        self.assertEqual(sorted(number for number, _, _ in answers),
                         list(range(COUNT)))
        served, formed = self.rows_served()
        self.assertEqual(served - rows,
                         sum(len(rows_of(n)) for n in range(COUNT)))
        self.assertLess(formed - batches, COUNT // 2, "no company was found")

    def test_asyncio(self):
        async def ask(client, number):
            result = await client.infer("sim", inputs_of(rows_of(number)),
                                        request_id=str(number))
            self.assertOwnRows(number, result)

        async def run():
            async with triton_aio.InferenceServerClient(
                    server.address) as client:
                await asyncio.gather(*(ask(client, n) for n in range(COUNT)))
        asyncio.run(run())

    def test_streams(self):
        clients = [triton.InferenceServerClient(server.address)
                   for _ in range(STREAMS)]
        for index, client in enumerate(clients):
            client.start_stream(functools.partial(self.answered, index))
        for number in range(COUNT):
            clients[number % STREAMS].async_stream_infer(
                "sim", inputs_of(rows_of(number)), request_id=str(number))
        came = {index: [] for index in range(STREAMS)}
        for _ in range(COUNT):
            index, result, error = self.next_answer()
            number = int(result.get_response().id)
            self.assertOwnRows(number, result, error)
            came[index].append(number)
        for client in clients:
            client.close()
        for index, numbers in came.items():
            self.assertEqual(numbers, list(range(index, COUNT, STREAMS)))

    def test_wrong_requests_among_right_ones_fail_alone(self):
        for number in range(COUNT):
            values = rows_of(number) if number % 3 else rows_of(number)[:, :15]
            self.client.async_infer("sim", inputs_of(values),
                                    functools.partial(self.answered, number),
                                    request_id=str(number))
        for _ in range(COUNT):
            number, result, error = self.next_answer()
            if number % 3:
                self.assertOwnRows(number, result, error)
            else:
                self.assertIn(f"[request id: {number}] ", error.message())

    # --- giving up ---

    def occupied(self):
        """Starts a request that keeps the device busy for 0.6 s."""
        self.client.async_infer("slower", inputs_of(ONE_ROW),
                                functools.partial(self.answered, "first"))
        self.assertTrue(wait_until(lambda: server.metric(
            "ferry_running_batches", model="slower") == 1))

    def assertFirstIsServed(self):
        number, result, error = self.next_answer()
        self.assertEqual((number, error), ("first", None))
        np.testing.assert_array_equal(result.as_numpy("output"), ONE_ROW)

    def test_client_timeout(self):
        self.occupied()
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer("slower", inputs_of(ONE_ROW),
                              client_timeout=0.05)
        self.assertIn(caught.exception.status(),
                      ("StatusCode.DEADLINE_EXCEEDED",
                       "StatusCode.RESOURCE_EXHAUSTED"))  # at admission
        self.client.async_infer("slower", inputs_of(ONE_ROW),
                                functools.partial(self.answered, "late"),
                                client_timeout=0.05)
        number, _, error = self.next_answer()
        self.assertEqual(number, "late")
        self.assertIsInstance(error, InferenceServerException)
        self.assertFirstIsServed()

    def test_client_timeout_with_asyncio(self):
        async def run():
            async with triton_aio.InferenceServerClient(
                    server.address) as client:
                with self.assertRaises(InferenceServerException):
                    await client.infer("slower", inputs_of(ONE_ROW),
                                       client_timeout=0.05)
                return await client.infer("echo", inputs_of(ONE_ROW),
                                          client_timeout=TIMEOUT_S)
        self.occupied()
        np.testing.assert_array_equal(asyncio.run(run()).as_numpy("output"),
                                      ONE_ROW)
        self.assertFirstIsServed()

    def test_cancelled_callback(self):
        self.occupied()
        context = self.client.async_infer(
            "slower", inputs_of(ONE_ROW),
            functools.partial(self.answered, "cancelled"))
        self.assertTrue(wait_until(lambda: server.metric(
            "ferry_queue_requests", model="slower") == 1))
        context.cancel()
        number, _, error = self.next_answer()
        self.assertEqual(number, "cancelled")
        self.assertIn("CANCELLED", error.status())
        self.assertTrue(wait_until(lambda: server.metric(
            "ferry_queue_requests", model="slower") == 0))
        self.assertFirstIsServed()

    def test_generous_timeouts_change_nothing(self):
        values = rows_of(3)
        for options in ({"client_timeout": TIMEOUT_S},
                        {"timeout": TIMEOUT_S * 1_000_000},
                        {"priority": 1}, {"headers": {"x-trace": "7"}},
                        {"parameters": {"mine": "text", "number": 3}}):
            result = self.client.infer("sim", inputs_of(values),
                                       request_id="3", **options)
            self.assertOwnRows(3, result)


if __name__ == "__main__":
    unittest.main()
