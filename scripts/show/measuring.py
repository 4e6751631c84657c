"""What the claims share: servers to measure, runs of ferry-bench, results.

Errors: Failure, with a message for people; main.py prints it and exits 1.
"""

import contextlib
import datetime
import json
import os
import pathlib
import platform
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from replaced_file import replace

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path(os.environ.get("FERRY_RESULTS", ROOT / "bench" / "results"))
READY_SECONDS = 120
STOP_SECONDS = 30
PAGE_SECONDS = 30
DEEPEST = 3  # Parts of a result that have lines of their own.


class Failure(Exception):
    """A measurement that could not be made, and why."""


def say(text):
    print(f"show: {text}", flush=True)


# ---------------------------------------------------------------------------
# Where

def machine():
    """Returns what of this machine bears on the numbers."""
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        facts = dict(line.split(":", 1) for line in stream if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": facts.get("model name", "unknown"),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "kernel": platform.release(),
        "flags": [flag for flag in facts.get("flags", "").split()
                  if flag.startswith(("avx", "amx"))],
        "load_average": os.getloadavg(),
    }


def has_bf16():
    """Returns whether results in bf16 on this processor are compared."""
    return "avx512_bf16" in machine()["flags"]


def commit():
    """Returns the commit, with "+" where files differ from it, results of
    other measurements apart."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True,
                              capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/",
                  ":(top,exclude)bench/results")
    return git("rev-parse", "HEAD") + ("+" if changed else "")


@contextlib.contextmanager
def on_cores(cores):
    """Keeps what the block starts on these cores. Where there are two, a client
    with one of its own sends in time whatever the server does with the other."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ---------------------------------------------------------------------------
# Programs

class Programs:
    """The built programs, by name."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def path(self, name):
        program = self.folder / name
        if not program.exists():
            raise Failure(f"{program} does not exist; scripts/build.sh builds "
                          "it")
        return str(program)

    def json_of(self, name, *arguments):
        """Runs a program that writes JSON to the file after --json."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/result.json"
            run([self.path(name), *arguments, "--json", path])
            with open(path, encoding="utf-8") as stream:
                return json.load(stream)


def run(command, **options):
    """Runs a command to its end and returns its standard output."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} exited {done.returncode}: "
                      f"{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


@contextlib.contextmanager
def process(command, ready):
    """Runs a process until the block ends; `ready` is polled before it."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until = time.monotonic() + READY_SECONDS
            while not ready():
                if child.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    text = log.read().decode(errors="replace")[-2000:]
                    raise Failure(f"{command[0]} is not ready: {text}")
                time.sleep(0.1)
            yield child
        finally:
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


GRPC_PORT = 18101
METRICS_PORT = 18102
PORT_STEP = 10  # between servers that run at once
ADDRESS = f"127.0.0.1:{GRPC_PORT}"


def address(number):
    """Returns where the server of that number listens."""
    return f"127.0.0.1:{GRPC_PORT + PORT_STEP * number}"


def server(programs, *arguments, model="mlp", number=0):
    """Runs ferry-server with that model, embedded or of a repository, and one
    torch thread. Several may run at once, each with a number of its own."""
    metrics_port = METRICS_PORT + PORT_STEP * number

    has_tls = any(str(one).startswith("--tls-cert") for one in arguments)

    def ready():
        url = (f"http{'s' if has_tls else ''}://127.0.0.1:{metrics_port}"
               "/v2/health/ready")
        try:
            with urllib.request.urlopen(
                    url, timeout=1, context=ssl._create_unverified_context()
                    if has_tls else None) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False
    if ready():
        raise Failure(f"port {metrics_port} is in use by another server")
    return process([programs.path("ferry-server"), "--grpc-port",
                    GRPC_PORT + PORT_STEP * number, "--metrics-port",
                    metrics_port, "--load-model", model,
                    "--threads", 1, *arguments], ready)


def page(path, number=0, headers=None, context=None):
    """Returns what the server's metrics port has there; over TLS by a context."""
    url = (f"http{'s' if context else ''}://127.0.0.1:"
           f"{METRICS_PORT + PORT_STEP * number}{path}")
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=PAGE_SECONDS,
                                context=context) as reply:
        return reply.read().decode()


def metrics(number=0, path="/metrics"):
    """Returns the lines of the server's metrics, without comments."""
    return [line for line in page(path, number).splitlines()
            if line[:1] != "#"]


