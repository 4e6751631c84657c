"""command_test reads command lines, and what they make of a model."""

import asyncio
import contextlib
import io
import pathlib
import signal
import tempfile
import types
import unittest
from unittest import mock

from ferry_batch import __main__ as program
from ferry_batch import command, connection
from ferry_batch.failures import Stopped, Wrong
from ferry_batch.flags import parse_flags
from ferry_batch.job import Limits
from ferry_batch.model import Model, Tensor
from ferry_batch.progress import Progress

NEEDED = ["a.jsonl", "--output", "out", "-m", "m"]


def flags(*more):
    return parse_flags([*NEEDED, *more])


def model(most=8, levels=0, instances=1, outputs=("y",)):
    return Model("m", "1", (Tensor("x", "FP32", (1,)),),
                 tuple(Tensor(name, "FP32", (1,)) for name in outputs), most,
                 levels, instances)


class FlagsTest(unittest.TestCase):

    def refused(self, *more, of=parse_flags, given=None):
        """Returns what is said where flags end the command with code 1."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit) as raised:
                of([*NEEDED, *more] if given is None else given)
        self.assertEqual(raised.exception.code, 1)
        self.assertEqual(said.getvalue().count("\n"), 1)
        return said.getvalue()

    def test_times_have_units(self):
        self.assertEqual(
            [flags("--grace", text).grace for text in ("20s", "2m", "1h", "7", "0")],
            [20, 120, 3600, 7, 0])
        for text in ("-1s", "s", "nan", "inf", "1d", "1e12"):
            self.assertIn(f"expected a time as 20s, 2m or 1h, found '{text}'",
                          self.refused(f"--grace={text}"))
        self.assertIn("--timeout: expected a time", self.refused("--timeout=0s"))

    def test_numbers_have_bounds(self):
        self.assertEqual(flags("--shard-rows", "1").shard_rows, 1)
        for text in ("0", "-1", "a", "1.5", "10000000000"):
            self.assertIn(f"expected a number of at least 1, found '{text}'",
                          self.refused(f"--shard-rows={text}"))
        self.assertEqual(flags("--priority=0").priority, 0)

    def test_what_is_missing_or_unknown_is_told(self):
        self.assertIn("--output", self.refused(given=["a.jsonl", "-m", "m"]))
        self.assertIn("unrecognized arguments: --outputs=b; see --help",
                      self.refused("--outputs=b"))
        self.assertIn("--tls-cert and --tls-key together, found one",
                      self.refused("--tls-cert=a"))

    def test_files_of_tls_mean_tls(self):
        self.assertFalse(flags().tls)
        self.assertTrue(flags("--tls").tls)
        self.assertTrue(flags("--tls-ca=a").tls)
        self.assertTrue(flags("--tls-cert=a", "--tls-key=b").tls)


class ConnectionTest(unittest.TestCase):

    def token(self, content, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "token"
            path.write_bytes(content)
            return connection.metadata(flags(f"--token-file={path}", *more))

    def test_token_is_one_line(self):
        self.assertEqual(connection.metadata(flags()), ())
        self.assertEqual(self.token(b"abc \n"), (("authorization", "Bearer abc"),))
        for content in (b"", b"\n", b"a\nb", b"\xff", b"\xc3\xa9"):
            with self.assertRaisesRegex(Wrong, "expected one line with a token"):
                self.token(content)

    def test_token_that_others_may_read_is_told(self):
        for address, more, is_told in (
                ("127.0.0.1:8001", [], False), ("localhost:8001", [], False),
                ("unix:/run/ferry", [], False), ("ferry:8001", [], True),
                ("localhost.example:8001", [], True),
                ("ferry:8001", ["--tls"], False)):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.token(b"abc", f"--address={address}", *more)
            self.assertEqual("without TLS the token can be read" in said.getvalue(),
                             is_told, address)

    def test_file_that_is_not_there_is_told_by_its_flag(self):
        with self.assertRaisesRegex(Wrong, "--token-file: cannot read none: No such"):
            connection.metadata(flags("--token-file=none"))
        with self.assertRaisesRegex(Wrong, "--tls-ca: cannot read none: No such"):
            connection.connect(flags("--tls-ca=none"))


class CommandTest(unittest.TestCase):

    def said(self, call, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return call(*arguments), said.getvalue()

    def test_priority_is_the_lowest_level(self):
        self.assertEqual(self.said(command.priority_of, flags(), model(levels=3)),
                         (3, ""))
        self.assertEqual(command.priority_of(flags("--priority=2"), model(levels=3)),
                         2)
        priority, said = self.said(command.priority_of, flags(), model(levels=1))
        self.assertEqual(priority, 0)
        self.assertIn("warning: model 'm' has one level of priority", said)
        with self.assertRaisesRegex(Wrong, "--priority: expected at most 3, .*found 4"):
            command.priority_of(flags("--priority=4"), model(levels=3))

    def test_limits_fill_two_batches_of_each_instance(self):
        for most, instances, more, rows, outstanding in (
                (8, 1, [], 8, 3), (256, 2, [], 64, 17), (0, 1, [], 1, 3),
                (8, 1, ["--rows-per-request=2"], 2, 9),
                (8, 1, ["--outstanding=1"], 8, 1)):
            self.assertEqual(
                command.limits_of(flags(*more), model(most, instances=instances)),
                Limits(rows, outstanding, 10_000, 20))
        for most in (0, 1):
            with self.assertRaisesRegex(Wrong, "expected at most 1, .*found 2"):
                command.limits_of(flags("--rows-per-request=2"), model(most))

    def test_names_of_results_are_told_apart(self):
        def check(form, source, *keep, outputs=("y",)):
            command.check_names(
                flags(*(f"--keep={name}" for name in keep)), model(outputs=outputs),
                form, types.SimpleNamespace(form=source))

        check("jsonl", "parquet")
        check("jsonl", "jsonl", "id", "z")
        for form, source in (("npy", "npy"), ("parquet", "jsonl")):
            with self.assertRaisesRegex(Wrong, f"found {source} and {form}"):
                check(form, source, "id")
        for name in ("row", "x", "y"):
            with self.assertRaisesRegex(Wrong, f"nor 'row', found '{name}'"):
                check("jsonl", "jsonl", name)
        with self.assertRaisesRegex(Wrong, "expected outputs of other names"):
            check("jsonl", "jsonl", outputs=("row",))

    def test_signal_before_the_first_row_ends_with_its_code(self):
        for number in command.SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

        def run(_):
            signal.raise_signal(signal.SIGTERM)

        with mock.patch.object(command, "run", run):
            code, said = self.said(program.main, NEEDED)
        self.assertEqual(code, Stopped.code)
        self.assertIn("ferry-batch: stopped by a signal; what is finished", said)

    def test_signal_after_the_end_changes_nothing(self):
        for number in command.SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        command.take_signals(stop, loop)
        signal.raise_signal(signal.SIGTERM)
        loop.run_until_complete(asyncio.sleep(0))
        self.assertTrue(stop.is_set())
        loop.close()
        for number in command.SIGNALS:
            signal.raise_signal(number)


class ProgressTest(unittest.TestCase):

    def test_rate_is_of_the_rows_that_came(self):
        with mock.patch("time.monotonic", lambda: self.now):
            self.now = 100.0
            progress = Progress(2000)
            self.assertEqual(progress.text(), "0 of 2,000 rows, 0 rows/s, ? left")
            progress.skip(1000)
            self.now = 110.0
            progress.add(100)
            self.assertEqual(progress.text(),
                             "1,100 of 2,000 rows, 10 rows/s, 01:30 left")
            progress.close()

    def test_without_a_terminal_a_line_comes_now_and_then(self):
        self.now = 0.0
        with mock.patch("time.monotonic", lambda: self.now), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            progress = Progress(100)
            progress.add(1)
            self.now = 31.0
            progress.add(1)
            progress.add(1)
        self.assertEqual(said.getvalue(),
                         "ferry-batch: 2 of 100 rows, 0 rows/s, 25:19 left\n")

    def test_bar_skips_without_a_rate(self):
        screen = io.StringIO()
        screen.isatty = lambda: True
        with mock.patch("sys.stderr", screen):
            progress = Progress(100)
            progress.skip(60)
            self.assertEqual(progress._bar.initial, 60)
            progress.add(40)
            progress.close()
        self.assertIn("60/100", screen.getvalue())
        self.assertIn("100/100", screen.getvalue())


if __name__ == "__main__":
    unittest.main()
