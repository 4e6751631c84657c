"""Runs one module of tests and writes to standard output, as JSON, how each of
them ended: {"test", "outcome", "why"}. What the tests print goes to stderr."""

import contextlib
import json
import sys
import unittest


class Ledger(unittest.TestResult):
    """Keeps every outcome by the name of its test."""

    def __init__(self):
        super().__init__()
        self.ended = []

    def add(self, test, outcome, why=""):
        self.ended.append({"test": test.id().split(".", 1)[-1],
                           "outcome": outcome, "why": why})

    def addSuccess(self, test):
        self.add(test, "passed")

    def addSkip(self, test, reason):
        self.add(test, "skipped", reason)

    def addFailure(self, test, err):
        self.add(test, "failed", repr(err[1]))

    def addError(self, test, err):
        self.add(test, "failed", repr(err[1]))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.add(subtest, "failed", repr(err[1]))


def main():
    sys.path.insert(0, "")
    ledger = Ledger()
    with contextlib.redirect_stdout(sys.stderr):
        unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(ledger)
    json.dump(ledger.ended, sys.stdout)


if __name__ == "__main__":
    main()