def sum_of(lines, name):
    """Returns the sum of the samples of that name."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines
               if line.startswith((name + " ", name + "{")))


def metric(name, number=0):
    return sum_of(metrics(number), name)


def echo(programs, *arguments, model="mlp", number=0):
    """Runs grpc-echo, answering with the mlp's bytes unless told otherwise."""
    port = GRPC_PORT + PORT_STEP * number

    def ready():
        done = subprocess.run(
            [programs.path("ferry-bench"), "run", "-u", f"127.0.0.1:{port}", "-m",
             model, "--wait-ready-secs", "0", "--outstanding", "1", "--duration-secs",
             "0.1", "--warm-up-secs", "0"],
            capture_output=True, check=False)
        return done.returncode == 0
    return process([programs.path("grpc-echo"), "--port", port,
                    *arguments], ready)


def closed_loop(programs, outstanding, seconds, metrics=True, warm_up=2,
                number=0):
    """Returns the one point of a closed loop against that running server."""
    return run_load(programs, ["--outstanding", str(outstanding)], seconds,
                    metrics, warm_up, number)


def open_loop(programs, rate, seconds, number=0):
    """Returns the one point of Poisson arrivals at that rate; void where the
    client was late."""
    return run_load(programs, ["--rates", str(rate)], seconds, metrics=False,
                    warm_up=0, number=number, may_be_void=True)


def run_load(programs, what, seconds, metrics, warm_up, number,
             may_be_void=False):
    arguments = ["run", "-u", address(number), "-m", "mlp", *what,
                 "--duration-secs", str(seconds),
                 "--warm-up-secs", str(warm_up)]
    if metrics:
        arguments += ["--metrics",
                      f"127.0.0.1:{METRICS_PORT + PORT_STEP * number}"]
    point = programs.json_of("ferry-bench", *arguments)["runs"][0]["points"][0]
    if (point["void_reason"] and not may_be_void) or point["errors"]:
        raise Failure(f"load {' '.join(what)}: "
                      f"{point['void_reason']} {point['errors']}")
    return point


def forward(programs, rows, seconds):
    """Returns ferry-forward's measurement of the mlp at each batch size."""
    arguments = ["--model", "mlp", "--threads", "1", "--seconds", str(seconds)]
    for count in rows:
        arguments += ["--batch", str(count)]
    result = programs.json_of("ferry-forward", *arguments)
    return {batch["rows"]: batch for batch in result["batches"]}


# ---------------------------------------------------------------------------
# Results

def resident_mb(pid):
    """Returns the resident memory of a process."""
    with open(f"/proc/{pid}/statm", encoding="utf-8") as stream:
        pages = int(stream.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid):
    """Returns the processor time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        fields = stream.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def median(values):
    return statistics.median(values)


def most_stand(voids):
    """Returns whether most of the runs stand; `voids` are why they do not, "" of
    one that does."""
    return 2 * sum(not void for void in voids) > len(voids)


def standing(voids):
    """Returns "3 of 5"."""
    return f"{sum(not void for void in voids)} of {len(voids)}"


def to_text(value, depth=0):
    """Returns it as JSON, a line for each part down to DEEPEST: histograms with
    a line for each number were megabytes of spaces."""
    if depth == DEEPEST or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    indent = "\n" + "  " * (depth + 1)
    if isinstance(value, dict):
        parts = (f"{json.dumps(str(key))}: {to_text(part, depth + 1)}"
                 for key, part in value.items())
        begin, end = "{", "}"
    else:
        parts = (to_text(part, depth + 1) for part in value)
        begin, end = "[", "]"
    return begin + indent + f",{indent}".join(parts) + indent[:-2] + end


def write(result, page):
    """Writes bench/results/<name>.json and .md; `page` is the readable part."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    name = result["name"]
    replace(RESULTS / f"{name}.json", to_text(result) + "\n")
    text = heading(result) + page
    replace(RESULTS / f"{name}.md", text)
    print(text)


def describe(name, claim, command):
    """Returns the part of a result that says what, where, when and how."""
    return {
        "name": name,
        "claim": claim,
        "machine": machine(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.timezone.utc)
                .isoformat(timespec="seconds"),
        "command": command,
    }


def heading(result):
    where = result["machine"]
    verdict = {True: "holds", False: "does not hold",
               None: "not compared: this processor has no avx512_bf16"}
    load = ", ".join(f"{value:.1f}" for value in where["load_average"])
    said = result.get("verdict", verdict[result["passed"]])
    return (f"# {result['name']}: {result['claim']}\n\n"
            f"**{said}**\n\n"
            f"- machine: {where['processor']}, {where['cores']} cores, "
            f"{where['memory_gb']} GB, Linux {where['kernel']}\n"
            f"- flags: {' '.join(where['flags'])}\n"
            f"- load average before: {load}\n"
            f"- commit: {result['commit']}\n"
            f"- date: {result['date']}\n"
            f"- command: `{result['command']}`\n\n")


def table(headings, rows):
    """Returns a Markdown table."""
    lines = ["| " + " | ".join(str(cell) for cell in headings) + " |",
             "|" + " --- |" * len(headings)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"
