"""E1: what ferry-bench says, against what is known: the closed form of the mean,
the raw stamps, and a server that stops for a moment.
"""

import os
import signal
import tempfile
import threading
import time

import measuring
import phi1
import simulating
import stamps

ALPHA_MS, BETA_MS, MAX_BATCH = 20, 1, 512  # a batch is never full
LOAD = 0.5  # lambda * beta
MOST_OFF_MEAN = 0.03
MOST_OFF_QUANTILE = 0.004  # half a bucket of the histogram
STALL_S = 0.2
STALL_RATE, STALL_SECONDS = 500, 10


def run(programs, log, *load):
    """Returns the point of a run and what its stamps come to."""
    point = programs.json_of(
        "ferry-bench", "run", "-u", measuring.ADDRESS, "-m", "sim", *load,
        "--log", log)["runs"][0]["points"][-1]
    if point["void_reason"]:
        raise measuring.Failure(point["void_reason"])
    return point, stamps.count(log)[-1]


def stalled(programs, log, server, *load):
    """The same while the server is stopped for a moment in the middle."""
    def stall():
        time.sleep(1 + STALL_SECONDS / 2)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(STALL_S)
        os.kill(server.pid, signal.SIGCONT)

    thread = threading.Thread(target=stall)
    thread.start()
    point, _ = run(programs, log, "--duration-secs", STALL_SECONDS,
                   "--warm-up-secs", 1, *load)
    thread.join()
    return point["latency"]


def measure(options):
    result = measuring.describe(
        "E1", "ferry-bench's mean is within 3 % of the closed form, its "
        "percentiles within the histogram's error of those of the raw stamps; a "
        "server that stops for 200 ms shows in p99, and does not in a closed loop",
        options.command)
    expected_us = phi1.phi1(ALPHA_MS, BETA_MS, LOAD) * 1e3
    rate = LOAD / BETA_MS * 1e3
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/stamps.csv"
        with simulating.server(options.programs, ALPHA_MS, BETA_MS,
                               MAX_BATCH) as server:
            for number in range(max(options.pairs, 5)):
                point, exact = run(
                    options.programs, log, "--rates", rate, "--seed",
                    number + 1, "--warm-up-secs", 1, "--duration-secs",
                    options.seconds or 30)
                runs.append({"told": point["latency"], "exact": exact,
                             "of_closed_form":
                             point["latency"]["mean_us"] / expected_us})
                measuring.say(f"run {number + 1}: mean "
                              f"{runs[-1]['of_closed_form']:.3f} of phi1")
            stall = {"open": stalled(options.programs, log, server, "--rates",
                                     STALL_RATE),
                     "closed": stalled(options.programs, log, server,
                                       "--outstanding", 8)}
    mean = measuring.median(each["of_closed_form"] for each in runs)
    off = max(abs(each["told"][name] / each["exact"][name] - 1)
              for each in runs for name in stamps.QUANTILES)
    # 2 % of the requests of 10 s were planned while it stood still, and waited
    # for half of that time in the middle.
    shows = stall["open"]["p99_us"] >= STALL_S / 2 * 1e6 * 0.8
    hides = stall["closed"]["p99_us"] <= STALL_S / 2 * 1e6 * 0.8
    result |= {"phi1_us": expected_us, "runs": runs, "stall": stall,
               "ratio": mean, "most_off": off,
               "passed": abs(mean - 1) <= MOST_OFF_MEAN and
               off <= MOST_OFF_QUANTILE and shows and hides}
    page = (f"A simulated device, in real time: s(b) = {ALPHA_MS} + {BETA_MS} b ms, "
            f"{rate:.0f} requests/s, Poisson. phi1 is {expected_us / 1e3:.2f} ms; the mean "
            f"is {mean:.3f} of it (median of {len(runs)} runs, wire and client "
            f"included). Percentiles are off by {off:.2%} at most from those of "
            "scripts/show/stamps.py.\n\n")
    page += measuring.table(
        ["run", "mean ms", "of phi1", "p99 ms", "exact", "p99.9 ms", "exact"],
        [[i + 1, f"{each['told']['mean_us'] / 1e3:.3f}",
          f"{each['of_closed_form']:.3f}",
          f"{each['told']['p99_us'] / 1e3:.3f}",
          f"{each['exact']['p99_us'] / 1e3:.3f}",
          f"{each['told']['p999_us'] / 1e3:.3f}",
          f"{each['exact']['p999_us'] / 1e3:.3f}"]
         for i, each in enumerate(runs)])
    page += (f"\nThe server stops for {STALL_S * 1e3:.0f} ms in {STALL_SECONDS} s:\n\n")
    page += measuring.table(
        ["loop", "p50 ms", "p99 ms", "max ms"],
        [[f"open, {STALL_RATE}/s" if loop == "open" else "closed, 8 outstanding",
          *(f"{latency[name] / 1e3:.1f}"
            for name in ("p50_us", "p99_us", "max_us"))]
         for loop, latency in stall.items()])
    return result, page
