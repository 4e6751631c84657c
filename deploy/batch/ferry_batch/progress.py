"""progress tells how many rows are through, their rate and the time left: a bar
on a terminal, else a line now and then."""

import sys
import time

import tqdm

LINE_S = 30


class Progress:
    """Counts rows of `total` and tells of them on standard error."""

    def __init__(self, total):
        self._total = total
        self._added = 0
        self._skipped = 0
        self._began = self._told = time.monotonic()
        self._bar = tqdm.tqdm(total=total, unit=" rows", smoothing=0.1,
                              file=sys.stderr) if sys.stderr.isatty() else None

    def skip(self, count):
        """Counts rows that were finished before; they are in no rate."""
        self._skipped += count
        if self._bar is not None:
            for name in ("initial", "n", "last_print_n"):
                setattr(self._bar, name, getattr(self._bar, name) + count)
            self._bar.refresh()

    def add(self, count):
        """Counts rows that have come."""
        self._added += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._told >= LINE_S:
            self._told = time.monotonic()
            say(self.text())

    def text(self):
        """Returns a line of rows, rate and time left."""
        through, rate = self._added + self._skipped, self.rate()
        left = (tqdm.tqdm.format_interval((self._total - through) / rate)
                if rate else "?")
        return (f"{through:,} of {self._total:,} rows, {rate:,.0f} rows/s, "
                f"{left} left")

    def rate(self):
        """Returns the rows a second since the start."""
        passed = time.monotonic() - self._began
        return self._added / passed if passed > 0 else 0.0

    def close(self):
        if self._bar is not None:
            self._bar.close()


def say(text):
    """Writes a line on standard error, above a bar."""
    tqdm.tqdm.write(f"ferry-batch: {text}", file=sys.stderr)
    sys.stderr.flush()
