"""E2: the same server measured by ferry-bench and by perf_analyzer.

In closed loops both count from the send, and must agree. What each costs its
machine is taken from its processor time in the middle of its run. In open loops
they differ by design: perf_analyzer counts from the actual send, ferry-bench from
the planned one.
"""

import csv
import tempfile
import time

import measuring
import simulating
import wire

ALPHA_MS, BETA_MS, MAX_BATCH = 5, 0.2, 32
SATURATION = MAX_BATCH / (ALPHA_MS + BETA_MS * MAX_BATCH) * 1000  # a second
SIMULATED = (8, 32, 64)  # outstanding
ECHO = (64, 256)
SMALL = (16, 64)
LOADS = (0.5, 0.8)  # of the simulated device's saturation
OVERLOAD = 1.2
WHY = """In open loops the two count differently. perf_analyzer's latency begins when
it has sent a request, ferry-bench's when the request was to be sent: what waits in
the client is missing from the first, which only says that so many percent were
delayed, and voids the second where it is too much."""
MOST_OFF = 0.05
OPEN_RATE = 20_000
OPEN_RUNS = 9  # at that rate
LAG_US = 1000
# ferry-bench has these in open loops: one thread sends, and others want its processor.
SENDS_ON_TIME = ("--connections", 1, "--queues", 1)


def watched(command, seconds):
    """Runs a command to its end and returns the share of a core that it took
    after its first second and a half."""
    with measuring.process(command, lambda: True) as child:
        time.sleep(1.5)
        before, begin = measuring.cpu_seconds(child.pid), time.monotonic()
        time.sleep(seconds / 2)
        share = (measuring.cpu_seconds(child.pid) - before) / (time.monotonic() - begin)
        if child.wait(120) != 0:
            raise measuring.Failure(f"{command[0]} failed")
    return share


def by_perf_analyzer(model, seconds, *load, tries=3):
    """It fails now and then where its windows differ too much."""
    for left in reversed(range(tries)):
        try:
            return try_perf_analyzer(model, seconds, *load)
        except measuring.Failure:
            if left == 0:
                raise
    return None


def try_perf_analyzer(model, seconds, *load):
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


def pairs_by(options, model, what, perf_analyzer_load, ferry_bench_load):
    """Turns of both clients, with the flags of one and the same load."""
    seconds = options.seconds or 3
    pairs = []
    for number in range(max(options.pairs, 5)):
        turns = [
            ("perf_analyzer", lambda: by_perf_analyzer(
                model, seconds, *perf_analyzer_load)),
            ("ferry-bench", lambda: by_ferry_bench(
                options.programs, model, seconds, *ferry_bench_load))]
        pairs.append({name: turn() for name, turn in
                      (reversed(turns) if number % 2 else turns)})
    measuring.say(f"{model}, {what}: {ratio_of(pairs, 'rate'):.3f}")
    return pairs


def pairs_of(options, model, outstanding):
    return pairs_by(options, model, f"{outstanding} outstanding",
                    ("--concurrency-range", outstanding),
                    ("--outstanding", outstanding))


def open_pairs_of(options, model, rate):
    return pairs_by(options, model, f"{rate}/s",
                    ("--request-rate-range", rate, "--request-distribution",
                     "poisson"),
                    ("--rates", rate, *SENDS_ON_TIME))


def past_saturation(options, rate):
    """What each client says of more than the server can do."""
    ours = by_ferry_bench(options.programs, "sim", options.seconds or 3,
                          "--rates", rate, *SENDS_ON_TIME)
    try:
        theirs = by_perf_analyzer("sim", options.seconds or 3,
                                  "--request-rate-range", rate,
                                  "--request-distribution", "poisson",
                                  tries=1)
    except measuring.Failure:
        theirs = None  # it ends with the first request that is refused
    return {"rate": rate, "ferry-bench": ours, "perf_analyzer": theirs}


def told_past(past):
    ours, theirs = past["ferry-bench"], past["perf_analyzer"]
    page = (f"Past saturation, at {past['rate']}/s, ferry-bench counts what is "
            f"refused and goes on: {ours['rate']:.0f}/s, p99 "
            f"{ours['p99_us'] / 1000:.0f} ms. ")
    if theirs is None:
        return page + "perf_analyzer ends without figures."
    return page + (f"perf_analyzer: {theirs['rate']:.0f}/s, p99 "
                   f"{theirs['p99_us'] / 1000:.0f} ms.")


def open_row(load, rate, pairs):
    def of(client, key, scale=1):
        return f"{measuring.median(pair[client][key] for pair in pairs) / scale:.1f}"
    return [load, rate,
            *(of(client, "rate") for client in ("ferry-bench", "perf_analyzer")),
            *(of(client, "p50_us", 1000)
              for client in ("ferry-bench", "perf_analyzer")),
            *(of(client, "p99_us", 1000)
              for client in ("ferry-bench", "perf_analyzer")),
            measuring.standing(voids(pairs))]


def ratio_of(pairs, key):
    """The median of ferry-bench's figure, of perf_analyzer's beside it."""
    return measuring.median(pair["ferry-bench"][key] /
                            pair["perf_analyzer"][key] for pair in pairs)


