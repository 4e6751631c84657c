"""The command line of the exporter, checked as far as it goes without torch."""

import argparse
import dataclasses
import json
import pathlib
import re

from ferry_export import tensors
from ferry_export.errors import ExportError

MODEL_NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}")
DTYPES = ("bf16", "fp32", "int8")
DEVICES = ("cpu", "cuda")
INT8_KINDS = ("dynamic", "weight-only")


@dataclasses.dataclass(frozen=True)
class Command:
    """What is to be exported, where to, and how it is checked."""

    source: str
    weights: pathlib.Path | None
    arguments: dict
    repository: pathlib.Path
    name: str
    version: int
    format: str
    device: str
    dtype: str
    int8: str
    script: bool
    inputs: list
    outputs: list  # (name, type or None)
    max_batch_size: int
    buckets: list
    package_per_bucket: bool
    threads: int
    samples: str | None
    rows: int
    check: bool
    server: pathlib.Path
    max_error: float | None
    min_cosine: float | None

    def folder(self):
        return self.repository / self.name

    def has_rows(self):
        return self.max_batch_size > 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="scripts/export.sh", allow_abbrev=False,
        description="Writes a folder that Ferry serves from a Python module, "
        "serves it, and compares the answers with the module's own in fp32.",
        epilog="scripts/export.sh examples/export/mlp.py:Mlp "
        "--input x:FP32:-1,64 --repository my_models")
    parser.add_argument(
        "source", metavar="MODULE",
        help="a class or function that gives a torch.nn.Module: "
        "package.module:Name or file.py:Name")
    parser.add_argument("--weights", type=pathlib.Path, metavar="FILE",
                        help="a state dict (.pt, .pth, .bin) or .safetensors")
    parser.add_argument("--arguments", default="{}", metavar="JSON",
                        help="for the class or function: '{\"width\": 64}'")
    parser.add_argument("--repository", type=pathlib.Path, required=True,
                        metavar="DIR", help="the folder of models")
    parser.add_argument("--name", help="of the model; the module's file's")
    parser.add_argument("--version", type=int, default=1, metavar="N")
    parser.add_argument("--format", choices=("pt", "pt2"),
                        help="pt: TorchScript, runs on any processor; pt2: "
                        "AOTInductor, compiled for this one, which bounds "
                        "some sizes written -1, often to 4096, and then says "
                        "so. Default: pt, with int8 or cuda pt2")
    parser.add_argument("--device", choices=DEVICES, default="cpu",
                        help="what a pt2 is compiled for, and checked on; "
                        "cuda: this machine's GPU, and those like it")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--int8", choices=INT8_KINDS, default="dynamic",
                        help="with --dtype int8: what is int8 beside weights")
    parser.add_argument("--script", action="store_true",
                        help="pt: torch.jit.script instead of trace, for "
                        "forward()s that branch on what they are given")
    parser.add_argument("--input", action="append", default=[],
                        metavar="NAME:TYPE:DIMS",
                        help="of forward(), the batch first: x:FP32:-1,64")
    parser.add_argument("--output", action="append", default=[],
                        metavar="NAME[:TYPE]",
                        help="names for what forward() gives, in order")
    parser.add_argument("--max-batch-size", type=int, default=32,
                        metavar="ROWS", help="0: no batch dimension")
    parser.add_argument("--buckets", default="", metavar="ROWS,...",
                        help="batches are padded to one of these")
    parser.add_argument("--package-per-bucket", action="store_true",
                        help="pt2: compile each bucket for just its rows, "
                        "instead of once for any number")
    parser.add_argument("--threads", type=int, default=0, metavar="N",
                        help="inside an operator; default: the server's")
    parser.add_argument("--samples", metavar="FILE",
                        help="rows to check with: an .npz of arrays by input, "
                        "or a function of a row count: file.py:function. "
                        "Default: seeded noise; integers from 1 to 9")
    parser.add_argument("--rows", type=int, default=16, metavar="N",
                        help="rows to check with")
    parser.add_argument("--no-check", dest="check", action="store_false",
                        help="write the folder without serving it")
    parser.add_argument("--server", type=pathlib.Path, metavar="FILE",
                        default="build/release/bin/ferry-server",
                        help="the ferry-server to check with")
    parser.add_argument("--max-error", type=float, metavar="X",
                        help="largest error allowed, as a share of the "
                        "largest value; default: the dtype's")
    parser.add_argument("--min-cosine", type=float, metavar="X",
                        help="smallest cosine allowed of a row with fp32's")
    return parser


