"""The written folder served by ferry-server, against the module in fp32.

Every row is sent alone, several at once, so that the server batches them, and
all together. What is compared, for each output: the largest error, as a share
of the largest value that fp32 gives, and the smallest cosine of a row with its
own in fp32; of integers and bools the share that differs.
"""

import concurrent.futures
import contextlib
import dataclasses
import re
import subprocess
import tempfile
import time

import numpy as np

from ferry_export.errors import ExportError, reason

START_SECONDS = 300
STOP_SECONDS = 30
REPLY_SECONDS = 120
CLIENTS = 8
# ferry-server's --device says the one GPU there is; CUDA_VISIBLE_DEVICES chooses.
SERVER_DEVICES = {"cpu": "cpu", "cuda": "only"}
# By dtype: (largest error as a share of the largest value, smallest cosine).
TOLERANCES = {"fp32": (1e-4, 0.99999), "bf16": (0.05, 0.999),
              "int8": (0.15, 0.99)}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How far one output is from fp32; `cosine` is None where there is none."""

    name: str
    error: float
    error_share: float
    cosine: float | None
    max_share: float
    min_cosine: float

    @property
    def passed(self):
        return (self.error_share <= self.max_share and
                (self.cosine is None or self.cosine >= self.min_cosine))

    def text(self):
        words = (f"{self.name}: max abs error {self.error:.3g}, "
                 f"{self.error_share:.3%} of the largest value (at most "
                 f"{self.max_share:.3%})")
        if self.cosine is not None:
            words += (f", cosine {self.cosine:.6f} (at least "
                      f"{self.min_cosine:g})")
        return words + (": pass" if self.passed else ": FAIL")


def compare(name, expected, found, tolerance):
    """Compares the rows of one output, [rows, ...] or without rows."""
    max_share, min_cosine = tolerance
    if expected.shape != found.shape:
        raise ExportError(f"output '{name}': expected {list(expected.shape)}, "
                          f"the server gives {list(found.shape)}")
    if not np.issubdtype(expected.dtype, np.floating):
        share = float(np.mean(expected != found)) if expected.size else 0.0
        error = float(np.max(np.abs(expected.astype(np.float64) -
                                    found.astype(np.float64)), initial=0))
        return Comparison(name, error, share, None, max_share, min_cosine)
    expected = expected.astype(np.float64)
    found = found.astype(np.float64)
    if not np.array_equal(np.isfinite(expected), np.isfinite(found)):
        return Comparison(name, np.inf, np.inf, None, max_share, min_cosine)
    expected, found = np.nan_to_num(expected), np.nan_to_num(found)
    error = float(np.max(np.abs(expected - found), initial=0))
    largest = float(np.max(np.abs(expected), initial=0)) or 1.0
    return Comparison(name, error, error / largest, cosine(expected, found),
                      max_share, min_cosine)


def cosine(expected, found):
    """Returns the smallest of the rows' cosines; None where rows are numbers."""
    if expected.ndim < 2 or expected[0].size < 2:
        return None
    a = expected.reshape(len(expected), -1)
    b = found.reshape(len(found), -1)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    if not lengths.any():
        return None
    dots = np.sum(a * b, axis=1)
    return float(np.min(np.where(lengths > 0, dots / np.maximum(lengths, 1e-300),
                                 1.0)))


@contextlib.contextmanager
def served(server, repository, name, device="cpu"):
    """Gives the address of a server of that one model, on a free port."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [server, "--model-repository", repository, "--load-model", name,
             "--grpc-port", "0", "--metrics-port", "0",
             "--device", SERVER_DEVICES[device]],
            stdout=log, stderr=subprocess.STDOUT)
        try:
            yield f"127.0.0.1:{wait_for_port(process, log)}"
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for_port(process, log):
    """Returns the port once the log says that the server is ready."""
    until = time.monotonic() + START_SECONDS
    while True:
        ended = process.poll() is not None
        log.seek(0)
        text = log.read()
        found = re.search(r" ready grpc=\S*:(\d+)", text)
        if found and not ended:
            return found.group(1)
        if ended or time.monotonic() > until:
            lines = [line for line in text.splitlines()
                     if "error" in line.lower()] or text.splitlines()
            raise ExportError(
                ("ferry-server does not serve the folder: " if ended else
                 f"ferry-server was not ready within {START_SECONDS} s: ") +
                " ".join(lines[-3:]))
        time.sleep(0.1)


def ask(client, command, specs, outputs, arrays):
    """Returns the outputs of one request by name."""
    import tritonclient.grpc as triton
    inputs = []
    for spec in specs:
        array = arrays[spec.name]
        tensor = triton.InferInput(spec.name, list(array.shape), spec.type)
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    result = client.infer(command.name, inputs, client_timeout=REPLY_SECONDS)
    return {spec.name: result.as_numpy(spec.name) for spec in outputs}


def check(command, specs, outputs, arrays, expected, repository):
    """Returns a Comparison for each output; `expected` are those in fp32."""
    import tritonclient.grpc as triton
    with served(command.server, repository, command.name,
                command.device) as address:
        try:
            with triton.InferenceServerClient(address) as client:
                answers = all_answers(client, command, specs, outputs, arrays)
        except triton.InferenceServerException as error:
            raise ExportError("the server refuses the sample rows: "
                              f"{reason(error)}") from error
    tolerance = TOLERANCES[command.dtype]
    tolerance = (tolerance[0] if command.max_error is None
                 else command.max_error,
                 tolerance[1] if command.min_cosine is None
                 else command.min_cosine)
    return [compare(spec.name,
                    np.concatenate([expected[spec.name]] * len(answers)),
                    np.concatenate([a[spec.name] for a in answers]), tolerance)
            for spec in outputs]


def all_answers(client, command, specs, outputs, arrays):
    """Returns the answers to all rows together, and to each row alone."""
    together = ask(client, command, specs, outputs, arrays)
    if not command.has_rows():
        return [{name: value[None] for name, value in together.items()}]

    def alone(row):
        return ask(client, command, specs, outputs,
                   {name: array[row:row + 1] for name, array in arrays.items()})
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        rows = list(pool.map(alone, range(len(next(iter(arrays.values()))))))
    return [together, {spec.name: np.concatenate([r[spec.name] for r in rows])
                       for spec in outputs}]
