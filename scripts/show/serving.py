"""A2 and C2: rows a second served, against the same model called in a loop.

On a machine that others share, what a core gives changes by half within
seconds. So the server stays up, its turns and ferry-forward's are short and
many, and the ratio is that of each turn to the two looks around it.
"""

import measuring

LEAST_PAIRS = 25
A2_LEAST = {256: 0.92}  # ratio by requests outstanding
C2_LEAST = {64: 0.80, 128: 0.97, 256: 0.97}
C2_LEAST_BUSY = {256: 0.99}


def play_pairs(options, outstanding):
    """Returns pairs of a served turn and ferry-forward's rate around it."""
    programs = options.programs
    seconds = options.seconds or 1
    pairs = []

    def alone():
        return measuring.forward(programs, [64], seconds / 2)[64]

    before = alone()
    for number in range(max(options.pairs, LEAST_PAIRS)):
        served = measuring.closed_loop(programs, outstanding, seconds,
                                       warm_up=0.3)
        after = alone()
        rate = (before["rows_per_second"] + after["rows_per_second"]) / 2
        pairs.append({"forward_rows_per_second": rate, "served": served,
                      "ratio": served["achieved_rate"] / rate})
        measuring.say(f"{outstanding} outstanding, pair {number + 1}: "
                      f"{pairs[-1]['ratio']:.3f}")
        before = after
    return pairs


def summary(pairs):
    return {"ratio": measuring.median(p["ratio"] for p in pairs),
            "ratio_of_medians":
                measuring.median(p["served"]["achieved_rate"] for p in pairs) /
                measuring.median(p["forward_rows_per_second"] for p in pairs),
            "busy_ratio": measuring.median(p["served"]["busy_ratio"] or 0
                                           for p in pairs)}


def told(count, total, least, least_busy):
    return (f"{count} outstanding: median of the pairs' ratios "
            f"{total['ratio']:.3f} (at least {least}); ratio of the medians "
            f"{total['ratio_of_medians']:.3f}; the lane was busy for "
            f"{total['busy_ratio']:.3f} of the time" +
            (f" (at least {least_busy})" if least_busy else "") + ".\n\n")


def table(pairs):
    return measuring.table(
        ["pair", "forward rows/s", "served rows/s", "ratio", "rows/batch",
         "busy", "p50 ms", "p99 ms"],
        [[number + 1, f"{p['forward_rows_per_second']:.0f}",
          f"{p['served']['achieved_rate']:.0f}", f"{p['ratio']:.3f}",
          f"{p['served']['mean_rows'] or 0:.1f}",
          f"{p['served']['busy_ratio'] or 0:.3f}",
          f"{p['served']['latency']['p50_us'] / 1e3:.2f}",
          f"{p['served']['latency']['p99_us'] / 1e3:.2f}"]
         for number, p in enumerate(pairs)])


def measure_at(options, name, least, least_busy):
    goals = ", ".join(f"{ratio} with {count}" for count, ratio in least.items())
    result = measuring.describe(
        name, f"served rows/s of ferry-forward at b = 64, run alone: at least "
        f"{goals} outstanding (mlp, bf16, 1 thread)", options.command)
    page, passed, totals, all_pairs = "", True, {}, {}
    with measuring.server(options.programs, "--max-batch-size", 64):
        for count, ratio in least.items():
            pairs = play_pairs(options, count)
            total = summary(pairs)
            passed = passed and (total["ratio"] >= ratio and
                                 total["busy_ratio"] >=
                                 least_busy.get(count, 0))
            page += (told(count, total, ratio, least_busy.get(count)) +
                     table(pairs) + "\n")
            totals[count], all_pairs[count] = total, pairs
    result |= {"pairs": all_pairs, "totals": totals, "least": least,
               "passed": passed if measuring.has_bf16() else None}
    return result, page


def measure(options):
    return measure_at(options, "A2", A2_LEAST, {})


def measure_all(options):
    return measure_at(options, "C2", C2_LEAST, C2_LEAST_BUSY)
