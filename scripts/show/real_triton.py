"""E3: a real Triton and Ferry, measured with the same commands and told in the
same report.

What it is not: a comparison of Triton with Ferry. The Triton that PyPI has
serves Python models only, Ferry's network is native code.

The client has a core of its own and the servers share the others: with Triton's
processes on all of them it sends late, and an open loop is void.
"""

import contextlib
import json
import os
import pathlib
import tempfile

import numpy as np
import tritonclient.grpc as triton

import measuring
import real_models

ROUNDS = 3
OUTSTANDING = (1, 16, 64)
LOADS = (0.4, 0.7)
SECONDS = 2  # of each point: the whole takes some 7 minutes
SLO_MS = 100
MOST_OFF = 1e-3  # of the two networks' outputs, which are of the order of 1
TRITON = measuring.ROOT / "scripts/tritonserver.sh"
PAGE = measuring.ROOT / "build" / "E3.html"
NUMBERS = {"ferry": 0, "triton": 1}
NOT_KEPT = ("series", "histogram", "histograms")  # of a point: a megabyte in all


@contextlib.contextmanager
def process(folder, address, models):
    """Runs Triton with the models of that folder until the block ends."""
    host, port = address.split(":")

    def ready():
        try:
            return all(client.is_model_ready(model) for model in models)
        except triton.InferenceServerException:
            return False
    command = ["env", "OPENBLAS_NUM_THREADS=1", TRITON, "--model-repository", folder,
               "--grpc-address", host, "--grpc-port", port, "--allow-http", "false",
               "--allow-metrics", "false", "--exit-timeout-secs", 5,
               "--disable-auto-complete-config"]
    with triton.InferenceServerClient(address) as client, \
            measuring.process(command, ready) as child:
        yield child


@contextlib.contextmanager
def serve(programs):
    """Runs both, each with both models."""
    measuring.run([TRITON, "--fetch"])
    with contextlib.ExitStack() as stack:
        folders = {name: stack.enter_context(tempfile.TemporaryDirectory())
                   for name in NUMBERS}
        real_models.write_for_ferry(folders["ferry"])
        real_models.write_for_triton(folders["triton"])
        stack.enter_context(measuring.server(
            programs, "--model-repository", folders["ferry"], "--load-model",
            "echo", number=NUMBERS["ferry"]))
        stack.enter_context(process(
            folders["triton"], measuring.address(NUMBERS["triton"]),
            real_models.FERRY))
        yield


def cores():
    """Returns the client's core and those of the servers."""
    first, *others = sorted(os.sched_getaffinity(0))
    return {first}, set(others) or {first}


def answer(name, model, rows):
    with triton.InferenceServerClient(
            measuring.address(NUMBERS[name])) as client:
        given = triton.InferInput("input", list(rows.shape), "FP32")
        given.set_data_from_numpy(rows)
        return client.infer(model, [given]).as_numpy("output")


def most_off():
    """Returns by how much the two servers' outputs differ at most."""
    off = {}
    for model, (width, _) in real_models.SIZES.items():
        rows = np.random.default_rng(2).standard_normal(
            (8, width)).astype(np.float32)
        both = [answer(name, model, rows) for name in NUMBERS]
        off[model] = float(np.max(np.abs(both[0] - both[1])))
    return off


def counted(name, model):
    """Returns the server's own sums: by ModelStatistics of the protocol."""
    with triton.InferenceServerClient(
            measuring.address(NUMBERS[name])) as client:
        stats = client.get_inference_statistics(model).model_stats[0]
    times = stats.inference_stats
    return {"requests": times.success.count, "rows": stats.inference_count,
            "batches": stats.execution_count, "queue_ns": times.queue.ns,
            "compute_ns": times.compute_infer.ns}


def command(name, model, what, *arguments):
    return [what, "-u", measuring.address(NUMBERS[name]), "-m", model,
            "--label", name, *map(str, arguments)]


def play(programs, name, model, seconds, seed):
    """Returns the run of `ferry-bench run`, and the server's own split."""
    before = counted(name, model)
    run = programs.json_of("ferry-bench", *command(
        name, model, "run", "--outstanding", ",".join(map(str, OUTSTANDING)),
        "--saturation-outstanding", OUTSTANDING[-1], "--loads",
        ",".join(map(str, LOADS)), "--duration-secs", seconds,
        "--warm-up-secs", 0.5, "--seed", seed))["runs"][0]
    after = counted(name, model)
    did = {key: after[key] - before[key] for key in after}
    run["server_split"] = {
        "queue_ms": did["queue_ns"] / did["requests"] / 1e6,
        # Both count it for each request, of the whole batch it was in.
        "compute_ms": did["compute_ns"] / did["requests"] / 1e6,
        "rows_per_batch": did["rows"] / did["batches"]}
    return run


def search(programs, name, seconds, seed):
    run = programs.json_of("ferry-bench", *command(
        name, "mlp", "search", "--slo-ms", SLO_MS, "--duration-secs", seconds,
        "--warm-up-secs", 0.5, "--precision", 0.05, "--seed", seed))["runs"][0]
    return run["search"]["found_rate"]


def play_round(options, number):
    programs, seconds = options.programs, options.seconds or SECONDS
    names = list(NUMBERS)
    played = {name: {} for name in names}
    for name in reversed(names) if number % 2 else names:
        for model in real_models.FERRY:
            played[name][model] = play(programs, name, model, seconds,
                                       100 * number + 1)
        played[name]["found"] = search(programs, name, seconds,
                                       100 * number + 51)
        measuring.say(f"round {number + 1}, {name}: {SLO_MS} ms are kept up to "
                      f"{played[name]['found'] or 0:.0f}/s")
    return played


