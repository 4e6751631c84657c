"""The measurements of scripts/gpu_check.sh, steps as those of steps.py whose
numbers go to one place of the report, `measures`.

Errors: those of a step are its outcome; what it measured before stays.
"""

import contextlib
import json
import os
import pathlib
import re
import sys
import tempfile

import copy_in
import networks
import packages
from programs import KEPT_CHARACTERS, READY_S, Server, Wrong, run
from steps import Skip

# Seconds that a step may take at most, beside those of its loads.
PEAK_S, BATCH_S, SEARCH_S = 180, 20, 120
# Loads of a search, no more than; one made 28 of them.
MOST_LOADS = 60
# A queue that grows by some percent of the rate is to pass the limit within a
# load of a search.
LOAD_IN_LIMITS = 50
PRECISION = 0.03  # of a found rate
WARM_UP_S = 1  # at most; no longer than a load
# A batch that was just missed is waited for, then one's own is computed, and
# copies and wire need some time, too.
BATCHES_IN_LIMIT = 3


def threads():
    """Returns how many threads a server and its client get, each."""
    return max(1, min(4, (os.cpu_count() or 1) // 4))


class Measures:
    """The steps, on one device."""

    def __init__(self, check, options):
        self.check = check
        self.device = options.measure_on or check.device
        self.networks = options.networks
        self.batches = options.batches
        self.model_dirs = options.model_dirs
        self.seconds = check.seconds
        self.peak = None
        self.found = check.measures = {
            "device": self.device, "seconds": self.seconds,
            "batches": self.batches, "matmul_peak": None, "networks": {},
            "packages": {}, "one_outstanding": {}, "copy_in": None}

    def run_all(self):
        self.measure_peak()
        for network in self.networks:
            self.found["networks"][network.name] = {
                "flop_per_row": network.flop, "formula": network.formula,
                "offline": {}, "offline_best": None, "in_process": None,
                "served": None,
                "served_without_batching": None, "batching_gain": None,
                "package": {}}
            for mode in ("graphs", "eager"):
                self.measure_offline(network, mode)
        for folder in self.model_dirs:
            self.found["packages"][str(folder)] = {}
            for mode in ("graphs", "eager"):
                self.measure_package(folder, mode)
        for network in self.networks:
            self.measure_in_process(network)
        for network in self.networks:
            self.measure_served(network, is_batching=True)
            self.measure_served(network, is_batching=False)
        for mode in ("graphs", "eager"):
            self.measure_one(mode)
        self.measure_copy_in()
        # Last, as compilers take their time.
        for network in self.networks:
            if network.name in packages.SOURCES:
                self.measure_compiled(network)

    def step(self, name):
        return self.check.step(f"measure {name}", self.device)

    def need(self, *programs):
        """Skips where what every step needs is not there."""
        self.check.need(self.device)
        self.check.need_torch()
        for program in programs:
            self.check.program(program)

    # --- in process ----------------------------------------------------------

    def measure_peak(self):
        with self.step("matmul peak"):
            self.need()
            on_cpu = self.device == "cpu"
            ended = run(
                [sys.executable, "-B",
                 pathlib.Path(__file__).with_name("peak.py"),
                 "cpu" if on_cpu else "cuda", 512 if on_cpu else 8192,
                 self.seconds], PEAK_S + self.seconds,
                {**self.visible, "PYTHONPATH": str(self.check.torch.parent)})
            if ended.code != 0 and not ended.is_late:
                raise Skip(ended.last_line)
            ended.require_success()
            self.found["matmul_peak"] = json.loads(ended.output)
            self.peak = self.found["matmul_peak"]["tflops"]

    @property
    def visible(self):
        return {} if self.device == "cpu" else self.check.visible

    def forward(self, kept, flags, batches):
        """Returns what ferry-forward says of each batch size."""
        if self.device != "cpu":
            flags = [*flags, "--device", "cuda"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            ended = run(
                [self.check.program("ferry-forward"), *flags, "--batch",
                 ",".join(map(str, batches)), "--seconds", self.seconds,
                 "--json", path],
                READY_S + len(batches) * (BATCH_S + self.seconds),
                self.visible)
            kept["output"] = ended.tail
            ended.require_success()
            return [{key: value for key, value in batch.items()
                     if key != "times_ms"}
                    for batch in json.loads(path.read_text())["batches"]]

    def measure_offline(self, network, mode):
        with self.step(f"offline {network.name}, {mode}") as kept:
            self.need("ferry-forward")
            of = self.found["networks"][network.name]
            batches = self.forward(
                kept, ["--model", network.name, *mode_flags(mode)],
                self.batches)
            for batch in batches:
                self.add_derived(batch, network.flop)
            of["offline"][mode] = batches
            best = max((one for each in of["offline"].values()
                        for one in each),
                       key=lambda one: one["rows_per_second"])
            of["offline_best"] = {
                key: best[key] for key in ("rows", "rows_per_second", "tflops")}

    def add_derived(self, batch, flop):
        batch["tflops"] = batch["rows_per_second"] * flop / 1e12
        # While it computes, casts of inputs and outputs among it.
        batch["tflops_computing"] = (
            batch["rows"] * flop / batch["compute_ms"] / 1e9)
        if self.peak:
            batch["share_of_peak"] = batch["tflops"] / self.peak
        if "idle_ms" in batch and batch["stage_ms"] > 0:
            # What the device waited for may be something else: at least this
            # share of the copy in ran while it computed.
            batch["copy_in_hidden"] = max(
                0.0, 1 - batch["idle_ms"] / batch["stage_ms"])

    def measure_package(self, folder, mode):
        with self.step(f"offline {folder}, {mode}") as kept:
            self.need("ferry-forward")
            self.found["packages"][str(folder)][mode] = self.forward(
                kept, ["--model-dir", folder, *mode_flags(mode)],
                sizes_of(folder, self.batches))

    def measure_compiled(self, network):
        """The network as a package that is compiled here."""
        on_cpu = self.device == "cpu"
        with tempfile.TemporaryDirectory() as repository:
            folder = None
            with self.step(f"package {network.name}, compiled") as kept:
                self.need("ferry-forward")
                packages.need(self.check, network.name, on_cpu)
                folder = packages.compile_package(
                    self.check, kept, network.name, on_cpu, max(self.batches),
                    repository)
            for mode in ("graphs", "eager"):
                with self.step(f"package {network.name}, {mode}") as kept:
                    self.need("ferry-forward")
                    if folder is None:
                        raise Skip("no package: see the step before")
                    batches = self.forward(
                        kept, ["--model-dir", folder, *mode_flags(mode)],
                        self.batches)
                    for batch in batches:
                        self.add_derived(batch, network.flop)
                    of = self.found["networks"][network.name]
                    of["package"][mode] = batches

    # --- served --------------------------------------------------------------

    @contextlib.contextmanager
    def server(self, kept, flags):
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.ExitStack() as stack:
            log = pathlib.Path(folder) / "log"
            try:
                server = Server(
                    [self.check.program("ferry-server"),
                     f"--device={self.device}",
                     f"--grpc-infer-thread-count={threads()}", *flags], log)
                stack.callback(server.kill)
                yield server
                server.drain()
            finally:
                if log.exists():
                    kept["log"] = log.read_text(
                        errors="replace")[-KEPT_CHARACTERS:]

    def bench(self, kept, server, command, seconds):
        """Returns the run that ferry-bench leaves, of loads of so long."""
        return self.loads(
            kept, [self.check.program("ferry-bench"), *command, "-u",
                   f"127.0.0.1:{server.port}", "--metrics",
                   f"127.0.0.1:{server.metrics_port}", "--connections",
                   threads(), "--queues", threads()],
            seconds, is_search=command[0] == "search")

    def loads(self, kept, command, seconds, is_search):
        """Returns the run that a command leaves, and how it ended."""
        warm_up = min(WARM_UP_S, seconds)
        bound_s = SEARCH_S + (warm_up + seconds) * (
            MOST_LOADS if is_search else 1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            ended = run([*command, "--warm-up-secs", warm_up,
                         "--duration-secs", seconds, "--json", path], bound_s)
            kept["output"] = ended.tail
            made = json.loads(path.read_text()) if path.exists() else {}
            # A search that found no rate has the code 1 and a result.
            if not (is_search and ended.code == 1 and found_none(made)):
                ended.require_success()
            return made["runs"][0], ended

    def max_batch_size(self, network):
        """Returns the largest bucket of which some fit into the limit."""
        measured = self.found["networks"][network.name]["offline"].get("graphs")
        fitting = [one["rows"] for one in measured or ()
                   if BATCHES_IN_LIMIT * one["compute_ms"] <= network.limit_ms]
        return max(fitting, default=min(self.batches))

    def search_flags(self, network, most):
        """Of the highest rate within the limit, in batches of so many rows."""
        best = self.found["networks"][network.name]["offline_best"]
        # Four times what is under way where the offline rate keeps the limit: a
        # load that has more has missed it.
        held = 4 * network.limit_ms / 1e3 * (
            best["rows_per_second"] if best else 0)
        return ["-m", network.name, "--slo-ms", network.limit_ms,
                "--precision", PRECISION, "--saturation-outstanding",
                max(64, 4 * most), "--max-outstanding",
                int(min(max(held, 1024), 65536)), *network.load_flags]

    def search_seconds(self, network):
        return max(self.seconds, LOAD_IN_LIMITS * network.limit_ms / 1e3)

    def result_of(self, kept, network, most, made, ended):
        """Returns what a search came to, which `made` and `ended` say."""
        search = made.get("search")
        if not search:
            raise Wrong(f"expected a search, got: {ended.last_line}")
        best = self.found["networks"][network.name]["offline_best"]
        last = facts_of(made["points"][-1])
        found = search["found_rate"]
        if found is None:
            kept["reason"] = "no rate was found within the limit"
        elif last["void_reason"]:  # nothing came in so short a load
            kept["reason"] = f"at {found:.1f}/s: {last['void_reason']}"
            found = None
        return {"limit_ms": network.limit_ms, "max_batch_size": most,
                "found_rate": found,
                "client_ceiling": search["client_ceiling"] or None,
                "at_found": last if found else None,
                "share_of_offline": found / best["rows_per_second"]
                                    if found and best else None}

    def measure_in_process(self, network):
        """Through the batcher, without gRPC."""
        with self.step(f"in process {network.name}") as kept:
            self.need("ferry-inprocess")
            most = self.max_batch_size(network)
            made, ended = self.loads(
                kept, [self.check.program("ferry-inprocess"), "--search",
                       f"--device={self.device}", "--max-batch-size", most,
                       *self.search_flags(network, most)],
                self.search_seconds(network), is_search=True)
            self.found["networks"][network.name]["in_process"] = (
                self.result_of(kept, network, most, made, ended))

    def measure_served(self, network, is_batching):
        name = f"served {network.name}" + (
            "" if is_batching else " without batching")
        with self.step(name) as kept:
            self.need("ferry-server", "ferry-bench")
            of = self.found["networks"][network.name]
            most = self.max_batch_size(network) if is_batching else 1
            with self.server(kept, [f"--load-model={network.name}",
                                    f"--max-batch-size={most}"]) as server:
                made, ended = self.bench(
                    kept, server,
                    ["search", *self.search_flags(network, most)],
                    self.search_seconds(network))
            of["served" if is_batching else "served_without_batching"] = (
                self.result_of(kept, network, most, made, ended))
            rates = [(of[key] or {}).get("found_rate")
                     for key in ("served", "served_without_batching")]
            if all(rates):
                of["batching_gain"] = rates[0] / rates[1]

    # --- one request at a time -----------------------------------------------

    def measure_one(self, mode):
        of = self.found["one_outstanding"].setdefault(networks.SMALL, {})
        result = of[mode] = {"forward": None, "served": None}
        with self.step(f"one batch at a time, {networks.SMALL}, "
                       f"{mode}") as kept:
            self.need("ferry-forward")
            (result["forward"],) = self.forward(
                kept, ["--model", networks.SMALL, "--ahead", 1,
                       *mode_flags(mode)], [1])
        with self.step(f"served one outstanding, {networks.SMALL}, "
                       f"{mode}") as kept:
            self.need("ferry-server", "ferry-bench")
            with tempfile.TemporaryDirectory() as folder:
                result["served"] = self.serve_one(
                    kept, pathlib.Path(folder), mode)

    def serve_one(self, kept, repository, mode):
        version = repository / networks.SMALL / "1"
        version.mkdir(parents=True)
        (version.parent / "config.pbtxt").write_text(
            networks.MLP_CONFIG +
            (networks.WITHOUT_GRAPHS if mode == "eager" else ""))
        with self.server(kept, [f"--model-repository={repository}"]) as server:
            made, ended = self.bench(
                kept, server, ["run", "-m", networks.SMALL, "--outstanding", 1],
                self.seconds)
            ended.require_success()
        return facts_of(made["points"][0])

    # --- copies alone --------------------------------------------------------

    def measure_copy_in(self):
        with self.step("rows to the device"):
            if self.device == "cpu":
                raise Skip("no device")
            self.need()
            self.found["copy_in"] = copy_in.measure(
                self.check.program("copy-in-benchmark"), self.visible,
                self.seconds)


def found_none(made):
    """Whether a result is of a search whose requests were answered, that found
    no rate: a lost device answers none."""
    runs = made.get("runs") or [{}]
    search = runs[0].get("search")
    return (search is not None and search["found_rate"] is None and
            any(point["achieved_rate"] > 0 for point in runs[0]["points"]))


def mode_flags(mode):
    return ["--no-graphs"] if mode == "eager" else []


def facts_of(point):
    """Returns what of a load's point is kept: of latencies p50 and p99, in
    ms."""
    latency = point["latency"]
    return {"requests_per_second": point["achieved_rate"],
            "p50_ms": latency["p50_us"] / 1e3,
            "p99_ms": latency["p99_us"] / 1e3,
            "errors": point["errors"], "mean_rows": point["mean_rows"],
            "busy_ratio": point["busy_ratio"],
            "device": point.get("device"), "void_reason": point["void_reason"]}


def sizes_of(folder, batches):
    """Returns those of the batch sizes that the model in the folder takes: up
    to its max_batch_size, and of its buckets where it names some."""
    path = folder / "config.pbtxt"
    if not path.exists():
        raise Wrong(f"expected {path}, got none")
    text = re.sub(r"#.*", "", path.read_text())
    most = re.search(r"max_batch_size\s*:\s*(\d+)", text)
    buckets = re.search(r'"ferry\.buckets"\s*value\s*:?\s*\{\s*string_value\s*'
                        r':\s*"([\d, ]+)"', text)
    if buckets:
        return [int(size) for size in buckets.group(1).split(",")]
    largest = int(most.group(1)) if most else 0
    return [size for size in batches if size <= largest] or [max(largest, 1)]