def voids(pairs):
    """Why ferry-bench's runs do not stand, "" of one that does."""
    return [pair["ferry-bench"]["void"] for pair in pairs]


def row(model, outstanding, pairs):
    def of(client, key):
        return measuring.median(pair[client][key] for pair in pairs)
    return [model, outstanding,
            *(f"{of(client, 'rate'):.0f}"
              for client in ("ferry-bench", "perf_analyzer")),
            f"{ratio_of(pairs, 'rate'):.3f}", f"{ratio_of(pairs, 'p50_us'):.3f}",
            f"{ratio_of(pairs, 'p99_us'):.3f}",
            *(f"{of(client, 'cpu_us'):.0f}"
              for client in ("ferry-bench", "perf_analyzer")),
            measuring.standing(voids(pairs))]


def judge(result):
    """Returns whether the claim holds, by the pairs and runs measured."""
    fast = result["fast"]
    compared = [*result["simulated"].values(), *result["echo"].values(),
                *(pairs for _, pairs in result["open"].values())]
    return (all(abs(ratio_of(pairs, key) - 1) <= MOST_OFF
                for pairs in result["simulated"].values()
                for key in ("rate", "p50_us")) and
            all(ratio_of(pairs, "rate") >= 1
                for pairs in result["echo"].values()) and
            all(measuring.most_stand(voids(pairs)) for pairs in compared) and
            measuring.most_stand([each["void"] for each in fast]) and
            measuring.median(each["lag_p99_us"] for each in fast) <= LAG_US)


def page_of(result):
    simulated, small, echo = (result[key] for key in
                              ("simulated", "small", "echo"))
    page = ("Closed loops, medians of rates and of ratios of pairs, ferry-bench's to "
            "perf_analyzer's. `cpu` is the client's own, a request, in us; void runs "
            "of ferry-bench do not stand, and most must.\n\n")
    page += measuring.table(
        ["model", "outstanding", "ferry-bench/s", "perf_analyzer/s", "rate", "p50",
         "p99", "ferry-bench cpu", "perf_analyzer cpu", "stand"],
        [row("simulated", count, pairs) for count, pairs in simulated.items()] +
        [row("small mlp", count, pairs) for count, pairs in small.items()] +
        [row("grpc-echo", count, pairs) for count, pairs in echo.items()])
    page += (
        "\nOpen loops, Poisson, at loads of the simulated device's saturation, "
        f"{SATURATION:.0f}/s; medians, latencies in ms; ferry-bench here and below with "
        f"`{' '.join(map(str, SENDS_ON_TIME))}` (docs/bench.md). " +
        WHY.replace("\n", " ") + "\n\n")
    page += measuring.table(
        ["load", "planned/s", "ferry-bench/s", "perf_analyzer/s",
         "ferry-bench p50", "perf_analyzer p50", "ferry-bench p99",
         "perf_analyzer p99", "stand"],
        [open_row(load, rate, pairs)
         for load, (rate, pairs) in result["open"].items()])
    fast = result["fast"]
    lags = sorted(each["lag_p99_us"] for each in fast)
    return page + (
        f"\n{told_past(result['past'])}\n"
        f"\nOpen loop, Poisson, {OPEN_RATE}/s to grpc-echo: "
        f"{measuring.standing([each['void'] for each in fast])} runs stand; in the "
        "others the client was late. Median of all: "
        f"{measuring.median(each['rate'] for each in fast):.0f}/s answered, p99 of "
        f"the send lag {measuring.median(lags):.0f} us (at most {LAG_US}; "
        f"{lags[0]:.0f} to {lags[-1]:.0f}).\n")


def measure(options):
    result = measuring.describe(
        "E2", "the same simulated server by ferry-bench and by perf_analyzer, at "
        "equal closed loops, within 5 %; against grpc-echo ferry-bench has at least "
        "its rate, and sends 20,000/s in time in most runs",
        options.command)
    programs = options.programs
    with simulating.server(programs, ALPHA_MS, BETA_MS, MAX_BATCH):
        simulated = {count: pairs_of(options, "sim", count)
                     for count in SIMULATED}
        opens = {load: (rate, open_pairs_of(options, "sim", rate))
                 for load in LOADS for rate in [int(load * SATURATION)]}
        past = past_saturation(options, int(OVERLOAD * SATURATION))
    with wire.repository() as folder, measuring.server(
            programs, "--model-repository", folder, model="small_mlp"):
        small = {count: pairs_of(options, "small_mlp", count)
                 for count in SMALL}
    with measuring.echo(programs):
        echo = {count: pairs_of(options, "mlp", count) for count in ECHO}
        fast = [by_ferry_bench(programs, "mlp", options.seconds or 3,
                               "--rates", OPEN_RATE, *SENDS_ON_TIME)
                for _ in range(max(options.pairs, OPEN_RUNS))]
    result |= {"simulated": simulated, "echo": echo, "small": small,
               "open": opens, "past": past, "fast": fast,
               "ratio": min(ratio_of(pairs, "rate")
                            for pairs in simulated.values())}
    result["passed"] = judge(result)
    return result, page_of(result)
