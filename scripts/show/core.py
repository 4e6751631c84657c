"""core: the table of bench/results/core.md: a build of before the core was redrawn
and a build of now, by the same client, in turns.

Both servers stay up, or are started in turns where they cannot share a port. A
ratio is of the turns of one round; the table has medians of rounds.
"""

import contextlib
import subprocess
import sys

import loads
import measuring
import overloading
import pipelining
import scheduling
import wire

SIDES = ("before", "after")
LEAST_ROUNDS = 5
ECHO = 2  # its number; a side's is its place in SIDES
MODEL = "small_mlp"
OUTSTANDING = 256  # of the mlp
LEAST_OF_FORWARD = 0.95
MOST_P99_OF_MEAN = loads.LOADS
LEAST_GOODPUT = {"simulated": overloading.LOADS,
                 "mlp": {load: 0.90 for load in overloading.LOADS}}
# Flags of ferry-bench simulate that the build of before calls otherwise.
FORMER_FLAGS = {"instances": "lanes", "pipeline_depth": "slots"}


class OtherServer(measuring.Programs):
    """The programs of this build, with the ferry-server of another."""

    def __init__(self, programs, other):
        super().__init__(programs.folder)
        self.other = other

    def path(self, name):
        if name == "ferry-server":
            return self.other.path(name)
        return super().path(name)


def in_turns(number):
    """Returns the sides in the order of that round."""
    return SIDES if number % 2 == 0 else SIDES[::-1]


def medians(rounds):
    """Returns the median of each side, and of the rounds' ratios after / before."""
    ratio = None
    if all(each["before"] > 0 for each in rounds):
        ratio = measuring.median(each["after"] / each["before"] for each in rounds)
    return ({side: measuring.median(each[side] for each in rounds)
             for side in SIDES} | {"ratio": ratio, "rounds": rounds})


@contextlib.contextmanager
def both(builds, *arguments, **options):
    """Runs both servers, each with its number."""
    with contextlib.ExitStack() as running:
        for number, side in enumerate(SIDES):
            running.enter_context(measuring.server(
                builds[side], *arguments, number=number, **options))
        yield


# ---------------------------------------------------------------------------
# Rows of the table

def beside_echo(builds, options, count):
    """Yields the rows of the small mlp beside grpc-echo, by perf_analyzer."""
    programs = options.programs
    shares = {outstanding: [] for outstanding in wire.OUTSTANDING}
    added = []
    with wire.repository() as folder, \
            wire.echo(programs, MODEL, number=ECHO), \
            both(builds, "--model-repository", folder, model=MODEL):
        forward_us = wire.forward_us(programs, folder)
        for number in range(count):
            for outstanding in (1, *wire.OUTSTANDING):
                turns = [*map(SIDES.index, in_turns(number))]
                turns.insert(1, ECHO)
                done = {turn: wire.analyze(MODEL, outstanding, 0.5, turn)
                        for turn in turns}
                if outstanding == 1:
                    added.append({side: done[i]["p50_us"] - done[ECHO]["p50_us"]
                                  for i, side in enumerate(SIDES)})
                else:
                    shares[outstanding].append({
                        side: done[i]["rate"] / done[ECHO]["rate"]
                        for i, side in enumerate(SIDES)})
            measuring.say(f"beside the echo, round {number + 1} of {count}")
    for outstanding, rounds in shares.items():
        yield row("C1", f"small mlp, {outstanding} outstanding: rate / "
                  "grpc-echo's", medians(rounds), least=wire.LEAST[MODEL][outstanding])
    yield row("C1", "small mlp, 1 outstanding: p50 - grpc-echo's, us",
              medians(added), most=round(forward_us + wire.ALONE_US))


def beside_forward(builds, options, count):
    """Yields the row of the mlp beside its raw forward, by ferry-bench."""
    rounds = []
    with both(builds, "--max-batch-size", 64):
        for number in range(count):
            rate = measuring.forward(options.programs, [64], 1)[64]
            rounds.append({side: measuring.closed_loop(
                options.programs, OUTSTANDING, 2, metrics=False, warm_up=0.5,
                number=SIDES.index(side))["achieved_rate"] /
                rate["rows_per_second"] for side in in_turns(number)})
            measuring.say(f"beside the forward, round {number + 1} of {count}")
    yield row("C2", f"mlp, {OUTSTANDING} outstanding: rows / raw forward's",
              medians(rounds), least=LEAST_OF_FORWARD)


def tails(builds, options, count):
    """Yields the rows of p99 / mean under Poisson arrivals, as C3 takes them."""
    rounds = {load: [] for load in MOST_P99_OF_MEAN}
    with both(builds, "--policy", "eager"):
        for number in range(count):
            saturation = loads.saturation_of(options.programs)
            for load, done in rounds.items():
                done.append({side: loads.turn(
                    options, SIDES.index(side), load * saturation,
                    loads.SECONDS)["p99_of_mean"] for side in in_turns(number)})
            measuring.say(f"tails, round {number + 1} of {count}")
    for load, done in rounds.items():
        yield row("C3", f"mlp, Poisson at {load} of saturation: p99 / mean",
                  medians(done), most=MOST_P99_OF_MEAN[load])


