"""The steps of scripts/gpu_check.sh, each with an outcome: passed, failed, or
skipped with the reason. Knows the bundle by its folders and programs only.

Errors: those of a step are its outcome.
"""

import contextlib
import json
import os
import pathlib
import re
import tempfile
import time

import report
from programs import KEPT_CHARACTERS, READY_S, Server, Wrong, run

DRIVER = pathlib.Path("/dev/nvidiactl")  # there, where a driver is
# Seconds that a step may take at most, but for servers.
QUERY_S, TEST_S = 60, 600
MODELS = ("linear", "sim")
NEED_TORCH = {"linear"}
DEVICE_METRICS = ("ferry_device_", "ferry_gpm_", "ferry_gpu_", "ferry_nvml_")


class Skip(Exception):
    """Why a step cannot be made here."""


class Check:
    """The steps so far, and what they know of the machine."""

    def __init__(self, options):
        self.home = options.bundle
        self.device = options.device or "only"
        self.is_expected = options.device is not None
        self.torch = options.torch
        self.seconds = options.seconds
        self.seen = {}  # what NVML sees
        self.has_device = DRIVER.exists()
        self.steps = []
        self.measures = None  # that of measures.py
        self.after_step = lambda: None
        self.tests = sorted(
            path for path in (self.home / "tests").glob("*")
            if path.is_file() and path.suffix == "" and
            os.access(path, os.X_OK))

    @contextlib.contextmanager
    def step(self, name, device=""):
        """Keeps what comes of the block, whatever it raises."""
        kept = {"name": name, "device": device, "outcome": report.PASSED,
                "reason": "", "seconds": 0}
        begun = time.monotonic()
        try:
            yield kept
        except Skip as skip:
            kept.update(outcome=report.SKIPPED, reason=str(skip))
        except Exception as error:  # pylint: disable=broad-exception-caught
            said = str(error) if isinstance(error, Wrong) else repr(error)
            kept.update(outcome=report.FAILED, reason=said)
        kept["seconds"] = round(time.monotonic() - begun, 3)
        self.steps.append(kept)
        print(report.line_of(kept), flush=True)
        self.after_step()

    def need(self, device):
        """Skips where there is no such device."""
        if device != "cpu" and not (self.has_device or self.is_expected):
            raise Skip("no device")

    def need_torch(self):
        if self.torch is None:
            raise Skip("no LibTorch: --torch DIR")

    def program(self, name):
        path = self.home / "bin" / name
        if not path.exists():
            raise Skip(f"the bundle has no {name}")
        return path

    @property
    def visible(self):
        """What of CUDA programs that take its first device are to see. Of
        `only` there is one."""
        if not self.device.startswith("cuda:"):
            is_uuid = self.device != "only"
            return {"CUDA_VISIBLE_DEVICES": self.device} if is_uuid else {}
        index = self.device.removeprefix("cuda:")
        listed = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        if listed != [""] and index.isdigit() and int(index) < len(listed):
            return {"CUDA_VISIBLE_DEVICES": listed[int(index)]}
        # As nvidia-smi counts.
        return {"CUDA_VISIBLE_DEVICES": index,
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def look_at_devices(check):
    with check.step("ferry-nvml") as kept:
        ended = run([check.program("ferry-nvml")], QUERY_S)
        if ended.code == 0 and not ended.is_late:
            check.seen = json.loads(ended.output)
            check.has_device = check.has_device or bool(check.seen["gpus"])
        kept["output"] = ended.tail
        if not check.has_device and not check.is_expected:
            raise Skip("no device: " + (ended.last_line if ended.code else
                                        "NVML sees no GPU"))
        ended.require_success()
        if not check.seen["gpus"]:
            raise Wrong("expected NVML to see a GPU, got none")


def list_calls(check):
    with check.step("ferry-nvml --calls") as kept:
        check.need(check.device)
        ended = run([check.program("ferry-nvml"), "--calls"], QUERY_S)
        kept["calls"] = [
            dict(zip(("call", "of", "code", "name", "times"),
                     (cell.strip() for cell in line.strip("|\n").split("|"))))
            for line in ended.output.splitlines() if line.startswith("| nvml")]
        ended.require_success()
        if not kept["calls"]:
            raise Wrong("expected a table of calls, got: " + ended.last_line)


def count_passed(ended):
    """Returns how many tests of a program passed: all of it, on a device."""
    ended.require_success()
    if "no CUDA device" in ended.output:
        raise Wrong("expected the test to find the device, got: no CUDA device")
    passed = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test",
                                     ended.output)))
    if passed == 0:
        raise Wrong(f"expected tests that passed, got: {ended.last_line}")
    return passed


