"""job_test computes shards by an asker that a test rules: order, ends and stops."""

import asyncio
import json
import pathlib
import tempfile
import unittest

import numpy as np
from ferry_batch.failures import RowError, Stopped, Unable, Wrong
from ferry_batch.job import Job, Limits
from ferry_batch.ledger import Ledger
from ferry_batch.model import Model, Tensor
from ferry_batch.shard_files import ShardFiles
from ferry_batch.sources import Row

MODEL = Model("m", "1", (Tensor("x", "INT64", (1,)),), (Tensor("y", "INT64", (1,)),),
              8, 2, 1)


class Source:
    """Rows whose x is their number; each look at them is in `begun`."""

    def __init__(self, count, there=None):
        self.count = count
        self._there = count if there is None else there
        self.begun = []

    def rows(self, first):
        self.begun.append(first)
        for number in range(first, self._there):
            yield Row(number, f"a.jsonl:{number + 1}",
                      {"x": "no" if number == 99 else number, "id": -number})


class Asker:
    """Answers with twice x. before: called with the rows of a request; a coroutine
    that may wait or raise. bad: rows that get an error."""

    def __init__(self, before=None, bad=()):
        self._before = before
        self._bad = bad
        self.asked = []
        self.under_way = 0
        self.most = 0

    async def results(self, model, group, priority):
        numbers = [row.number for row, _ in group]
        self.asked.append(numbers)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            # Later requests of those under way are answered first.
            for _ in range(10 - len(self.asked) % 10):
                await asyncio.sleep(0)
            if self._before:
                await self._before(numbers)
        finally:
            self.under_way -= 1
        return [RowError(row.number, row.place, "refused", "INTERNAL")
                if row.number in self._bad else {"y": 2 * arrays["x"]}
                for row, arrays in group]


class Counter:

    def __init__(self):
        self.added = self.skipped = 0

    def add(self, count):
        self.added += count

    def skip(self, count):
        self.skipped += count