def goodputs(builds, options, count):
    """Yields the rows of overload, as C4 takes them."""
    full_ms = measuring.forward(options.programs, [64], 1)[64]["total_ms"]
    models = {
        "simulated": (overloading.device, 4.2),
        "mlp": (lambda programs: measuring.server(
            programs, "--max-batch-size", 64), full_ms)}
    rounds = {(model, load): [] for model in models for load in overloading.LOADS}
    for number in range(count):
        for model, (start, batch_ms) in models.items():
            points = {side: overloading.overload(
                builds[side], model, start(builds[side]), batch_ms, 3,
                is_beside_ignored=False) for side in in_turns(number)}
            for place, load in enumerate(overloading.LOADS):
                rounds[model, load].append(
                    {side: points[side][place]["goodput"] for side in SIDES})
        measuring.say(f"overload, round {number + 1} of {count}")
    for (model, load), done in rounds.items():
        yield row("C4", f"{model}, {load} times saturation: goodput / saturation",
                  medians(done), least=LEAST_GOODPUT[model][load])


def simulated(benches):
    """Yields the rows of the virtual clock: the same on every machine."""
    def simulate(side, **flags):
        if side == "before":
            flags = {FORMER_FLAGS.get(name, name): value
                     for name, value in flags.items()}
        return scheduling.simulate(benches[side], **flags)

    def carried(side):
        return max(load for load in scheduling.INSTANCES_LOADS if simulate(
            side, policy="adaptive", instances=4, alpha_ms=1, beta_ms=0.03,
            load=load, duration_secs=30)["latency_ms"]["p99"] <=
                   scheduling.INSTANCES_P99_MS)

    def busy(side):
        return min(simulate(
            side, load=pipelining.LOAD, pipeline_depth=2,
            gather=pipelining.GATHER, copy_in=pipelining.MOST_COPY_IN,
            copy_out=copy_out, duration_secs=10,
            **pipelining.DEVICE)["busy_ratio"]
                   for copy_out in pipelining.COPIES_OUT)

    yield row("C3-instances", "4 simulated instances, p99 <= 4 ms: load carried",
              medians([{side: carried(side) for side in SIDES}]),
              least=scheduling.LEAST_CARRIED)
    yield row("D-pipeline", "simulated device, copy in 0.8 of compute: busy",
              medians([{side: busy(side) for side in SIDES}]),
              least=pipelining.LEAST_BUSY)


def row(claim, what, values, least=None, most=None):
    def holds(side):
        return ((least is None or values[side] >= least) and
                (most is None or values[side] <= most))
    return values | {"claim": claim, "what": what, "least": least, "most": most,
                     "held": holds("before"), "holds": holds("after")}


# ---------------------------------------------------------------------------

def counts():
    """Returns the table of scripts/count_core.py, and whether it is kept."""
    done = subprocess.run(
        [sys.executable, measuring.ROOT / "scripts/count_core.py"],
        capture_output=True, text=True, check=False)
    return done.stdout, done.returncode == 0


def measure(options):
    if options.before is None:
        raise measuring.Failure("core compares two builds: give the programs of "
                                "the other, --before DIR")
    former = measuring.Programs(options.before)
    builds = {"before": OtherServer(options.programs, former),
              "after": options.programs}
    result = measuring.describe(
        "core", "what the core was before decision 0037, what it is now, and "
        "what it may not lose", options.command)
    rounds = max(options.pairs, LEAST_ROUNDS)
    rows = [*beside_echo(builds, options, 2 * rounds - 1),
            *beside_forward(builds, options, 2 * rounds - 1),
            *tails(builds, options, rounds),
            *goodputs(builds, options, rounds),
            *simulated({"before": former, "after": options.programs})]
    counted, is_small = counts()
    result |= {"rows": rows, "counts": counted, "rounds": rounds,
               "passed": all(each["holds"] for each in rows) and is_small}
    return result, page(rows, counted)


def page(rows, counted):
    def verdict(each):
        if each["holds"]:
            return "yes"
        return "no" if each["held"] else "no, nor did before"

    def bound(each):
        return (f">= {each['least']}" if each["least"] is not None else
                f"<= {each['most']}")
    return (
        "Medians of rounds; in each round both sides have a turn, one after the "
        "other and in changing order (C1: with the echo's between; C4: each with all its loads), "
        "with the client of now. `ratio` is the median of the rounds' after / before. "
        "The saturation of C3 is that of the server before. Each row alone, of this "
        "build: `scripts/show.sh` and the claim in its last column. The last two rows "
        "are of a virtual clock. 16 cores: not measured, for want of such a machine."
        "\n\n" +
        measuring.table(
            ["what", "before", "after", "ratio", "rounds", "bound", "holds",
             "claim"],
            [[each["what"], f"{each['before']:.3g}", f"{each['after']:.3g}",
              "-" if each["ratio"] is None else f"{each['ratio']:.3f}",
              len(each["rounds"]), bound(each), verdict(each), each["claim"]]
             for each in rows]) +
        "\n## Counts\n\n`scripts/count_core.py`:\n\n" + counted)
