"""E6: half an hour of Poisson arrivals at 70 % of saturation: is memory flat, and
do the sends keep their schedule?

The device is simulated: its time does not change with what else the machine does,
so that 70 % stays 70 % for half an hour; memory and schedule are the same code with
any device (A5 has the mlp's memory). No --log: its stamps, 40 bytes a request, would
be the client's growth. How late sends were is in the `series` of the result.
"""

import json
import math
import os
import statistics
import subprocess
import tempfile
import time

import measuring
import simulating

ALPHA_MS, BETA_MS, MAX_BATCH = 5, 0.2, 64
SECONDS = 1800
LOAD = 0.7
SATURATING = 256  # outstanding
WARM_UP_S = 5
SAMPLES = 360  # of memory; one each 5 s of half an hour
LEFT_OUT = 0.2  # of the samples, the first ones
BLOCKS = 10  # that samples are joined to, as those next to each other are alike
STUDENTS_T = 2.306  # two-sided 95 %, BLOCKS - 2 degrees of freedom
MOST_SLOPE = 0.5  # MB a minute, the upper end of the interval
MOST_P50_DRIFT_US = 50
MOST_P99_DRIFT_US = 1000  # what the send lag may be at all
DEVIATIONS = 4  # of a Poisson count


def slope(times_s, megabytes):
    """Returns the slope in MB a minute and half of its 95 % interval, by least
    squares over the means of blocks."""
    size = len(times_s) // BLOCKS
    if size == 0:
        raise measuring.Failure(f"expected {BLOCKS} samples of memory or more "
                                f"after warm-up, got {len(times_s)}")
    cut = range(0, size * BLOCKS, size)
    x = [statistics.fmean(times_s[i:i + size]) / 60 for i in cut]
    y = [statistics.fmean(megabytes[i:i + size]) for i in cut]
    middle, mean = statistics.fmean(x), statistics.fmean(y)
    squares = sum((each - middle) ** 2 for each in x)
    rise = sum((a - middle) * (b - mean) for a, b in zip(x, y)) / squares
    left = sum((b - mean - rise * (a - middle)) ** 2 for a, b in zip(x, y))
    return rise, STUDENTS_T * math.sqrt(left / (BLOCKS - 2) / squares)


def bench(*arguments):
    return ["run", "-u", measuring.ADDRESS, "-m", "sim",
            *map(str, arguments)]


def watched(programs, rate, seconds, server):
    """Returns the point of the run, and the memory of both on the way."""
    memory = {"seconds": [], "server_mb": [], "client_mb": []}
    every = (seconds + WARM_UP_S) / SAMPLES
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/result.json"
        command = [programs.path("ferry-bench"), *bench(
            "--rates", rate, "--warm-up-secs", WARM_UP_S, "--duration-secs",
            seconds, "--json", path)]
        with measuring.process(command, lambda: True) as client:
            begin = time.monotonic()
            while True:
                try:
                    code = client.wait(every)
                    break
                except subprocess.TimeoutExpired:
                    now = time.monotonic() - begin
                    memory["seconds"].append(round(now, 3))
                    for name, pid in (("server", server.pid),
                                      ("client", client.pid)):
                        memory[f"{name}_mb"].append(
                            round(measuring.resident_mb(pid), 3))
        if code != 0 or not os.path.exists(path):
            raise measuring.Failure(f"ferry-bench ended with {code}")
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)["runs"][0]["points"][0], memory


def schedule(point, rate, seconds):
    """Returns what says whether the sends kept their schedule."""
    series = point["series"]
    third = len(series) // 3
    first, last = series[:third], series[-third:]
    told = {"expected": rate * seconds, "planned": point["planned"],
            "answered": point["ok"],
            "not_sent": point["errors"].get("NOT_SENT", 0)}
    for name, part in (("first", first), ("last", last)):
        told[name] = {"planned": sum(each["planned"] for each in part)} | {
            key: measuring.median(each[key] for each in part)
            for key in ("lag_p50_us", "lag_p99_us", "p50_us", "p99_us")}
    told["p50_drift_us"] = (told["last"]["lag_p50_us"] -
                            told["first"]["lag_p50_us"])
    told["p99_drift_us"] = (told["last"]["lag_p99_us"] -
                            told["first"]["lag_p99_us"])
    counts = told["first"]["planned"], told["last"]["planned"]
    told["is_kept"] = (
        told["p50_drift_us"] <= MOST_P50_DRIFT_US and
        told["p99_drift_us"] <= MOST_P99_DRIFT_US and
        told["not_sent"] == 0 and not point["void_reason"] and
        abs(told["planned"] - told["expected"]) <=
        DEVIATIONS * math.sqrt(told["expected"]) and
        abs(counts[0] - counts[1]) <= DEVIATIONS * math.sqrt(sum(counts)))
    return told


