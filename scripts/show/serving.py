"""A2: rows a second served, against the same model called in a loop."""

import measuring

OUTSTANDING = 256
LEAST_RATIO = 0.92


def measure(options):
    result = measuring.describe(
        "A2", f"served rows/s are at least {LEAST_RATIO} of ferry-forward at "
        f"b = 64, run alone (mlp, bf16, 1 thread, {OUTSTANDING} outstanding)",
        options.command)
    programs = options.programs
    seconds = options.seconds or 5
    pairs = []
    for number in range(options.pairs):
        alone = measuring.forward(programs, [64], seconds)[64]
        with measuring.server(programs, "--max-batch-size", 64):
            served = measuring.closed_loop(programs, OUTSTANDING, seconds)
        pairs.append({"forward": alone, "served": served,
                      "ratio": served["achieved_rate"] /
                               alone["rows_per_second"]})
        measuring.say(f"pair {number + 1}: {pairs[-1]['ratio']:.3f}")
    ratio = measuring.median(p["ratio"] for p in pairs)
    result |= {"pairs": pairs, "ratio": ratio, "limit": LEAST_RATIO,
               "passed": ratio >= LEAST_RATIO if measuring.has_bf16()
                         else None}
    page = f"Median ratio {ratio:.3f} (at least {LEAST_RATIO}).\n\n"
    page += measuring.table(
        ["pair", "forward rows/s", "served rows/s", "ratio", "s(64) ms",
         "rows/batch", "busy", "p50 ms", "p99 ms"],
        [[number + 1, f"{p['forward']['rows_per_second']:.0f}",
          f"{p['served']['achieved_rate']:.0f}", f"{p['ratio']:.3f}",
          f"{p['forward']['total_ms']:.3f}",
          f"{p['served']['mean_rows'] or 0:.1f}",
          f"{p['served']['busy_ratio'] or 0:.3f}",
          f"{p['served']['latency']['p50_us'] / 1e3:.2f}",
          f"{p['served']['latency']['p99_us'] / 1e3:.2f}"]
         for number, p in enumerate(pairs)])
    return result, page
