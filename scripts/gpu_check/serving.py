"""A ferry-server with a repository of its own, on the device or the processor, as
the checks of serving_checks.py ask it: its memory, its events, and a load beside.

Errors: Wrong says what was expected and found, Late that the time is over.
"""

import contextlib
import json
import pathlib
import re
import tempfile
import threading
import time

import client
import sanitizer
from programs import KEPT_CHARACTERS, READY_S, STOP_S, Server, Wrong, run

GONE_S = 30  # of a model that is unloaded, and of memory that comes back
LOOK_EACH_S = 0.1
MIB = 1 << 20
# The least that LibTorch takes of a device at once (its allocator's pages), and
# in which NVML counts.
SEGMENT_MIB = 2
# The readings before it see kernels loaded and workspaces made.
SETTLED = 2
# What the server's allocator may keep for its threads (docs/deploy.md).
HOST_MIB = 32


class Late(Exception):
    """The time of a check is over."""


class Serving:
    """`with` starts it with the models `loaded`, and drains it. `bound_s` is for
    all of it, but for the drain."""

    def __init__(self, check, kept, device, models, loaded, bound_s, flags=(),
                 wrapper=()):
        self.check, self.kept, self.device = check, kept, device
        self.models, self.loaded = models, loaded
        self.until = time.monotonic() + bound_s
        self.bound_s = bound_s
        self.flags, self.wrapper = flags, wrapper
        self.server = None
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(
                stack.enter_context(tempfile.TemporaryDirectory()))
            scripts = self.check.home / "tests" / "scripts"
            for model in self.models:
                model.write(folder / "models", scripts)
            log = folder / "log"
            stack.callback(self._keep_log, log)
            self.server = Server(
                [self.check.program("ferry-server"), f"--device={self.device}",
                 f"--model-repository={folder / 'models'}",
                 # What files do to a process shows in it, and not in another.
                 "--model-control-mode=explicit", "--probe-loads=off",
                 *(f"--load-model={model.name}" for model in self.loaded),
                 *self.flags], log, ready_s=min(READY_S, self.bound_s)
                if not self.wrapper else self.bound_s, wrapper=self.wrapper)
            stack.callback(self.server.kill)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind, *_):
        with self._stack:
            if kind is None:
                self.server.drain(sanitizer.STOP_S if self.wrapper else STOP_S)

    def _keep_log(self, log):
        if log.exists():
            text = log.read_text(errors="replace")
            self.kept["log"] = text[-KEPT_CHARACTERS:]

    @property
    def on_cpu(self):
        return self.device == "cpu"

    def look_at_time(self):
        if time.monotonic() > self.until:
            raise Late(f"not done in {self.bound_s} s")

    def await_that(self, holds, what):
        """Raises Wrong where it does not in time. `what`: a sentence's end, or
        what gives one."""
        until = time.monotonic() + GONE_S
        while not holds():
            self.look_at_time()
            if time.monotonic() > until:
                raise Wrong("expected " + (what if isinstance(what, str)
                                           else what()))
            time.sleep(LOOK_EACH_S)

    # --- asking ---------------------------------------------------------------

    def connect(self, **options):
        self.look_at_time()
        return client.Connection(self.server.port, **options)

    def call(self, method, message):
        with self.connect() as connection:
            return connection.call(method, message)

    def ask(self, model, *sizes):
        """Asks a model once in each number of rows."""
        with self.connect() as connection:
            for rows in sizes or (1,):
                model.ask(connection, rows=rows, seed=rows)

    def load(self, model):
        self.call("RepositoryModelLoad", client.field(2, model.name))

    def unload(self, model):
        self.call("RepositoryModelUnload", client.field(2, model.name))
        self.await_that(
            lambda: not any(client.contents(self.call(
                "ModelReady", client.field(1, model.name)), 1)),
            f"{model.name} to be gone {GONE_S} s after its unload")

    def bench(self, model, seconds):
        """Returns requests/s of a closed loop."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            run([self.check.program("ferry-bench"), "run", "-u",
                 f"127.0.0.1:{self.server.port}", "-m", model.name,
                 "--outstanding", 16, "--warm-up-secs", 0.2,
                 "--duration-secs", seconds, "--fail-if", "errors>0%",
                 "--json", path], GONE_S + 10 * seconds).require_success()
            (point,) = json.loads(path.read_text())["runs"][0]["points"]
            return point["achieved_rate"]

    # --- what it says of itself -----------------------------------------------

    def metric(self, name, **labels):
        """Returns the sum of the samples of that name with those labels, None
        without one."""
        code, text = self.server.get("/metrics")
        if code != 200:
            raise Wrong(f"expected /metrics to answer 200, got {code}: {text}")
        found = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                 if line.startswith((name + "{", name + " ")) and
                 all(f'{key}="{value}"' in line
                     for key, value in labels.items())]
        return sum(found) if found else None

    def events(self, model, event):
        return self.metric("ferry_device_events_total", model=model.name,
                           event=event)

    def require_events(self, model, **asked):
        """`asked`: the least, and the most or None, by event. There are none on
        the processor."""
        if self.on_cpu:
            return
        for event, (least, most) in asked.items():
            found = self.events(model, event)
            self.figure(f"{event} of {model.name}", found)
            if found is None or found < least or (
                    most is not None and found > most):
                wanted = f"{least}" if least == most else f"{least} or more"
                raise Wrong(f"expected {wanted} of the event {event} of "
                            f"{model.name}, got {found}")

    def figure(self, name, value):
        self.kept.setdefault("figures", {})[name] = value

    def device_mib(self):
        """Returns what is used of the device, None on the processor."""
        used = self.metric("ferry_device_memory_bytes", kind="used")
        return None if self.on_cpu or used is None else used / MIB

    def host_mib(self):
        """Returns what of the process is resident, None where nothing says so."""
        try:
            pid = int(self.server.pid_file.read_text())
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            return int(re.search(r"VmRSS:\s*(\d+)", status).group(1)) / 1024
        except (OSError, AttributeError, ValueError):
            return None


class Readings:
    """The memory of a server at the same place of several rounds."""

    def __init__(self, serving):
        self.serving = serving
        self.device, self.host = [], []

    def add(self):
        self.device.append(self.serving.device_mib())
        self.host.append(self.serving.host_mib())
        for name, all_read in (("device MiB", self.device),
                               ("host MiB", self.host)):
            if all_read[-1] is not None:
                self.serving.figure(name, [round(one, 1) for one in all_read])

    def require_no_growth(self):
        """What is lost in each round shows as a segment at least, or with others
        as one: half as many are too many. Of the host, what is free goes back
        after a while."""
        rounds = len(self.device) - 1 - SETTLED
        if rounds < 2:
            return  # too few to tell
        device_bound = rounds * SEGMENT_MIB / 2
        if self.device[-1] is not None:
            grown = self.device[-1] - self.device[SETTLED]
            if grown > device_bound:
                raise Wrong(f"expected at most {device_bound:g} MiB more of the "
                            f"device after {rounds} rounds, got {grown:.1f}")
        if self.host[-1] is not None:
            await_host(self.serving, self.host[SETTLED],
                       f"after {rounds} rounds")


def await_host(serving, before, when):
    """Waits until the server is no larger than before, but for what its
    allocator may keep."""
    serving.await_that(
        lambda: serving.host_mib() <= before + HOST_MIB,
        lambda: f"at most {HOST_MIB} MiB more of the host {when}, got "
        f"{serving.host_mib() - before:.1f}")


class Beside:
    """Threads that ask a model until the block ends, which then raises what one
    of them met."""

    def __init__(self, serving, model, threads=2):
        self.serving, self.model = serving, model
        self.answers, self.failure = 0, None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(1000 * one,))
                         for one in range(1, threads + 1)]

    def _ask(self, seed):
        try:
            with self.serving.connect() as connection:
                while not self._stop.is_set():
                    seed += 1
                    self.model.ask(connection, rows=1 + seed % 3, seed=seed)
                    with self._lock:
                        self.answers += 1
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failure = self.failure or error

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def await_more(self, count=1):
        """Waits for so many more answers: others do not stop it."""
        before = self.answers
        self.serving.await_that(
            lambda: self.failure or self.answers >= before + count,
            f"answers of {self.model.name} within {GONE_S} s, got none")

    def __exit__(self, kind, error, _):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        name = f"answers of {self.model.name} beside"
        self.serving.figure(name, self.answers)
        if kind is None and self.failure is not None:
            raise self.failure
        if kind is None and self.answers == 0:
            raise Wrong(f"expected {name}, got none")