class JobTest(unittest.IsolatedAsyncioTestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-batch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ledger = Ledger(self.folder)
        self.addCleanup(self.ledger.close)
        self.stop = asyncio.Event()
        self.progress = Counter()

    def job(self, asker, source=None, keep_going=False, grace_s=100,
            shard_rows=4):
        self.source = source or Source(10)
        return Job(asker=asker, model=MODEL, priority=2, source=self.source,
                   files=ShardFiles(self.folder, "jsonl", MODEL.outputs),
                   ledger=self.ledger, limits=Limits(2, 2, shard_rows, grace_s),
                   kept=["id"], keep_going=keep_going, progress=self.progress,
                   stop=self.stop)

    def rows(self):
        return [json.loads(line)
                for path in sorted(self.folder.glob("part-?????.jsonl"))
                for line in path.read_text().splitlines()]

    def expected(self, *numbers):
        return [{"row": i, "id": -i, "y": [2 * i]} for i in numbers]

    async def test_rows_are_in_order(self):
        asker = Asker()
        await self.job(asker).run()
        self.assertEqual(self.rows(), self.expected(*range(10)))
        self.assertEqual(asker.asked, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])
        self.assertEqual(self.source.begun, [0])
        self.assertEqual(self.progress.added, 10)
        self.assertEqual(sorted(self.ledger.finished()), [0, 1, 2])

    async def test_finished_shards_are_not_asked_for(self):
        await self.job(Asker()).run()
        (self.folder / "part-00001.jsonl").unlink()
        asker = Asker()
        await self.job(asker).run()
        self.assertEqual(asker.asked, [[4, 5], [6, 7]])
        self.assertEqual(self.source.begun, [4])
        self.assertEqual(self.progress.skipped, 6)
        self.assertEqual(self.rows(), self.expected(*range(10)))

    async def test_shards_that_lack_are_read_where_they_begin(self):
        await self.job(Asker()).run()
        for shard in (0, 2):
            (self.folder / f"part-{shard:05}.jsonl").unlink()
        asker = Asker()
        await self.job(asker).run()
        self.assertEqual(asker.asked, [[0, 1], [2, 3], [8, 9]])
        self.assertEqual(self.source.begun, [0, 8])
        self.assertEqual(self.rows(), self.expected(*range(10)))

    async def test_requests_under_way_are_bounded(self):
        asker = Asker()
        await self.job(asker, shard_rows=10).run()
        self.assertEqual(asker.most, 2)

    async def test_empty_source_is_done(self):
        await self.job(Asker(), Source(0)).run()
        self.assertEqual(self.rows(), [])

    async def test_first_bad_row_ends_the_job(self):
        for asker, source, place in (
                (Asker(bad=[5]), Source(10), "a.jsonl:6: refused"),
                (Asker(), Source(100), "a.jsonl:100: x: expected INT64, found 'no'")):
            with self.assertRaises(Wrong) as raised:
                await self.job(asker, source).run()
            self.assertEqual(
                str(raised.exception), f"{place}; --keep-going leaves such rows out, "
                "and writes their errors to a file")
            self.assertEqual(asker.under_way, 0)
        self.assertNotIn(24, self.ledger.finished())

    async def test_bad_rows_are_left_out_when_it_keeps_going(self):
        job = self.job(Asker(bad=[5]), Source(100), keep_going=True)
        await job.run()
        self.assertEqual(job.failed, 2)
        self.assertEqual(self.rows(), self.expected(*(
            i for i in range(99) if i != 5)))
        found = json.loads((self.folder / "part-00001.errors.jsonl").read_text())
        self.assertEqual(found, {"row": 5, "place": "a.jsonl:6",
                                 "status": "INTERNAL", "error": "refused"})
        again = self.job(Asker(), Source(100), keep_going=True)
        await again.run()
        self.assertEqual(again.failed, 2)

    async def test_input_that_became_shorter_is_told(self):
        with self.assertRaisesRegex(
                Wrong, "expected 4 rows from row 4 on, found 3: an input changed"):
            await self.job(Asker(), Source(10, there=7)).run()
        self.assertEqual(list(self.ledger.finished()), [0])

    async def test_failure_ends_what_is_under_way(self):
        async def fail(numbers):
            if numbers == [4, 5]:
                raise Unable("away")
            if numbers == [6, 7]:
                await asyncio.Event().wait()

        asker = Asker(fail)
        with self.assertRaisesRegex(Unable, "away"):
            await self.job(asker).run()
        self.assertEqual(asker.under_way, 0)
        self.assertEqual(list(self.ledger.finished()), [0])

    async def test_stop_sends_nothing_more_and_settles_what_is_out(self):
        answered = []

        async def stop(numbers):
            if numbers == [0, 1]:
                self.stop.set()
            answered.append(numbers)

        asker = Asker(stop)
        job = self.job(asker, shard_rows=10)
        with self.assertRaisesRegex(Stopped, "^stopped by a signal; what is finished"):
            await job.run()
        self.assertLess(len(asker.asked), 5)
        self.assertEqual(sorted(answered), asker.asked)
        self.assertEqual(self.ledger.finished(), {})

    async def test_shard_that_was_sent_whole_is_finished(self):
        async def stop(numbers):
            if numbers == [6, 7]:
                self.stop.set()

        asker = Asker(stop)
        with self.assertRaises(Stopped):
            await self.job(asker).run()
        self.assertEqual(list(self.ledger.finished()), [0, 1])
        self.assertEqual(self.rows(), self.expected(*range(8)))

    async def test_grace_time_ends(self):
        async def hang(numbers):
            if numbers == [4, 5]:
                self.stop.set()
                await asyncio.Event().wait()

        asker = Asker(hang)
        with self.assertRaisesRegex(
                Stopped, "^stopped by a signal, 1 requests had no answer within 0 s; "):
            await self.job(asker, grace_s=0).run()
        self.assertEqual(asker.under_way, 0)
        self.assertEqual(list(self.ledger.finished()), [0])

    async def test_stop_comes_through_where_nothing_is_sent(self):
        source = Source(300)
        source.rows = lambda first: (
            RowError(i, "a", "bad") for i in range(first, 300))
        asyncio.get_running_loop().call_soon(self.stop.set)
        with self.assertRaises(Stopped):
            await self.job(Asker(), source, keep_going=True).run()


if __name__ == "__main__":
    unittest.main()