def fit(memory):
    """Returns by process the slope, its interval and the memory at both ends."""
    skipped = int(len(memory["seconds"]) * LEFT_OUT)
    fits = {}
    for name in ("server", "client"):
        values = memory[f"{name}_mb"][skipped:]
        rise, half = slope(memory["seconds"][skipped:], values)
        fits[name] = {"from_s": memory["seconds"][skipped],
                      "mb_per_minute": rise, "half_interval": half,
                      "begin_mb": values[0], "end_mb": values[-1],
                      "most_mb": max(values),
                      "is_flat": rise + half <= MOST_SLOPE}
    return fits


def page_of(rate, seconds, point, fits, told):
    page = (f"A simulated device, in real time: s(b) = {ALPHA_MS} + {BETA_MS} b ms, "
            f"batches of {MAX_BATCH} at most. {rate:.0f}/s are {LOAD:.0%} of what a "
            f"closed loop of {SATURATING} found; {seconds:.0f} s.\n\n"
            f"Resident memory after the first {fits['server']['from_s']:.0f} s, the "
            "slope with its 95 % interval:\n\n")
    page += measuring.table(
        ["process", "MB at begin", "at end", "most", "MB/min"],
        [[f"ferry-{'server' if name == 'server' else 'bench'}",
          *(f"{each[key]:.2f}" for key in ("begin_mb", "end_mb", "most_mb")),
          f"{each['mb_per_minute']:+.4f} ± {each['half_interval']:.4f}"]
         for name, each in fits.items()])
    page += (f"\nSends: {told['planned']} were planned, "
             f"{told['expected']:.0f} ± {math.sqrt(told['expected']):.0f} are to be "
             f"expected; {told['not_sent']} were not sent, {told['answered']} were "
             f"answered, errors: {point['errors'] or 'none'}. Actual minus planned "
             "send, medians over the slices of the first and of the last third:\n\n")
    page += measuring.table(
        ["third", "planned", "lag p50 us", "lag p99 us", "latency p50 ms",
         "p99 ms"],
        [[name, told[name]["planned"], f"{told[name]['lag_p50_us']:.1f}",
          f"{told[name]['lag_p99_us']:.1f}",
          f"{told[name]['p50_us'] / 1e3:.2f}",
          f"{told[name]['p99_us'] / 1e3:.2f}"] for name in ("first", "last")])
    if point["void_reason"] or point["unsteady"]:
        page += f"\n{point['void_reason'] or point['unsteady']}.\n"
    return page


def measure(options):
    seconds = options.seconds or SECONDS
    result = measuring.describe(
        "E6", f"{seconds:.0f} s at {LOAD:.0%} load: memory of server and client grows "
        f"less than {MOST_SLOPE} MB a minute, the sends keep their schedule and "
        "every request is answered", options.command)
    with simulating.server(options.programs, ALPHA_MS, BETA_MS,
                           MAX_BATCH) as server:
        saturation = options.programs.json_of(
            "ferry-bench", *bench("--outstanding", SATURATING, "--warm-up-secs",
                                  1, "--duration-secs", min(seconds, 5)))
        rate = LOAD * saturation["runs"][0]["points"][0]["achieved_rate"]
        measuring.say(f"{rate:.0f}/s for {seconds:.0f} s")
        point, memory = watched(options.programs, rate, seconds, server)
    fits, told = fit(memory), schedule(point, rate, seconds)
    result |= {"rate": rate, "point": point, "memory": memory,
               "memory_fit": fits, "schedule": told,
               "passed": all(each["is_flat"] for each in fits.values()) and
               told["is_kept"] and point["ok"] == point["planned"]}
    return result, page_of(rate, seconds, point, fits, told)
