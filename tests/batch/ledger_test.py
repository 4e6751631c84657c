"""ledger_test opens ledgers again, twice at once, and of other jobs."""

import pathlib
import tempfile
import unittest

from ferry_batch.failures import Unable, Wrong
from ferry_batch.ledger import NAME, Ledger

JOB = {"model": "m", "version": "1", "keep": ["id"]}


class LedgerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-batch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def open(self):
        ledger = Ledger(self.folder)
        self.addCleanup(ledger.close)
        return ledger

    def fill(self):
        ledger = self.open()
        ledger.begin(JOB)
        ledger.finish(0, 10, 1, {"part-00000.jsonl": 5})
        ledger.close()

    def test_what_is_finished_is_there_again(self):
        self.assertIsNone(self.open().job())
        self.folder = self.folder / "other"
        self.folder.mkdir()
        self.fill()
        ledger = self.open()
        ledger.begin(JOB)
        self.assertEqual(ledger.job(), JOB)
        self.assertEqual(ledger.finished(), {0: (1, {"part-00000.jsonl": 5})})
        ledger.finish(0, 10, 0, {"part-00000.jsonl": 6})
        self.assertEqual(ledger.finished(), {0: (0, {"part-00000.jsonl": 6})})

    def test_other_job_is_refused_once_a_shard_is_finished(self):
        ledger = self.open()
        ledger.begin(JOB)
        ledger.begin(JOB | {"version": "2"})
        self.assertEqual(ledger.job()["version"], "2")
        ledger.close()
        self.fill()
        with self.assertRaises(Wrong) as raised:
            self.open().begin(JOB | {"keep": []})
        self.assertEqual(
            str(raised.exception),
            f'{self.folder / NAME}: expected the job that began here, with keep '
            '["id"], found []; give another folder for the output, or remove this '
            "one")

    def test_second_process_is_refused(self):
        first = self.open()
        with self.assertRaisesRegex(Unable, "expected no other ferry-batch of this"):
            self.open()
        first.close()
        self.open()

    def test_foreign_results_and_files_are_left_alone(self):
        foreign = self.folder / "part-00000.jsonl"
        foreign.write_text("results")
        for _ in range(2):
            with self.assertRaisesRegex(Wrong, "found part-00000.jsonl without it"):
                self.open()
        foreign.unlink()
        (self.folder / NAME).write_text("no database, but text of some length" * 30)
        with self.assertRaisesRegex(Wrong, "expected a ledger of ferry-batch, found"):
            self.open()

    def test_folder_that_takes_no_file_is_told(self):
        self.folder = self.folder / "none"
        with self.assertRaisesRegex(Unable, "cannot write .*unable to open"):
            self.open()


if __name__ == "__main__":
    unittest.main()