def report(programs, played):
    """Writes one page of both; returns what `ferry-bench report` says."""
    PAGE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in NUMBERS:
            paths.append(pathlib.Path(folder, f"{name}.json"))
            runs = [played[name][model] | {"label": f"{name}, {model}"}
                    for model in real_models.FERRY]
            paths[-1].write_text(json.dumps({"format": "ferry-bench/1",
                                             "runs": runs}), encoding="utf-8")
        return measuring.run([programs.path("ferry-bench"), "report", *paths,
                              "--html", PAGE])


def points_of(rounds, name, model):
    """Returns by load the points of all rounds that stand."""
    by_load = {}
    for played in rounds:
        for point, load in zip(played[name][model]["points"],
                               [*OUTSTANDING, *LOADS]):
            by_load.setdefault(load, [])
            if not point["void_reason"]:
                by_load[load].append(point)
    return by_load


def has_server_columns(point):
    return point["mean_rows"] is not None and point["busy_ratio"] is not None


def middle(points, read):
    return measuring.median(map(read, points)) if points else None


def shown(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def row(name, model, load, points):
    what = (f"closed, {load} outstanding" if load in OUTSTANDING else
            f"open, {load} of its saturation")
    return [model, what, name,
            shown(middle(points, lambda p: p["achieved_rate"]), "{:.0f}"),
            *(shown(middle(points, lambda p, key=key: p["latency"][key] / 1e3))
              for key in ("p50_us", "p99_us")),
            shown(middle(points, lambda p: p["mean_rows"]), "{:.1f}"),
            shown(middle(points, lambda p: p["busy_ratio"])),
            len(points)]


def page_of(rounds, off):
    versions = {name: rounds[0][name]["mlp"]["server"]["version"]
                for name in NUMBERS}
    found = {name: [played[name]["found"] or 0 for played in rounds]
             for name in NUMBERS}
    page = (f"Triton {versions['triton']}, the server of the nvidia-pytriton wheel, "
            f"and Ferry {versions['ferry']}, both up all the time, in turns; "
            f"medians of {len(rounds)} rounds, void points left out (the last "
            "column counts those that stand). The client has one core, the "
            "servers the others. The same weights, metadata, "
            f"`dynamic_batching {{}}`, one instance, batches of "
            f"{real_models.MAX_BATCH} rows at most, fp32, one thread for the network; "
            f"their answers differ by {off['mlp']:.1e} at most. `rows/batch` and `busy` are "
            "ferry-bench's, from each server's ModelStatistics.\n\n"
            "**What it is not**: Triton against Ferry. This Triton has the "
            "Python backend only: NumPy in a process of its own behind shared memory, against "
            "native code. It says what a Python model gives up, and that one client "
            "measures both; nothing about Triton's native backends or GPUs.\n\n")
    page += measuring.table(
        ["model", "load", "server", "requests/s", "p50 ms", "p99 ms",
         "rows/batch", "busy", "points"],
        [row(name, model, load, points_of(rounds, name, model)[load])
         for model in real_models.FERRY for load in (*OUTSTANDING, *LOADS)
         for name in NUMBERS])
    page += ("\nThe servers' own split of a request over all these loads "
             "(ModelStatistics):\n\n")
    page += measuring.table(
        ["model", "server", "queue ms", "compute ms", "rows/batch"],
        [[model, name,
          *(f"{middle(rounds, lambda r: r[name][model]['server_split'][key]):.2f}"
            for key in ("queue_ms", "compute_ms", "rows_per_batch"))]
         for model in real_models.FERRY for name in NUMBERS])
    page += (f"\n`ferry-bench search --slo-ms {SLO_MS}` on the mlp, requests/s in "
             "each round:\n\n")
    page += measuring.table(
        ["server", *(f"round {i + 1}" for i in range(len(rounds))), "median"],
        [[name, *(f"{rate:.0f}" for rate in rates),
          f"{measuring.median(rates):.0f}"] for name, rates in found.items()])
    return page


def measure(options):
    result = measuring.describe(
        "E3", "a real Triton, measured by the same commands as Ferry and told in "
        "the same report, server's columns included", options.command)
    rounds = []
    client_cores, server_cores = cores()
    with contextlib.ExitStack() as stack:
        with measuring.on_cores(server_cores):
            stack.enter_context(serve(options.programs))
        stack.enter_context(measuring.on_cores(client_cores))
        off = most_off()
        for number in range(ROUNDS):
            rounds.append(play_round(options, number))
        text = report(options.programs, rounds[-1])
    page = page_of(rounds, off)
    points = [point for played in rounds for name in NUMBERS
              for model in real_models.FERRY
              for point in played[name][model]["points"]]
    for point in points:
        for long in NOT_KEPT:
            point.pop(long, None)
    # A client on the server's cores is late at high rates, and says so.
    stands = all(points_of(rounds, name, model)[load] for name in NUMBERS
                 for model in real_models.FERRY for load in OUTSTANDING)
    found = {name: measuring.median(played[name]["found"] or 0
                                    for played in rounds) for name in NUMBERS}
    result |= {
        "most_off": off, "rounds": rounds,
        "ratio": found["ferry"] / found["triton"] if found["triton"] else None,
        "passed": (all(map(has_server_columns, points)) and stands and
                   not any(point["errors"] for point in points) and
                   max(off.values()) <= MOST_OFF and
                   all(rate > 0 for rate in found.values()) and
                   all(f"{name}, mlp" in text for name in NUMBERS))}
    return result, page + f"\nThe report of the last round: `{PAGE.name}` in build/.\n"
