"""asker_test asks a fake server, which refuses, fails and is away."""

import asyncio
import unittest
from unittest import mock

import grpc
import numpy as np
from fake_server import TWICE, FakeServer, Refusal, doubled
from ferry_batch import asker as module
from ferry_batch.asker import Asker
from ferry_batch.failures import RowError, Stopped, Unable, Wrong
from ferry_batch.sources import Row

Code = grpc.StatusCode


def group(*numbers):
    return [(Row(number, f"rows.jsonl:{number + 1}", {}),
             {"x": np.array([number, 0], np.float32)}) for number in numbers]


def first_of(request):
    """Returns the first number of each row of a request."""
    return np.frombuffer(request.raw_input_contents[0], np.float32)[::2].tolist()


class Answers:
    """Raises each refusal once, then answers; a refusal of a row for ever."""

    def __init__(self, *refusals, rows=None):
        self._refusals = list(refusals)
        self._rows = rows or {}

    def __call__(self, request):
        if self._refusals:
            raise self._refusals.pop(0)
        for row in first_of(request):
            if row in self._rows:
                raise self._rows[row]
        return doubled(request)


class AskerTest(unittest.IsolatedAsyncioTestCase):

    def setUp(self):
        for name in ("FIRST_WAIT_S", "LONGEST_WAIT_S"):
            patch = mock.patch.object(module, name, 0.001)
            patch.start()
            self.addCleanup(patch.stop)
        self.stop = asyncio.Event()
        self.told = []

    def asker(self, server, give_up_s=100, metadata=()):
        return Asker(server.channel, metadata, 100, give_up_s, self.stop,
                     self.told.append)

    async def ask(self, answer, *numbers, **options):
        """Returns the results of rows, and the asker and server."""
        async with FakeServer(answer) as server:
            asker = self.asker(server, **options)
            return (await asker.results(TWICE, group(*numbers), 2), asker,
                    server)

    async def test_model_is_read(self):
        async with FakeServer() as server:
            model = await self.asker(server).described("twice", "")
            self.assertEqual((model.version, model.instances), ("10", 3))
            self.assertEqual(
                (model.inputs, model.outputs, model.max_batch_size,
                 model.priority_levels),
                (TWICE.inputs, TWICE.outputs, 8, 2))
            model = await self.asker(server).described("twice", "2")
            self.assertEqual(model.version, "2")

    async def test_server_without_config_is_told(self):
        async with FakeServer() as server:
            server.has_config = False
            with self.assertRaisesRegex(Wrong, "expected a server with Model.*Ferry"):
                await self.asker(server).described("twice", "")

    async def test_rows_come_back_in_order(self):
        results, asker, _ = await self.ask(doubled, 1, 2, 3)
        self.assertEqual([row["y"].tolist() for row in results],
                         [[2, 0], [4, 0], [6, 0]])
        self.assertEqual(asker.retries, 0)

    async def test_request_has_priority_version_and_token(self):
        _, _, server = await self.ask(doubled, 1,
                                      metadata=(("authorization", "Bearer t"),))
        (request,), (metadata,) = server.requests, server.metadata
        self.assertEqual(request.parameters["priority"].int64_param, 2)
        self.assertEqual((request.model_name, request.model_version),
                         ("twice", "3"))
        self.assertEqual(metadata["authorization"], "Bearer t")

    async def test_what_passes_is_sent_again(self):
        refusals = [Refusal(Code.UNAVAILABLE), Refusal(Code.DEADLINE_EXCEEDED),
                    Refusal(Code.UNAVAILABLE, pushback_ms=1),
                    Refusal(Code.CANCELLED),
                    Refusal(Code.RESOURCE_EXHAUSTED, pushback_ms=1)]
        results, asker, server = await self.ask(Answers(*refusals), 1, 2)
        self.assertEqual([row["y"].tolist() for row in results], [[2, 0], [4, 0]])
        self.assertEqual((asker.retries, len(server.requests)), (5, 6))

    async def test_row_at_fault_is_found_by_halves(self):
        at_fault = Refusal(Code.INVALID_ARGUMENT, "no 3")
        results, _, server = await self.ask(Answers(rows={3: at_fault}), 1, 2, 3, 4)
        self.assertEqual([first_of(request) for request in server.requests],
                         [[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]])
        self.assertEqual(results[2], RowError(3, "rows.jsonl:4", "no 3"))
        self.assertEqual([results[row]["y"][0] for row in (0, 1, 3)], [2, 4, 8])

    async def test_request_that_is_too_large_is_halved(self):
        too_large = Refusal(Code.RESOURCE_EXHAUSTED, "too large")
        results, _, server = await self.ask(Answers(too_large), 1, 2)
        self.assertEqual([row["y"][0] for row in results], [2, 4])
        self.assertEqual(len(server.requests), 3)

    async def test_internal_error_of_a_row_is_asked_once_more(self):
        failed = Refusal(Code.INTERNAL, "batch failed")
        results, _, server = await self.ask(Answers(failed), 1)
        self.assertEqual(results[0]["y"][0], 2)
        results, _, server = await self.ask(Answers(rows={1: failed}), 1)
        self.assertEqual(results[0].status, "INTERNAL")
        self.assertEqual(len(server.requests), 2)

    async def test_answer_of_too_few_rows_is_an_error_of_the_row(self):
        def short(request):
            answer = doubled(request)
            answer.outputs[0].shape[0] = 0
            answer.raw_output_contents[0] = b""
            return answer

        results, _, _ = await self.ask(short, 1)
        self.assertEqual(results[0].text,
                         "y: expected 1 rows of the shape [2], found the shape "
                         "[0, 2]")

    async def test_wrong_flags_end_at_once_and_what_may_pass_too(self):
        with self.assertRaisesRegex(Wrong, "^UNAUTHENTICATED: who"):
            await self.ask(Answers(Refusal(Code.UNAUTHENTICATED, "who")), 1)
        with self.assertRaisesRegex(Unable, "^NOT_FOUND: gone; what is finished"):
            await self.ask(Answers(Refusal(Code.NOT_FOUND, "gone")), 1)

    async def test_it_gives_up(self):
        with self.assertRaisesRegex(
                Unable, "expected an answer within 0 s, found UNAVAILABLE: away; "):
            await self.ask(Answers(Refusal(Code.UNAVAILABLE, "away")), 1,
                           give_up_s=0)

    async def test_refusal_is_an_answer_and_no_reason_to_give_up(self):
        refused = [Refusal(Code.RESOURCE_EXHAUSTED, pushback_ms=1)] * 3
        results, _, _ = await self.ask(Answers(*refused), 1, give_up_s=0)
        self.assertEqual(results[0]["y"][0], 2)

    async def test_each_absence_is_told_once(self):
        away, full = (Refusal(Code.UNAVAILABLE, "away"),
                      Refusal(Code.RESOURCE_EXHAUSTED, pushback_ms=1))
        with mock.patch.object(module, "TELL_S", 0):
            await self.ask(Answers(away, away, full, away, away), 1)
        self.assertEqual(self.told, ["UNAVAILABLE: away"] * 2)

    async def test_nothing_is_sent_again_after_stop(self):
        def answer(request):
            del request
            self.stop.set()
            raise Refusal(Code.UNAVAILABLE)

        with self.assertRaises(Stopped):
            await self.ask(answer, 1)

    async def test_no_half_is_sent_after_stop(self):
        def answer(request):
            del request
            self.stop.set()
            raise Refusal(Code.INVALID_ARGUMENT)

        with self.assertRaises(Stopped):
            await self.ask(answer, 1, 2)
        results, _, _ = await self.ask(answer, 1)
        self.assertIsInstance(results[0], RowError)

    async def test_stop_ends_the_wait_for_a_server(self):
        async with FakeServer() as server:
            def away():
                self.stop.set()
                raise Refusal(Code.UNAVAILABLE)

            server.describe = away
            with self.assertRaises(Stopped):
                await self.asker(server).described("twice", "")


if __name__ == "__main__":
    unittest.main()
