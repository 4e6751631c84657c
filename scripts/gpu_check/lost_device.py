"""A device that is lost, on purpose: an index out of range in a model, CUDA's check
of which is an error that it does not recover from. The server must tell its
clients, be ready no more, and end with its code for that; nothing else may hang.

Errors: those of a step are its outcome.
"""

import contextlib
import pathlib
import tempfile
import time

from programs import KEPT_CHARACTERS, Server, Wrong, run

# The model gives a number of a table of nine, for x [rows, 1].
MODEL, INSIDE, OUTSIDE = "lookup", "x:0:8", "x:1000000:1000000"
LOAD_S = 60  # of a short load at most
LOST_S = 30  # from the first load outside to the process's end, at most
CODE = 3  # docs/devices.md
LOOK_EACH_S = 0.05  # not ready is told for a second


def lose(check):
    with check.step("a lost device", check.device) as kept, \
            tempfile.TemporaryDirectory() as folder, \
            contextlib.ExitStack() as stack:
        check.need(check.device)
        check.need_torch()
        log = pathlib.Path(folder) / "log"
        try:
            server = Server(
                [check.program("ferry-server"), f"--device={check.device}",
                 f"--model-repository={check.home / 'tests' / 'models'}",
                 "--model-control-mode=explicit", f"--load-model={MODEL}"], log)
            stack.callback(server.kill)
            load(check, server, INSIDE).require_success()
            begun = time.monotonic()
            told = load(check, server, OUTSIDE)
            if told.is_late:
                raise Wrong("expected an answer or an error to each request, "
                            f"got: {told.last_line}")
            kept["was_not_ready"] = await_end(server, begun + LOST_S)
            kept["seconds_to_end"] = round(time.monotonic() - begun, 3)
        finally:
            if log.exists():
                kept["output"] = log.read_text(
                    errors="replace")[-KEPT_CHARACTERS:]


def load(check, server, values):
    return run([check.program("ferry-bench"), "run", "-u",
                f"127.0.0.1:{server.port}", "-m", MODEL, "--range", values,
                "--outstanding", 4, "--wait-ready-secs", 10, "--warm-up-secs",
                0, "--duration-secs", 0.2, "--fail-if", "errors>0%"], LOAD_S)


def await_end(server, until):
    """Returns whether it was seen not to be ready before it ended."""
    was_not_ready = False
    while server.process.poll() is None:
        if time.monotonic() > until:
            raise Wrong(f"expected ferry-server to end with code {CODE} in "
                        f"{LOST_S} s, got: {server.last_line()}")
        was_not_ready |= server.get("/v2/health/ready")[0] == 503
        time.sleep(LOOK_EACH_S)
    if server.process.returncode != CODE:
        raise Wrong(f"expected exit code {CODE} of ferry-server, got "
                    f"{server.process.returncode}: {server.last_line()}")
    return was_not_ready
