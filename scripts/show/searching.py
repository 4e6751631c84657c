"""E4: ferry-bench search on a device whose knee is known.

The device is simulated, in real time, and the bound is long against what wire and
client add, some tenths of a ms, so that the knee of an ideal batcher is the
server's too.
"""

import time

import knee
import measuring
import simulating

ALPHA_MS, BETA_MS, MAX_BATCH = 5, 0.2, 64
BOUND_MS = 40
MOST_OFF = 0.03

def search(programs, seconds, seed):
    """Returns the run that a search leaves, and how long it took."""
    begin = time.monotonic()
    result = programs.json_of(
        "ferry-bench", "search", "-u", measuring.ADDRESS, "-m", "sim",
        "--slo-ms", BOUND_MS, "--duration-secs", seconds, "--warm-up-secs", 1,
        "--seed", seed)
    return result["runs"][0], time.monotonic() - begin


def measure(options):
    result = measuring.describe(
        "E4", "ferry-bench search finds a known knee within 3 % in 5 of 5 runs",
        options.command)
    expected = knee.knee(ALPHA_MS, BETA_MS, MAX_BATCH, BOUND_MS)
    runs = []
    with simulating.server(options.programs, ALPHA_MS, BETA_MS, MAX_BATCH):
        for number in range(max(options.pairs, 5)):
            run, seconds = search(options.programs, options.seconds or 10,
                                  1000 * number + 1)
            runs.append({"found": run["search"]["found_rate"],
                         "client_ceiling": run["search"]["client_ceiling"],
                         "loads": len(run["points"]), "seconds": seconds})
            measuring.say(f"run {number + 1}: {runs[-1]}")
    offs = [run["found"] / expected - 1 if run["found"] else None
            for run in runs]
    result |= {"knee": expected, "runs": runs, "off": offs,
               "ratio": measuring.median(1 + off for off in offs
                                         if off is not None),
               "passed": all(off is not None and abs(off) <= MOST_OFF
                             for off in offs)}
    page = (f"A simulated device, in real time: s(b) = {ALPHA_MS} + {BETA_MS} b ms, "
            f"batches of {MAX_BATCH} at most, eager; the bound is p99 <= {BOUND_MS} ms. "
            f"By scripts/show/knee.py an ideal batcher keeps it up to {expected:.0f}/s. "
            f"All runs took {sum(run['seconds'] for run in runs):.0f} s.\n\n")
    page += measuring.table(
        ["run", "found/s", "of the knee", "loads", "seconds"],
        [[i + 1, f"{run['found'] or 0:.0f}",
          "-" if off is None else f"{1 + off:.3f}", run["loads"],
          f"{run['seconds']:.0f}"]
         for i, (run, off) in enumerate(zip(runs, offs))])
    return result, page
