"""A device that is lost, on purpose: an index out of range in a model, CUDA's check
of which is an error that it does not recover from. The server must answer the
request with an error, be ready no more, and end with its code for that, while
another load goes on; no client may hang.

Errors: those of a step are its outcome.
"""

import concurrent.futures
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
BESIDE_S = 4  # of the load beside it


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
            pool = stack.enter_context(
                concurrent.futures.ThreadPoolExecutor())
            beside = pool.submit(load, check, server, INSIDE, BESIDE_S)
            time.sleep(BESIDE_S / 4)
            begun = time.monotonic()
            outside = pool.submit(load, check, server, OUTSIDE)
            was_not_ready = await_end(server, begun + LOST_S)
            kept["seconds_to_end"] = round(time.monotonic() - begun, 3)
            kept["clients"] = [told.result().tail for told in (outside, beside)]
            require_told(outside.result(), beside.result())
            if not was_not_ready:
                raise Wrong("expected not to be ready before the end, got 200")
        finally:
            if log.exists():
                kept["output"] = log.read_text(
                    errors="replace")[-KEPT_CHARACTERS:]


def require_told(outside, beside):
    for told in (outside, beside):
        if told.is_late or told.code == 0:
            raise Wrong("expected errors, in time, of a load on a lost device, "
                        f"got: {told.last_line}")


def load(check, server, values, seconds=0.2):
    return run([check.program("ferry-bench"), "run", "-u",
                f"127.0.0.1:{server.port}", "-m", MODEL, "--range", values,
                "--outstanding", 4, "--wait-ready-secs", 10, "--warm-up-secs",
                0, "--duration-secs", seconds, "--fail-if", "errors>0%"], LOAD_S)


def await_end(server, until):
    """Returns whether it was seen to say that it is not ready."""
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
