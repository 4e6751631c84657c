"""flags reads the command line of ferry-batch."""

import argparse
import pathlib
import sys

from . import VERSION
from .failures import Wrong
from .progress import say
from .shard_files import FORMATS

MOST_ROWS = 64  # a request's, by default


def number(least):
    """Returns a parser of a whole number of at least that."""
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 1e9:
            raise argparse.ArgumentTypeError(
                f"expected a number of at least {least}, found '{text}'")
        return value
    return parse


def duration(may_be_zero):
    """Returns a parser of the seconds of '20s', '2m' or '20'."""
    def parse(text):
        scale = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
        try:
            seconds = float(text[:-1]) * scale if scale else float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < 1e9 or not (seconds or may_be_zero):
            raise argparse.ArgumentTypeError(
                f"expected a time as 20s, 2m or 1h, found '{text}'")
        return seconds
    return parse


class Parser(argparse.ArgumentParser):
    """Ends with the exit code 1 where flags are wrong, in one line."""

    def error(self, message):
        say(f"{message}; see --help")
        sys.exit(Wrong.code)


def parse_flags(arguments):
    """Returns the flags by name."""
    parser = Parser(
        prog="ferry-batch", allow_abbrev=False,
        description="computes the rows of files by a model of a running server, at "
        "its lowest priority; the same command goes on after any end")
    add = parser.add_argument
    add("input", nargs="+", metavar="INPUT",
        help="files of .jsonl (one object a line, its members the inputs), of "
        ".parquet (a column an input), or of .npy (NAME=FILE an input)")
    add("--output", required=True, type=pathlib.Path, metavar="DIR",
        help="folder of the results, part-00000... and the ledger")
    add("-m", "--model", required=True, help="model to ask")
    add("--model-version", default="", metavar="N",
        help="its version (the newest at the start of the job)")
    add("-u", "--address", default="127.0.0.1:8001", metavar="HOST:PORT",
        help="server, or any target of gRPC (127.0.0.1:8001)")
    add("--priority", type=number(0), metavar="N",
        help="level of the requests (the model's lowest)")
    add("--output-format", choices=FORMATS, help="(that of the inputs)")
    add("--keep", action="append", default=[], metavar="NAME",
        help="a member or column that is no input, to be written beside the outputs")
    add("--keep-going", action="store_true",
        help="leaves out rows that fail, and writes their errors to a file")
    add("--shard-rows", type=number(1), default=10_000, metavar="N",
        help="rows of a file of results, which memory holds (10000)")
    add("--rows-per-request", type=number(1), metavar="N",
        help=f"(max_batch_size of the model, {MOST_ROWS} at most)")
    add("--outstanding", type=number(1), metavar="N",
        help="requests under way (two batches for each instance, and one more)")
    add("--grace", type=duration(True), default=20.0, metavar="TIME",
        help="after SIGTERM, for what is under way (20s)")
    add("--timeout", type=duration(False), default=120.0, metavar="TIME",
        help="of a request; it is sent again then (2m)")
    add("--give-up", type=duration(True), default=600.0, metavar="TIME",
        help="ends when the server has not answered for so long (10m)")
    add("--tls", action="store_true", help="encrypted, by the system's authorities")
    add("--tls-ca", type=pathlib.Path, metavar="FILE",
        help="authorities in place of the system's, in PEM")
    add("--tls-cert", type=pathlib.Path, metavar="FILE", help="the client's own")
    add("--tls-key", type=pathlib.Path, metavar="FILE", help="its key")
    add("--token-file", type=pathlib.Path, metavar="FILE",
        help="a file of one token, sent with each request")
    parser.add_argument("--version", action="version",
                        version=f"ferry-batch {VERSION}")
    flags = parser.parse_args(arguments)
    if (flags.tls_cert is None) != (flags.tls_key is None):
        parser.error("expected --tls-cert and --tls-key together, found one")
    flags.tls = flags.tls or bool(flags.tls_ca or flags.tls_cert)
    return flags
