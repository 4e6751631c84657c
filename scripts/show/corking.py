"""cork: replies of a batch that leave together, against `--no-grpc-cork`.

Both servers stay up and turns alternate, as in C1 (wire.py). A lone client has a
connection of its own and one request outstanding, beside another that has many on
few connections: its replies wait for others of their batch and have no company.
"""

import contextlib
import time

import measuring
import wire

MODEL = "small_mlp"
LEAST_PAIRS = 11
BESIDE = 64  # outstanding of the load that a lone client is beside
LONE_SECONDS = 4  # of each turn
START_SECONDS = 1  # of that load
SERVERS = [("on", 0, ()), ("off", 1, ("--no-grpc-cork",))]


def bench(number, outstanding, seconds):
    """Returns the arguments of ferry-bench for a closed loop."""
    return ["run", "-u", measuring.address(number), "-m", MODEL, "--outstanding",
            outstanding, "--duration-secs", seconds, "--warm-up-secs", 0.5]


def lone(programs, number, seconds):
    """Returns p50 and p99 in us of one request at a time beside a load."""
    load = [programs.path("ferry-bench"),
            *bench(number, BESIDE, 10 * (seconds + START_SECONDS))]
    with measuring.process(load, lambda: True):
        time.sleep(START_SECONDS)
        point = programs.json_of(
            "ferry-bench", *bench(number, 1, seconds), "--connections", 1,
            "--queues", 1)["runs"][0]["points"][0]
    return {key: point["latency"][key] for key in ("p50_us", "p99_us")}


def pairs_of(options):
    """Returns pairs of on and off, by outstanding requests and of lone clients."""
    pairs = {count: [] for count in (*wire.OUTSTANDING, "lone")}
    for number in range(max(options.pairs, LEAST_PAIRS)):
        for what, done in pairs.items():
            done.append({name: lone(options.programs, which,
                                    options.seconds or LONE_SECONDS)
                         if what == "lone" else
                         wire.analyze(MODEL, what, options.seconds or 0.5, which)
                         for name, which, _ in
                         (reversed(SERVERS) if number % 2 else SERVERS)})
        measuring.say(f"pair {number + 1}: " + " ".join(
            f"{done[-1]['on']['rate'] / done[-1]['off']['rate']:.3f}"
            for what, done in pairs.items() if what != "lone"))
    return pairs


def summary(pairs, key):
    """Returns medians of on, off and their ratios, with the ratios' range."""
    ratios = [pair["on"][key] / pair["off"][key] for pair in pairs]
    return {"on": measuring.median(pair["on"][key] for pair in pairs),
            "off": measuring.median(pair["off"][key] for pair in pairs),
            "ratio": measuring.median(ratios),
            "range": [min(ratios), max(ratios)]}


def table(first, sums):
    return measuring.table(
        [first, "together", "--no-grpc-cork", "ratio", "ratios"],
        [[name, f"{each['on']:.0f}", f"{each['off']:.0f}", f"{each['ratio']:.3f}",
          "{:.2f} to {:.2f}".format(*each["range"])]
         for name, each in sums.items()])


def measure(options):
    result = measuring.describe(
        "cork", "perf_analyzer with several requests outstanding gets at least as "
        "many through the mlp 256-512-10 where replies of a batch leave together "
        "as with --no-grpc-cork", options.command)
    with wire.repository() as folder, contextlib.ExitStack() as servers:
        for _, number, flags in SERVERS:
            servers.enter_context(measuring.server(
                options.programs, "--model-repository", folder, *flags,
                model=MODEL, number=number))
        pairs = pairs_of(options)
    rates = {count: summary(pairs[count], "rate") for count in wire.OUTSTANDING}
    alone = {key: summary(pairs["lone"], key) for key in ("p50_us", "p99_us")}
    result |= {"pairs": pairs, "rates": rates, "lone": alone,
               "passed": all(each["ratio"] >= 1 for each in rates.values())}
    return result, (
        f"perf_analyzer, inferences/s; medians of {len(pairs['lone'])} pairs and of "
        "their ratios.\n\n" + table("outstanding", rates) +
        "\nA lone client, one request at a time on a connection of its own, beside "
        f"{BESIDE} outstanding on two connections (ferry-bench); us.\n\n" +
        table("latency", alone))
