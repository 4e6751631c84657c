"""job computes the shards of a job, one after the other.

Within a shard several requests are under way; the shard's files are written once
all of its rows are there. So whatever ends the process, one shard is computed
again at most.
"""

import asyncio
import dataclasses
import itertools

from . import sources
from .failures import RowError, Stopped, Wrong

MOST_BYTES = 16 << 20  # a request's


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much is asked for at once."""

    rows_per_request: int
    outstanding: int  # requests under way
    shard_rows: int
    grace_s: float  # for what is under way after a signal


class Job:
    """Computes all rows of a source into the files of shards.

    kept: names of values that are no inputs and are written beside the outputs.
    keep_going: whether rows without a result are left out, and told of in a file.
    progress: told of rows by add(count) and skip(count).
    stop: an asyncio.Event, after which nothing more is sent, and what is under way
    has the grace time.
    """

    def __init__(self, *, asker, model, priority, source, files, ledger, limits,
                 kept, keep_going, progress, stop):
        self._asker = asker
        self._model = model
        self._priority = priority
        self._source = source
        self._files = files
        self._ledger = ledger
        self._limits = limits
        self._kept = kept
        self._keep_going = keep_going
        self._progress = progress
        self._stop = stop
        self._stopping = None  # the task that waits for stop
        self.failed = 0

    async def run(self):
        """Computes what is not finished. Raises Failure."""
        self._stopping = asyncio.create_task(self._stop.wait())
        try:
            await self._shards()
        finally:
            self._stopping.cancel()

    async def _shards(self):
        finished = self._ledger.finished()
        shard_rows = self._limits.shard_rows
        rows = None  # of the source, from the next shard on
        for shard, first in enumerate(range(0, self._source.count, shard_rows)):
            count = min(shard_rows, self._source.count - first)
            failed, names = finished.get(shard, (0, None))
            if names is not None and self._files.are_there(names):
                self.failed += failed
                self._progress.skip(count)
                rows = None
                continue
            # Lets a signal in, where no row of a shard was sent.
            await asyncio.sleep(0)
            if self._stop.is_set():
                raise Stopped()
            rows = rows or self._source.rows(first)
            results, errors = await self._shard(itertools.islice(rows, count))
            if len(results) + len(errors) != count:
                raise Wrong(f"expected {count} rows from row {first} on, found "
                            f"{len(results) + len(errors)}: an input changed while "
                            "it was read; give another folder for the output")
            written = self._files.write(shard, results, errors)
            self._ledger.finish(shard, count, len(errors), written)
            self.failed += len(errors)

    async def _shard(self, rows):
        """Returns (row, outputs, kept) and RowErrors of the rows, in order."""
        results, errors, under_way = {}, {}, set()
        groups = sources.groups(rows, self._model, self._kept,
                                self._limits.rows_per_request, MOST_BYTES)
        try:
            for group in groups:
                if isinstance(group, RowError):
                    self._take_error(group, errors)
                    continue
                while (len(under_way) >= self._limits.outstanding and
                       not self._stop.is_set()):
                    await self._wait(under_way)
                if self._stop.is_set():
                    await self._settle(under_way)
                    raise Stopped()
                under_way.add(asyncio.create_task(
                    self._group(group, results, errors)))
            while under_way and not self._stop.is_set():
                await self._wait(under_way)
            await self._settle(under_way)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return ([(row, *results[row]) for row in sorted(results)],
                [errors[row] for row in sorted(errors)])

    async def _wait(self, under_way):
        """Waits until a task is through, or for stop; takes out what is through.
        Raises what failed."""
        done, _ = await asyncio.wait({*under_way, self._stopping},
                                     return_when=asyncio.FIRST_COMPLETED)
        for task in done - {self._stopping}:
            under_way.discard(task)
            task.result()

    async def _settle(self, under_way):
        """Waits until all tasks are through; raises Stopped where the grace time
        is over before."""
        if not under_way:
            return
        done, left = await asyncio.wait(under_way, timeout=self._limits.grace_s)
        for task in done:
            task.result()
        if left:
            raise Stopped(f", {len(left)} requests had no answer within "
                          f"{self._limits.grace_s:g} s")

    async def _group(self, group, results, errors):
        found = await self._asker.results(self._model, group, self._priority)
        for (row, _), result in zip(group, found, strict=True):
            if isinstance(result, RowError):
                self._take_error(result, errors)
                continue
            results[row.number] = (
                result, {name: row.values.get(name) for name in self._kept})
            self._progress.add(1)

    def _take_error(self, error, errors):
        if not self._keep_going:
            raise Wrong(f"{error.place}: {error.text}; --keep-going leaves such rows "
                        "out, and writes their errors to a file")
        errors[error.number] = error
        self._progress.add(1)
