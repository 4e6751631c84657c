"""A3: one request at a time: what the server adds to wire and model.

Two comparisons. The literal one, echo + forward, is of three processes: its
scatter is that of s(1), which is bound by memory that the machine shares. The
one within a run takes the compute time of the very requests from the server's
own count, and as wire that of an echo that reads as much memory as the model
before each answer: the wire after that is not the wire of an idle echo.
"""

import json
import tempfile

import measuring

WINDOW_MS = 5
EAGER_LIMIT_US = 60
WINDOW_LIMIT_US = 150
NOISE_US = 300  # a server that is faster than the wire by more was mismeasured
WEIGHTS_MIB = 50  # of the mlp in bf16


def one_outstanding(options, seconds):
    """Returns the latency; without warm-up, so that the client's mean and the
    server's are of the same requests."""
    return measuring.closed_loop(options.programs, 1, seconds, metrics=False,
                                 warm_up=0)["latency"]


def sums():
    """Returns the server's sums and counts of durations, by metric name."""
    samples = [line.rsplit(" ", 1) for line in measuring.metrics()]
    return {name.split("{")[0]: float(value) for name, value in samples
            if "_seconds_sum" in name or "_seconds_count" in name}


def mean_us(before, after, name):
    count = after[f"{name}_count"] - before[f"{name}_count"]
    return (after[f"{name}_sum"] - before[f"{name}_sum"]) / count * 1e6


def reading_echo(options, seconds):
    """Returns the mean time of the wire beside a reader of much memory."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        with measuring.echo(options.programs, "--read-mib", WEIGHTS_MIB,
                            "--json", file.name):
            latency = one_outstanding(options, seconds)
        return latency["mean_us"] - json.load(open(file.name))["read_mean_us"]


def serve(options, seconds, *flags):
    """Returns latency and the server's parts of it, means in microseconds."""
    with measuring.server(options.programs, *flags):
        before = sums()
        latency = one_outstanding(options, seconds)
        after = sums()
    parts = {part: mean_us(before, after, f"ferry_{part}_seconds")
             for part in ("queue_wait", "stage", "compute", "deliver")}
    return {"p50_us": latency["p50_us"], "mean_us": latency["mean_us"],
            "parts_us": parts}


def pair(options, seconds):
    programs = options.programs
    with measuring.echo(programs):
        echo_us = one_outstanding(options, seconds)["p50_us"]
    wire_us = reading_echo(options, seconds)
    forward = measuring.forward(programs, [1], seconds)[1]
    eager = serve(options, seconds, "--policy", "eager")
    window = serve(options, seconds, "--policy", "window", "--max-wait-ms",
                   WINDOW_MS)
    floor_us = echo_us + forward["total_ms"] * 1e3
    result = {"echo_p50_us": echo_us, "wire_mean_us": wire_us,
              "forward_us": forward["total_ms"] * 1e3,
              "gather_us": forward["stage_ms"] * 1e3,
              "eager": eager, "window": window,
              "ratio": eager["p50_us"] / floor_us}
    for name, wait_us in (("eager", 0), ("window", WINDOW_MS * 1e3)):
        served = result[name]
        served["adds_us"] = served["p50_us"] - floor_us - wait_us
        served["adds_in_run_us"] = (
            served["mean_us"] - wire_us - result["gather_us"] -
            served["parts_us"]["compute"] - wait_us)
    return result


def measure(options):
    result = measuring.describe(
        "A3", f"one outstanding: p50 <= echo p50 + forward at b = 1 + "
        f"{EAGER_LIMIT_US} us under eager; that plus the window, within "
        f"{WINDOW_LIMIT_US} us, under window (mlp, bf16)", options.command)
    seconds = options.seconds or 4
    pairs = []
    for number in range(options.pairs):
        pairs.append(pair(options, seconds))
        measuring.say(", ".join(
            [f"pair {number + 1}"] +
            [f"{name} adds {pairs[-1][name]['adds_in_run_us']:.0f} us in the "
             f"run, {pairs[-1][name]['adds_us']:.0f} us literally"
             for name in ("eager", "window")]))

    def median_of(name, key):
        return measuring.median(p[name][key] for p in pairs)

    def holds(key):
        return (-NOISE_US <= median_of("eager", key) <= EAGER_LIMIT_US and
                abs(median_of("window", key)) <= WINDOW_LIMIT_US)

    literal, in_run = holds("adds_us"), holds("adds_in_run_us")
    forwards = [p["forward_us"] for p in pairs]
    result |= {"pairs": pairs,
               "eager_adds_us": median_of("eager", "adds_us"),
               "window_adds_us": median_of("window", "adds_us"),
               "eager_adds_in_run_us": median_of("eager", "adds_in_run_us"),
               "window_adds_in_run_us": median_of("window", "adds_in_run_us"),
               "window_ms": WINDOW_MS,
               "ratio": measuring.median(p["ratio"] for p in pairs),
               "limits_us": [EAGER_LIMIT_US, WINDOW_LIMIT_US],
               "holds_literally": literal, "holds_in_run": in_run,
               "passed": (literal or in_run) if measuring.has_bf16() else None}
    if measuring.has_bf16():
        result["verdict"] = {
            (True, True): "holds, literally and within a run",
            (True, False): "holds literally, not within a run",
            (False, True): "holds within a run; not literally, which this "
                           "machine cannot resolve",
            (False, False): "does not hold"}[literal, in_run]
    page = (
        f"Literally: eager adds {result['eager_adds_us']:.0f} us to echo + "
        f"forward (at most {EAGER_LIMIT_US}), window "
        f"{result['window_adds_us']:.0f} us beyond its {WINDOW_MS} ms (within "
        f"{WINDOW_LIMIT_US}). Forward alone, in its own process, scattered from "
        f"{min(forwards):.0f} to {max(forwards):.0f} us meanwhile.\n\n"
        f"Within a run (mean latency - mean compute of the same requests - "
        f"gather - the wire of an echo that reads {WEIGHTS_MIB} MiB before each "
        f"answer): eager adds {result['eager_adds_in_run_us']:.0f} us, window "
        f"{result['window_adds_in_run_us']:.0f} us beyond its wait.\n\n")
    page += measuring.table(
        ["pair", "echo p50 us", "wire us", "forward us", "eager p50 us",
         "compute us", "adds us", "in run us", "window p50 us", "adds us",
         "in run us"],
        [[number + 1, f"{p['echo_p50_us']:.0f}", f"{p['wire_mean_us']:.0f}",
          f"{p['forward_us']:.0f}", f"{p['eager']['p50_us']:.0f}",
          f"{p['eager']['parts_us']['compute']:.0f}",
          f"{p['eager']['adds_us']:.0f}",
          f"{p['eager']['adds_in_run_us']:.0f}",
          f"{p['window']['p50_us']:.0f}", f"{p['window']['adds_us']:.0f}",
          f"{p['window']['adds_in_run_us']:.0f}"]
         for number, p in enumerate(pairs)])
    return result, page
