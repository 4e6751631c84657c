"""A2: rows a second served, against the same model called in a loop.

On a machine that others share, what a core gives changes by half within
seconds. So the server stays up, its turns and ferry-forward's are short and
many, and the ratio is that of each turn to the two looks around it.
"""

import measuring

OUTSTANDING = 256
LEAST_RATIO = 0.92
LEAST_PAIRS = 25


def measure(options):
    result = measuring.describe(
        "A2", f"served rows/s are at least {LEAST_RATIO} of ferry-forward at "
        f"b = 64, run alone (mlp, bf16, 1 thread, {OUTSTANDING} outstanding)",
        options.command)
    programs = options.programs
    seconds = options.seconds or 1
    pairs = []

    def alone():
        return measuring.forward(programs, [64], seconds / 2)[64]

    with measuring.server(programs, "--max-batch-size", 64):
        before = alone()
        for number in range(max(options.pairs, LEAST_PAIRS)):
            served = measuring.closed_loop(programs, OUTSTANDING, seconds,
                                           warm_up=0.3)
            after = alone()
            rate = (before["rows_per_second"] + after["rows_per_second"]) / 2
            pairs.append({"forward_rows_per_second": rate, "served": served,
                          "ratio": served["achieved_rate"] / rate})
            measuring.say(f"pair {number + 1}: {pairs[-1]['ratio']:.3f}")
            before = after
    ratio = measuring.median(p["ratio"] for p in pairs)
    of_medians = (
        measuring.median(p["served"]["achieved_rate"] for p in pairs) /
        measuring.median(p["forward_rows_per_second"] for p in pairs))
    busy = measuring.median(p["served"]["busy_ratio"] or 0 for p in pairs)
    result |= {"pairs": pairs, "ratio": ratio, "ratio_of_medians": of_medians,
               "busy_ratio": busy, "limit": LEAST_RATIO,
               "passed": ratio >= LEAST_RATIO if measuring.has_bf16()
                         else None}
    page = (f"Median of the pairs' ratios {ratio:.3f} (at least "
            f"{LEAST_RATIO}); ratio of the medians {of_medians:.3f}; the lane "
            f"was busy for {busy:.3f} of the time.\n\n")
    page += measuring.table(
        ["pair", "forward rows/s", "served rows/s", "ratio", "rows/batch",
         "busy", "p50 ms", "p99 ms"],
        [[number + 1, f"{p['forward_rows_per_second']:.0f}",
          f"{p['served']['achieved_rate']:.0f}", f"{p['ratio']:.3f}",
          f"{p['served']['mean_rows'] or 0:.1f}",
          f"{p['served']['busy_ratio'] or 0:.3f}",
          f"{p['served']['latency']['p50_us'] / 1e3:.2f}",
          f"{p['served']['latency']['p99_us'] / 1e3:.2f}"]
         for number, p in enumerate(pairs)])
    return result, page