def parse(words):
    """Returns the checked Command; exits as argparse does on wrong flags."""
    flags = make_parser().parse_args(words)
    if not 0 <= flags.max_batch_size <= 65536:
        raise ExportError("--max-batch-size: expected 0 to 65536, got "
                          f"{flags.max_batch_size}")
    has_rows = flags.max_batch_size > 0
    if not flags.input:
        raise ExportError("--input: expected each input of forward() as "
                          "NAME:TYPE:DIMS, as in x:FP32:-1,64; got none")
    inputs = [tensors.parse_input(text, has_rows) for text in flags.input]
    outputs = [tensors.parse_output(text) for text in flags.output]
    tensors.check_names_differ("--input", [spec.name for spec in inputs])
    tensors.check_names_differ("--output", [name for name, _ in outputs])
    check_ranges(flags)
    buckets = parse_buckets(flags.buckets, flags.max_batch_size)
    chosen = choose_format(flags)
    if flags.package_per_bucket and (chosen != "pt2" or not buckets):
        raise ExportError("--package-per-bucket: expected --format pt2 and "
                          "--buckets")
    return Command(
        source=check_source(flags.source), weights=check_weights(flags.weights),
        arguments=parse_arguments(flags.arguments),
        repository=flags.repository, name=model_name(flags),
        version=flags.version, format=chosen, device=flags.device,
        dtype=flags.dtype,
        int8=flags.int8, script=flags.script, inputs=inputs, outputs=outputs,
        max_batch_size=flags.max_batch_size,
        buckets=buckets, package_per_bucket=flags.package_per_bucket,
        threads=flags.threads, samples=flags.samples, rows=flags.rows,
        check=flags.check, server=flags.server, max_error=flags.max_error,
        min_cosine=flags.min_cosine)


def check_ranges(flags):
    for option, value, least in (("--version", flags.version, 1),
                                 ("--threads", flags.threads, 0),
                                 ("--rows", flags.rows, 1)):
        if value < least:
            raise ExportError(f"{option}: expected {least} or more, got "
                              f"{value}")
    if flags.max_error is not None and not 0 < flags.max_error <= 1:
        raise ExportError("--max-error: expected a share above 0, at most 1, "
                          f"got {flags.max_error}")
    if flags.check and not flags.server.is_file():
        raise ExportError(f"--server: no file {flags.server}; scripts/build.sh "
                          "builds it, --no-check goes without")


def check_source(text):
    path, colon, name = text.rpartition(":")
    if not colon or not path or not name.isidentifier():
        raise ExportError("MODULE: expected package.module:Name or "
                          f"file.py:Name, got '{text}'" +
                          (": a checkpoint has weights but no code; give its "
                           "class, and the checkpoint with --weights"
                           if pathlib.Path(text).is_file() else ""))
    if path.endswith(".py") and not pathlib.Path(path).is_file():
        raise ExportError(f"MODULE: no file '{path}'")
    return text


def check_weights(path):
    if path is not None and not path.is_file():
        raise ExportError(f"--weights: no file '{path}'")
    return path


def parse_arguments(text):
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError as error:
        raise ExportError(f"--arguments: expected JSON, got '{text}': {error}"
                          ) from None
    if not isinstance(arguments, dict):
        raise ExportError("--arguments: expected an object, as in "
                          f"'{{\"width\": 64}}', got '{text}'")
    return arguments


def model_name(flags):
    path = flags.source.rpartition(":")[0]
    stem = path.removesuffix(".py").replace("/", ".").rpartition(".")[2]
    name = flags.name or stem
    if not MODEL_NAME.fullmatch(name):
        raise ExportError("--name: expected 1 to 64 of letters, digits, '.', "
                          f"'_' and '-', not beginning with '.', got '{name}'")
    return name


def choose_format(flags):
    is_cuda = flags.device == "cuda"
    chosen = flags.format or (
        "pt2" if flags.dtype == "int8" or is_cuda else "pt")
    if is_cuda and (chosen == "pt" or flags.dtype == "int8"):
        raise ExportError(
            "--device cuda: expected --format pt2 with bf16 or fp32; a "
            "TorchScript file runs on every device, and int8 has kernels of "
            "the processor")
    if chosen == "pt" and flags.dtype == "int8":
        raise ExportError(
            "--dtype int8: expected --format pt2; TorchScript's own int8 has "
            "one scale for a whole batch, so a row's answer would depend on "
            "the rows beside it")
    if chosen == "pt2" and flags.script:
        raise ExportError("--script is for --format pt")
    return chosen


def parse_buckets(text, max_batch_size):
    try:
        buckets = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        buckets = [0]
    if buckets and (buckets[0] < 1 or buckets[-1] != max_batch_size or
                    sorted(set(buckets)) != buckets):
        raise ExportError("--buckets: expected ascending row counts that end "
                          f"with --max-batch-size, {max_batch_size}, got "
                          f"'{text}'")
    return buckets
