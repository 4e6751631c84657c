"""ferry-launch with real servers on the CPU, for the tests: a model on the
simulated device, free ports, the status file."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import ferry_process

LAUNCH = os.environ["FERRY_LAUNCH"]
SERVER = os.environ["FERRY_SERVER"]
END_S = 60


def free_ports(count):
    """Returns the first of `count` ports in a row that are free now."""
    while True:
        first = ferry_process.free_port()
        taken = []
        try:
            for port in range(first, first + count):
                probe = socket.socket()
                taken.append(probe)
                probe.bind(("127.0.0.1", port))
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for probe in taken:
                probe.close()


def write_sim_repository(folder, config):
    (pathlib.Path(folder) / "sim" / "1").mkdir(parents=True)
    (pathlib.Path(folder) / "sim" / "config.pbtxt").write_text(config)


class Launched:
    """Starts when made; `with` ends it. `servers` on the CPU, with a model 'sim'
    of that config."""

    def __init__(self, *server_flags, servers=2, flags=(), prefix=(),
                 config=ferry_process.sim_config(alpha_ms=2, beta_ms=0.01),
                 output=subprocess.PIPE):
        self.folder = tempfile.mkdtemp(prefix="ferry-launch-")
        repository = os.path.join(self.folder, "models")
        write_sim_repository(repository, config)
        self.status_file = os.path.join(self.folder, "status.json")
        self.ports = free_ports(2 * servers)
        self.count = servers
        self.process = subprocess.Popen(
            [*prefix, LAUNCH, f"--servers={servers}", f"--server={SERVER}",
             f"--grpc-port={self.ports}",
             f"--metrics-port={self.ports + servers}",
             f"--status-file={self.status_file}",
             "--restart-delay-secs=0.05", *flags,
             "--", f"--model-repository={repository}", *server_flags],
            stdout=output, stderr=output, text=True)
        self.lines = []  # of the launcher
        self.log = []  # of the servers
        self.readers = [
            threading.Thread(target=lines.extend, args=(stream,), daemon=True)
            for stream, lines in ((self.process.stdout, self.lines),
                                  (self.process.stderr, self.log))
            if stream is not None]
        for reader in self.readers:
            reader.start()

    def status(self):
        """Returns the servers of the status file, or none yet."""
        try:
            with open(self.status_file, encoding="utf-8") as file:
                return json.load(file)["servers"]
        except FileNotFoundError:
            return []

    def states(self):
        return [server["state"] for server in self.status()]

    def wait_for(self, condition, timeout=END_S):
        """Waits until the servers' status meets it, and returns the status."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            status = self.status()
            if status and condition(status):
                return status
            time.sleep(0.02)
        raise AssertionError(
            f"not in {timeout} s; {self.status()}\n" + "".join(self.lines) +
            "".join(self.log))

    def wait_until_ready(self):
        return self.wait_for(
            lambda all_: all(one["state"] == "ready" for one in all_))

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def has_taken(self, number):
        """Whether no such signal waits for the launcher, or it has ended."""
        try:
            path = pathlib.Path(f"/proc/{self.process.pid}/status")
            status = path.read_text()
        except FileNotFoundError:
            return True
        pending = re.search(r"ShdPnd:\s*(\w+)", status).group(1)
        return not int(pending, 16) >> (number - 1) & 1

    def wait(self):
        """Waits for the launcher's end and returns its exit code."""
        code = self.process.wait(END_S)
        for reader in self.readers:
            reader.join(END_S)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.signal()
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.signal()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Held:
    """Keeps a process from being gone, however it ends, as a driver does that
    does not let go of a thread: a tracer has to be told of its end first, and
    does not ask. `with` ends it."""

    # PTRACE_SEIZE, which does not stop it.
    TRACER = ("import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); "
              "libc.ptrace.argtypes = [ctypes.c_long] * 4; "
              "print(libc.ptrace(0x4206, int(sys.argv[1]), 0, 0), flush=True); "
              "sys.stdin.read()")

    def __init__(self, pid):
        self.tracer = subprocess.Popen(
            [sys.executable, "-c", self.TRACER, str(pid)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.is_held = self.tracer.stdout.readline().strip() == "0"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tracer.communicate(timeout=END_S)


def is_alive(pid):
    """Whether it runs: a zombie does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it is gone, before or after its file was opened
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"
