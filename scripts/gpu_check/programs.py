"""The programs of a bundle: run to their end or to a bound, and a ferry-server
that serves meanwhile.

Errors: Wrong says what was expected and what was found.
"""

import contextlib
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

READY_S, STOP_S = 180, 60  # at most, of a server
KILL_S = 5  # until a process that was killed is gone
KEPT_CHARACTERS = 4000  # of what a program wrote
# Loopback, whatever proxy this machine has.
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Wrong(Exception):
    """What was expected, and what was found."""


@dataclasses.dataclass
class Ended:
    """A program that was run to its end, or to its bound."""

    name: str
    code: int
    output: str
    errors: str
    is_late: bool = False

    @property
    def tail(self):
        return (self.output + self.errors).strip()[-KEPT_CHARACTERS:]

    @property
    def last_line(self):
        return (self.errors.strip() or self.output.strip() or
                "nothing").splitlines()[-1]

    def require_success(self):
        if self.is_late:
            raise Wrong(f"expected {self.name} to end in time, got: "
                        f"{self.last_line}")
        if self.code != 0:
            raise Wrong(f"expected exit code 0 of {self.name}, got {self.code}: "
                        f"{self.last_line}")


def end_all(process, number):
    """Signals a process and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def run(command, bound_s, env=None):
    """Returns what came of it, after bound_s and a little at most: a process
    that a driver does not let go cannot even be killed, and is left behind."""
    command = [str(word) for word in command]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True, errors="replace",
        start_new_session=True, env={**os.environ, **(env or {})})
    output, errors, is_late = "", "", False
    try:
        output, errors = child.communicate(timeout=bound_s)
    except subprocess.TimeoutExpired:
        is_late = True
        end_all(child, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, errors = child.communicate(timeout=KILL_S)
    except BaseException:
        end_all(child, signal.SIGKILL)
        raise
    return Ended(pathlib.Path(command[0]).name, child.returncode, output,
                 errors, is_late)


def free_ports(count):
    """Returns ports of loopback that are free now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


class Server:
    """A ferry-server; ready once made, or Wrong with the end of its log, which
    goes to a file. `wrapper`: a program and its flags that starts it."""

    def __init__(self, command, log, ready_s=READY_S, wrapper=()):
        self.port, self.metrics_port = free_ports(2)
        self.log = log
        # A wrapper may keep a signal to itself: the server writes its own id.
        self.pid_file = pathlib.Path(f"{log}.pid")
        with open(log, "ab") as stream:
            self.process = subprocess.Popen(
                [*map(str, wrapper), "sh", "-c", 'echo $$ >"$0" && exec "$@"',
                 str(self.pid_file), *map(str, command),
                 f"--grpc-port={self.port}",
                 f"--metrics-port={self.metrics_port}"], stdout=stream,
                stderr=stream, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            self.wait_until_ready(ready_s)
        except BaseException:
            self.kill()
            raise

    def get(self, path):
        """Returns the code and text of an answer; 0 where there is none."""
        url = f"http://127.0.0.1:{self.metrics_port}{path}"
        try:
            with HTTP.open(url, timeout=5) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, str(error)
        except OSError as error:
            return 0, str(error)

    def wait_until_ready(self, ready_s):
        until = time.monotonic() + ready_s
        while self.get("/v2/health/ready")[0] != 200:
            if self.process.poll() is not None:
                raise Wrong("expected ferry-server to serve, got exit code "
                            f"{self.process.returncode}: {self.last_line()}")
            if time.monotonic() > until:
                raise Wrong(f"expected ferry-server to be ready in {ready_s} s, "
                            f"got: {self.last_line()}")
            time.sleep(0.1)

    def last_line(self):
        text = self.log.read_text(errors="replace").strip()
        return (text or "nothing").splitlines()[-1]

    def drain(self, stop_s=STOP_S):
        if self.process.poll() is None:
            os.kill(int(self.pid_file.read_text()), signal.SIGTERM)
        try:
            code = self.process.wait(stop_s)
        except subprocess.TimeoutExpired:
            raise Wrong(f"expected ferry-server to end in {stop_s} s") from None
        if code != 0:
            raise Wrong(f"expected exit code 0 of a drained ferry-server, got "
                        f"{code}: {self.last_line()}")

    def kill(self):
        if self.process.poll() is None:
            end_all(self.process, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(KILL_S)
