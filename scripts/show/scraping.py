"""scrapes: what ten scrapes of /metrics a second cost. Throughput with and without
them, by turns, is noisy; the processor time of one scrape of an idle server, which is
all that a scrape takes from others, decides.
"""

import contextlib
import os
import threading

import measuring

SCRAPES_A_SECOND = 10
COUNTED = 500
MOST_SHARE = 0.01
OUTSTANDING = 64
PATHS = ("/metrics", "/metrics/fine", "/status.json")
OPEN_METRICS = {"Accept": "application/openmetrics-text"}


def cost(path, headers=None):
    """Returns the processor time of one, in ms, and its bytes."""
    before = measuring.metric("process_cpu_seconds_total")
    for _ in range(COUNTED):
        size = len(measuring.page(path, headers=headers))
    took = measuring.metric("process_cpu_seconds_total") - before
    return {"ms": took / COUNTED * 1e3, "bytes": size}


@contextlib.contextmanager
def scraped(seconds):
    """Meanwhile /metrics is read ten times a second."""
    stop = threading.Event()
    count = 0

    def run():
        nonlocal count
        while not stop.wait(1 / SCRAPES_A_SECOND):
            measuring.page("/metrics")
            count += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if count < 0.8 * seconds * SCRAPES_A_SECOND:
        raise measuring.Failure(f"expected {SCRAPES_A_SECOND} scrapes a second, "
                                f"got {count} in {seconds} s")


def pairs(options):
    """Returns the rates without and with scrapes, by turns."""
    seconds = options.seconds or 3
    played = []
    for number in range(options.pairs):
        rates = {}
        for is_scraped in ((False, True) if number % 2 == 0 else (True, False)):
            with scraped(seconds) if is_scraped else contextlib.nullcontext():
                point = measuring.closed_loop(
                    options.programs, OUTSTANDING, seconds, metrics=False,
                    warm_up=0.5)
            rates["with" if is_scraped else "without"] = point["achieved_rate"]
        played.append(rates | {"ratio": rates["with"] / rates["without"]})
    return played


def measure(options):
    result = measuring.describe(
        "scrapes", f"{SCRAPES_A_SECOND} scrapes of /metrics a second cost less "
        f"than {MOST_SHARE:.0%} of the machine", options.command)
    with measuring.server(options.programs):
        played = pairs(options)
        costs = {path: cost(path) for path in PATHS}
        costs["/metrics as OpenMetrics"] = cost("/metrics", OPEN_METRICS)
    share = (costs["/metrics"]["ms"] * SCRAPES_A_SECOND / 1e3 /
             os.cpu_count())
    result |= {"pairs": played, "costs": costs, "share": share,
               "ratio": measuring.median(pair["ratio"] for pair in played),
               "passed": share < MOST_SHARE}
    page = (f"One model. {SCRAPES_A_SECOND} scrapes a second take {share:.2%} of "
            f"the cores. Beside a closed loop of {OUTSTANDING} the rate with them "
            f"is {result['ratio']:.3f} of that without, median of "
            f"{len(played)} pairs.\n\n" +
            measuring.table(
                ["page", "processor time of one, ms", "bytes"],
                [[path, f"{one['ms']:.2f}", one["bytes"]]
                 for path, one in costs.items()]) + "\n" +
            measuring.table(
                ["without, 1/s", "with, 1/s", "ratio"],
                [[f"{pair['without']:.0f}", f"{pair['with']:.0f}",
                  f"{pair['ratio']:.3f}"] for pair in played]))
    return result, page
