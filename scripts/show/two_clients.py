"""E2: the same server measured by ferry-bench and by perf_analyzer.

In closed loops both count from the send, and must agree. What each costs its
machine is taken from its processor time in the middle of its run. In open loops
they differ by design: perf_analyzer counts from the actual send, ferry-bench from
the planned one, and perf_analyzer's own pace falls behind without a word.
"""

import csv
import os
import tempfile
import time

import measuring
import simulating

ALPHA_MS, BETA_MS, MAX_BATCH = 5, 0.2, 32
SIMULATED = (8, 32, 64)  # outstanding
ECHO = (64, 256)
MOST_OFF = 0.05
OPEN_RATE = 20_000
LAG_US = 1000


def cpu_seconds(pid):
    """Returns the processor time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        fields = stream.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watched(command, seconds):
    """Runs a command to its end and returns the share of a core that it took
    after its first second and a half."""
    with measuring.process(command, lambda: True) as child:
        time.sleep(1.5)
        before, begin = cpu_seconds(child.pid), time.monotonic()
        time.sleep(seconds / 2)
        share = (cpu_seconds(child.pid) - before) / (time.monotonic() - begin)
        if child.wait(120) != 0:
            raise measuring.Failure(f"{command[0]} failed")
    return share


def by_perf_analyzer(model, seconds, *load):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.csv"
        share = watched(
            [measuring.ROOT / "scripts/perf_analyzer.sh", "-m", model, "-u",
             measuring.ADDRESS, "-i", "grpc", "-a", "-p", int(seconds * 1000),
             "-r", 3, "-s", 50, "-f", path, *load], seconds)
        with open(path, newline="", encoding="utf-8") as stream:
            point = next(csv.DictReader(stream))
    rate = float(point["Inferences/Second"])
    return {"rate": rate, "p50_us": float(point["p50 latency"]),
            "p99_us": float(point["p99 latency"]),
            "cpu_us": share / rate * 1e6}


def by_ferry_bench(programs, model, seconds, *load):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.csv"
        share = watched(
            [programs.path("ferry-bench"), "run", "-u", measuring.ADDRESS, "-m",
             model, "--warm-up-secs", 1, "--duration-secs", seconds, "--csv",
             path, *load], seconds)
        with open(path, newline="", encoding="utf-8") as stream:
            point = next(csv.DictReader(stream))
    rate = float(point["achieved_rate"])
    return {"rate": rate, "p50_us": float(point["p50_us"]),
            "p99_us": float(point["p99_us"]), "void": point["void"],
            "lag_p99_us": float(point["send_lag_p99_us"]),
            "cpu_us": share / rate * 1e6}


def pairs_of(options, model, outstanding):
    seconds = options.seconds or 3
    pairs = []
    for number in range(max(options.pairs, 5)):
        turns = [
            ("perf_analyzer", lambda: by_perf_analyzer(
                model, seconds, "--concurrency-range", outstanding)),
            ("ferry-bench", lambda: by_ferry_bench(
                options.programs, model, seconds, "--outstanding",
                outstanding))]
        pairs.append({name: turn() for name, turn in
                      (reversed(turns) if number % 2 else turns)})
    measuring.say(f"{model}, {outstanding} outstanding: "
                  f"{ratio_of(pairs, 'rate'):.3f}")
    return pairs


def ratio_of(pairs, key):
    """The median of ferry-bench's figure, of perf_analyzer's beside it."""
    return measuring.median(pair["ferry-bench"][key] /
                            pair["perf_analyzer"][key] for pair in pairs)


def row(model, outstanding, pairs):
    def of(client, key):
        return measuring.median(pair[client][key] for pair in pairs)
    return [model, outstanding,
            *(f"{of(client, 'rate'):.0f}"
              for client in ("ferry-bench", "perf_analyzer")),
            f"{ratio_of(pairs, 'rate'):.3f}", f"{ratio_of(pairs, 'p50_us'):.3f}",
            f"{ratio_of(pairs, 'p99_us'):.3f}",
            *(f"{of(client, 'cpu_us'):.0f}"
              for client in ("ferry-bench", "perf_analyzer"))]


def measure(options):
    result = measuring.describe(
        "E2", "the same simulated server by ferry-bench and by perf_analyzer, at "
        "equal closed loops, within 5 %; against grpc-echo ferry-bench has at least "
        "its rate, and sends 20,000/s in time",
        options.command)
    programs = options.programs
    with simulating.server(programs, ALPHA_MS, BETA_MS, MAX_BATCH):
        simulated = {count: pairs_of(options, "sim", count)
                     for count in SIMULATED}
    with measuring.echo(programs):
        echo = {count: pairs_of(options, "mlp", count) for count in ECHO}
        opens = [by_ferry_bench(programs, "mlp", options.seconds or 3,
                                "--rates", OPEN_RATE)
                 for _ in range(max(options.pairs, 5))]
    agrees = all(abs(ratio_of(pairs, key) - 1) <= MOST_OFF
                 for pairs in simulated.values() for key in ("rate", "p50_us"))
    is_as_fast = all(ratio_of(pairs, "rate") >= 1 for pairs in echo.values())
    lag = measuring.median(each["lag_p99_us"] for each in opens)
    sent = measuring.median(each["rate"] for each in opens)
    result |= {"simulated": simulated, "echo": echo, "open": opens,
               "ratio": min(ratio_of(pairs, "rate")
                            for pairs in simulated.values()),
               "passed": agrees and is_as_fast and lag <= LAG_US}
    page = ("Closed loops, medians of rates and of ratios of pairs, ferry-bench's to "
            "perf_analyzer's. `cpu` is the client's own, a request, in us.\n\n")
    page += measuring.table(
        ["model", "outstanding", "ferry-bench/s", "perf_analyzer/s", "rate", "p50",
         "p99", "ferry-bench cpu", "perf_analyzer cpu"],
        [row("simulated", count, pairs) for count, pairs in simulated.items()] +
        [row("grpc-echo", count, pairs) for count, pairs in echo.items()])
    page += (f"\nOpen loop, Poisson, {OPEN_RATE}/s to grpc-echo: {sent:.0f}/s were "
             f"answered; p99 of the send lag {lag:.0f} us (at most {LAG_US}).\n")
    return result, page
