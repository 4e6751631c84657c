"""The steps of scripts/gpu_check.sh under compute-sanitizer: the tests of kernels,
a short serve, and last the tests of whole models, which may take the longest.

Errors: those of a step are its outcome. What is not done within its bound, and
without an error so far, is skipped.
"""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile

import steps
from programs import KEPT_CHARACTERS, Server, run
from steps import Skip

ERROR_CODE = 99
# Seconds at most: of a test, and of a server until it is ready and to drain. It
# was never run: a guess, by what NVIDIA says of the tool, 10 to 100 times slower.
TEST_S, READY_S, STOP_S = 900, 600, 180
LAST = "cuda_model_test"
MODEL = "linear"  # that is served
# What it found is told as it is found, each line behind this; and a test that
# fails.
FINDING = re.compile(r"^========= (?!COMPUTE-SANITIZER)|^\[  FAILED  \]",
                     re.MULTILINE)


def find_tool():
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin",
               "/opt/cuda/bin"]
    found = shutil.which("compute-sanitizer", path=os.pathsep.join(folders))
    if found is None:
        raise Skip("compute-sanitizer is missing: it comes with the CUDA "
                   "toolkit")
    # LibTorch asks the driver for what it may not have, and some tests do what
    # is refused: no errors of calls, those of memory only.
    return [found, "--target-processes", "all", "--error-exitcode", ERROR_CODE,
            "--report-api-errors", "no"]


def refuse_device(text):
    if "Device not supported" in text:
        raise Skip("compute-sanitizer does not support this device")


def run_all(check):
    for test in check.tests:
        if test.name != LAST:
            run_test(check, test)
    serve(check)
    for test in check.tests:
        if test.name == LAST:
            run_test(check, test)


def run_test(check, test):
    with check.step(f"compute-sanitizer tests/{test.name}",
                    check.device) as kept:
        check.need(check.device)
        ended = run([*find_tool(), test], TEST_S, check.visible)
        kept["output"] = ended.tail
        said = ended.output + ended.errors
        refuse_device(said)
        if ended.is_late and not FINDING.search(said):
            raise Skip(f"not done in {TEST_S} s, and no error so far")
        kept["tests"] = steps.count_passed(ended)


def serve(check):
    """As the short serve, of one model."""
    with check.step("compute-sanitizer ferry-server", check.device) as kept, \
            tempfile.TemporaryDirectory() as folder, \
            contextlib.ExitStack() as stack:
        check.need(check.device)
        check.need_torch()
        program = check.program("ferry-server")
        check.program("ferry-bench")
        log = pathlib.Path(folder) / "log"

        def keep_log():
            kept["log"] = log.read_text(errors="replace") if log.exists() else ""
            kept["log"] = kept["log"][-KEPT_CHARACTERS:]
            refuse_device(kept["log"])
        stack.callback(keep_log)
        server = Server(
            [program, f"--device={check.device}",
             f"--model-repository={check.home / 'models'}",
             "--model-control-mode=explicit", f"--load-model={MODEL}"], log,
            ready_s=READY_S, wrapper=find_tool())
        stack.callback(server.kill)
        steps.load(check, server, MODEL, kept)
        server.drain(STOP_S)
