"""A real ferry-server process on a folder of small models, for the tests.

The binary is $FERRY_SERVER. Everything listens on loopback on free ports.
"""

import fcntl
import mmap
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("FERRY_SERVER", "build/release/bin/ferry-server")
START_TIMEOUT_S = 60


def tensor(kind, name, data_type, dims):
    return (f'{kind} {{ name: "{name}" data_type: TYPE_{data_type} '
            f'dims: {dims} }}\n')


def parameter(key, value):
    return (f'parameters {{ key: "{key}" '
            f'value {{ string_value: "{value}" }} }}\n')


def echo_config(pairs, max_batch_size=64):
    """pairs: (input, output, type, dims)."""
    text = f'backend: "ferry_echo"\nmax_batch_size: {max_batch_size}\n'
    for source, target, data_type, dims in pairs:
        text += tensor("input", source, data_type, dims)
        text += tensor("output", target, data_type, dims)
    return text + ("dynamic_batching {}\n" if max_batch_size else "")


def sim_config(max_batch_size=64, width=16, **parameters):
    text = (f'backend: "ferry_sim"\nmax_batch_size: {max_batch_size}\n' +
            tensor("input", "input", "FP32", [width]) +
            tensor("output", "output", "FP32", [width]) + "dynamic_batching {}\n")
    for key, value in parameters.items():
        text += parameter(f"ferry.{key}", value)
    return text


# It has 0.85 MB, as ModelConfig gives it back.
LONG_CONFIG = echo_config([(f"in{i}" + "x" * 42_000, f"out{i}" + "x" * 42_000,
                            "FP32", [1]) for i in range(10)])

LEVELS = """dynamic_batching {
  priority_levels: 3
  default_priority_level: 2
  priority_queue_policy { key: 3 value { max_queue_size: 2 } }
}"""

# Every type a tensor can have here.
TYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16",
         "INT32", "INT64", "FP16", "FP32", "FP64", "BF16"]

MODELS = {
    "echo": echo_config([("input", "output", "FP32", [16])]),
    "large": echo_config([("input", "output", "FP32", [1000])]),
    "types": echo_config([(f"in_{t}", f"out_{t}", t, [3]) for t in TYPES], 8),
    "any_shape": echo_config([("input", "output", "FP32", [-1])]),
    "labeled": echo_config([("input", "output", "FP32", [3])]).replace(
        'name: "output"', 'name: "output" label_filename: "labels.txt"'),
    "whole": echo_config([("input", "output", "FP32", [2, 3])], 0),
    "sim": sim_config(alpha_ms=2, beta_ms=0.01),
    "slow": sim_config(max_batch_size=1, alpha_ms=150, beta_ms=0),
    "slower": sim_config(max_batch_size=1, alpha_ms=600, beta_ms=0),
    "wide": echo_config([("input", "output", "FP32", [1 << 18])], 8),
    "slow_wide": sim_config(128, 1 << 18, alpha_ms=3000, beta_ms=0),
    "endless": sim_config(max_batch_size=1, alpha_ms=60_000, beta_ms=0),
    "slowest": sim_config(max_batch_size=1, alpha_ms=2000, beta_ms=0),
    "levels": sim_config(max_batch_size=1, alpha_ms=400, beta_ms=0).replace(
        "dynamic_batching {}", LEVELS),
    "batches": sim_config(max_batch_size=8, alpha_ms=30, beta_ms=0),
    "heavy": sim_config(max_batch_size=1, alpha_ms=4, beta_ms=0, weight=3),
    "light": sim_config(max_batch_size=1, alpha_ms=1, beta_ms=0),
    "failing": sim_config(alpha_ms=1, beta_ms=0, fail_every=2),
    "hanging": sim_config(max_batch_size=1, alpha_ms=1, beta_ms=0, hang_every=1),
    "throwing": sim_config(alpha_ms=1, beta_ms=0, throw_every=2),
}


def free_port():
    """Returns a port that nothing has, below those that the system gives to
    clients: one of these would take it before the server does."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def accepts(port):
    """Returns whether something on this machine listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def write_repository(models):
    folder = tempfile.mkdtemp(prefix="ferry-e2e-")
    for name in models:
        os.makedirs(os.path.join(folder, name, "1"))
        with open(os.path.join(folder, name, "config.pbtxt"), "w") as config:
            config.write(MODELS[name])
        if "labels.txt" in MODELS[name]:
            with open(os.path.join(folder, name, "labels.txt"), "w") as labels:
                labels.write("cat\ndog\n")
    return folder


def run(*flags, timeout=START_TIMEOUT_S, stdout=subprocess.PIPE):
    """Runs the server to its end; for starts that fail."""
    return subprocess.run([SERVER, *flags], stdout=stdout,
                          stderr=subprocess.PIPE, text=True, timeout=timeout)


class FerryProcess:
    """Starts when made; `with` stops it. models=None: the embedded ones.
    open_files: how many it may have open, or that and to what it may raise it.
    ignored_signals: those that it inherits as ignored. stdout: a file, else that
    of the test."""

    def __init__(self, *flags, models=("echo",), open_files=None,
                 ignored_signals=(), stdout=None):
        self.tls = None  # of clients, for pages
        self.folder = write_repository(models) if models else None
        self.metrics_port = free_port()
        command = [SERVER, "--grpc-port=0",
                   f"--metrics-port={self.metrics_port}", *flags]
        if self.folder:
            command.append(f"--model-repository={self.folder}")

        # By programs that become the server: between fork and exec no code may
        # run, as gRPC's own of this process does there, and may hang.
        for number in ignored_signals:
            command = ["env", f"--ignore-signal={number.name[3:]}", *command]
        if open_files is not None:
            soft, hard = (open_files if isinstance(open_files, tuple)
                          else (open_files, open_files))
            command = ["prlimit", f"--nofile={soft}:{hard}", "--", *command]
        self.process = subprocess.Popen(command, stdout=stdout,
                                        stderr=subprocess.PIPE, text=True)
        self.log = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(START_TIMEOUT_S) or not self.port:
            self.process.kill()
            raise RuntimeError("server did not start:\n" + "".join(self.log))

    def _read(self):
        self.port = None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r'[ "]ready grpc=(?:(unix:\S+)|\S*?:(\d+)\b)',
                              line)
            if found:
                self.port = found.group(1) or int(found.group(2))
                self._ready.set()
        self._ready.set()

    @property
    def address(self):
        return (self.port if isinstance(self.port, str)
                else f"127.0.0.1:{self.port}")

    def get(self, path, method="GET", headers=None):
        """Returns (code, text) of an HTTP request to the metrics port."""
        scheme = "http" if self.tls is None else "https"
        request = urllib.request.Request(
            f"{scheme}://127.0.0.1:{self.metrics_port}{path}", method=method,
            headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10,
                                        context=self.tls) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name, **labels):
        """Returns the sum of the samples of that name with those labels."""
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            if (line.startswith((name + "{", name + " ")) and
                    all(f'{k}="{v}"' in line for k, v in labels.items())):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, timeout=30):
        """Waits for the process to end and returns its exit code."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self):
        if self.process.poll() is None:
            self.signal()
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reader.join(10)
        self.process.stderr.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def full_pipe():
    """Returns reader and writer of a pipe that has no room."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
    os.write(writer, b"-" * mmap.PAGESIZE)
    return reader, writer


def wait_until(condition, timeout=10):
    """Polls, because the process under test has no way to call back."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False