def run_gpu_tests(check):
    for test in check.tests:
        with check.step(f"tests/{test.name}", check.device) as kept:
            check.need(check.device)
            ended = run([test], TEST_S, check.visible)
            kept["output"] = ended.tail
            kept["tests"] = count_passed(ended)
    if not check.tests:
        with check.step("tests of device code", check.device):
            raise Skip("the bundle has none: it was made without build/cuda")


def serve(check, device):
    """Serves and drains; each thing asked of it is a step."""
    models = [model for model in MODELS
              if model not in NEED_TORCH or check.torch]
    later = [f"ferry-bench run -m {model}" for model in MODELS]
    later += ["/metrics", "drain"]
    server = None
    with tempfile.TemporaryDirectory() as folder, \
            contextlib.ExitStack() as stack:
        with check.step("ferry-server", device) as kept:
            check.need(device)
            log = pathlib.Path(folder) / "log"
            flags = [f"--load-model={model}" for model in models]
            try:
                server = Server(
                    [check.program("ferry-server"), f"--device={device}",
                     f"--model-repository={check.home / 'models'}",
                     "--model-control-mode=explicit", *flags], log)
                stack.callback(server.kill)
            finally:
                if log.exists():
                    kept["output"] = log.read_text(
                        errors="replace")[-KEPT_CHARACTERS:]
            if server.get("/v2/health/live")[0] != 200:
                raise Wrong("expected /v2/health/live to answer 200, got "
                            f"{server.get('/v2/health/live')}")
        for name in later:
            with check.step(name, device) as kept:
                check.need(device)
                if server is None:
                    raise Skip("no server: see ferry-server")
                if name == "drain":
                    server.drain()
                elif name == "/metrics":
                    read_metrics(server, device, kept)
                else:
                    load(check, server, name.split()[-1], kept)


def load(check, server, model, kept):
    if model in NEED_TORCH:
        check.need_torch()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        ended = run(
            [check.program("ferry-bench"), "run", "-u",
             f"127.0.0.1:{server.port}", "-m", model, "--outstanding", 16,
             "--wait-ready-secs", QUERY_S, "--warm-up-secs", 0.5,
             "--duration-secs", check.seconds, "--fail-if", "errors>0%",
             "--json", path], 2 * QUERY_S + check.seconds)
        kept["output"] = ended.tail
        ended.require_success()
        (point,) = json.loads(path.read_text())["runs"][0]["points"]
    kept["requests_per_second"] = point["achieved_rate"]
    kept["latency"] = point["latency"]


def read_metrics(server, device, kept):
    code, text = server.get("/metrics")
    if code != 200:
        raise Wrong(f"expected /metrics to answer 200, got {code}: {text}")
    kept["samples"] = [line for line in text.splitlines()
                       if line.startswith(DEVICE_METRICS)]
    if device != "cpu" and not any(line.startswith("ferry_device_info{")
                                   for line in kept["samples"]):
        raise Wrong("expected ferry_device_info in /metrics, got none")


def forward(check, device):
    with check.step("ferry-forward", device) as kept:
        check.need(device)
        check.need_torch()
        program = check.program("ferry-forward")
        flags = []
        if device != "cpu":
            if "--device" not in run([program, "--help"], QUERY_S).output:
                raise Skip("this ferry-forward has no --device")
            flags = ["--device", "cuda"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            ended = run([program, "--batch", "1,8,64", "--seconds",
                         check.seconds, "--json", path, *flags],
                        READY_S + 3 * check.seconds,
                        check.visible if device != "cpu" else None)
            kept["output"] = ended.tail
            ended.require_success()
            kept["batches"] = [
                {name: value for name, value in batch.items()
                 if name != "times_ms"}
                for batch in json.loads(path.read_text())["batches"]]
