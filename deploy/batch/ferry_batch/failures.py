"""failures names the ways in which a job ends early, with their exit codes.

Each has a message for people: what was expected, what was found, what to do.
"""

import dataclasses

KEPT = "what is finished is kept: start the same command again"


class Failure(Exception):
    """A job that ends early."""

    code = 1


class Wrong(Failure):
    """What was asked makes no sense, or an input is not as expected: the same
    command fails again."""

    code = 1


class Unable(Failure):
    """The job cannot go on now: a server that is away, a full disk. The same
    command goes on later."""

    code = 2


class Stopped(Failure):
    """A signal stopped the job. The same command goes on (EX_TEMPFAIL of
    sysexits.h)."""

    code = 75

    def __init__(self, unanswered=""):
        super().__init__(f"stopped by a signal{unanswered}; {KEPT}")


@dataclasses.dataclass(frozen=True)
class RowError:
    """One row that gives no result.

    number: that of the row. place: the file and line, or row, that it came from.
    text: what was expected and found. status: the code of gRPC.
    """

    number: int
    place: str
    text: str
    status: str = "INVALID_ARGUMENT"
