"""ferry-batch computes the rows of files by a model of a running server.

Exit codes: 0 all rows are through; 1 what was asked makes no sense, or a row is
not as expected; 2 it cannot go on now; 75 a signal stopped it. After 2 and 75 the
same command goes on where it was.
"""

import os
import signal
import sys

from .failures import Failure, Stopped


def _stop(*_):
    raise Stopped()


def main(arguments=None):
    """Runs the command; returns its exit code."""
    # What is imported takes a while, in which a signal may come.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, _stop)
    # Its errors come as those of calls.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from .command import run
        from .flags import parse_flags
        run(parse_flags(arguments))
    except Failure as failure:
        print(f"ferry-batch: {failure}", file=sys.stderr)
        return failure.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
