"""A1: batching on against off, and against what the processor allows."""

import measuring

OUTSTANDING = 64
LEAST_SHARE = 0.75


def pair(options, seconds):
    """Returns off, on and forward, measured one after the other."""
    programs = options.programs
    batches = measuring.forward(programs, [1, 64], seconds)
    with measuring.server(programs, "--max-batch-size", 1):
        off = measuring.closed_loop(programs, OUTSTANDING, seconds)
    with measuring.server(programs, "--max-batch-size", 64):
        on = measuring.closed_loop(programs, OUTSTANDING, seconds)
    allowed = 64 * batches[1]["total_ms"] / batches[64]["total_ms"]
    ratio = on["achieved_rate"] / off["achieved_rate"]
    return {"off": off, "on": on, "s1_ms": batches[1]["total_ms"],
            "s64_ms": batches[64]["total_ms"], "allowed": allowed,
            "ratio": ratio, "share": ratio / allowed}


def measure(options):
    result = measuring.describe(
        "A1", f"batching serves at least {LEAST_SHARE} of what the processor "
        "allows, 64 s(1)/s(64), times the requests of no batching (mlp, bf16, "
        f"1 thread, {OUTSTANDING} outstanding)", options.command)
    seconds = options.seconds or 5
    pairs = []
    for number in range(options.pairs):
        pairs.append(pair(options, seconds))
        measuring.say(f"pair {number + 1}: {pairs[-1]['ratio']:.2f}x of "
                      f"{pairs[-1]['allowed']:.2f}x allowed")
    ratio = measuring.median(p["ratio"] for p in pairs)
    share = measuring.median(p["share"] for p in pairs)
    result |= {
        "pairs": pairs,
        "ratio": ratio,
        "allowed": measuring.median(p["allowed"] for p in pairs),
        "share_of_allowed": share,
        "limit": LEAST_SHARE,
        "passed": share >= LEAST_SHARE if measuring.has_bf16() else None,
    }
    page = (f"Median ratio {ratio:.2f}x; the processor allows "
            f"{result['allowed']:.2f}x; share {share:.3f} "
            f"(at least {LEAST_SHARE}).\n\n")
    page += measuring.table(
        ["pair", "off/s", "on/s", "ratio", "s(1) ms", "s(64) ms", "allowed",
         "share", "off p99 ms", "on p99 ms", "rows/batch", "busy"],
        [[number + 1, f"{p['off']['achieved_rate']:.0f}",
          f"{p['on']['achieved_rate']:.0f}", f"{p['ratio']:.2f}",
          f"{p['s1_ms']:.3f}", f"{p['s64_ms']:.3f}", f"{p['allowed']:.2f}",
          f"{p['share']:.3f}", f"{p['off']['latency']['p99_us'] / 1e3:.2f}",
          f"{p['on']['latency']['p99_us'] / 1e3:.2f}",
          f"{p['on']['mean_rows'] or 0:.1f}",
          f"{p['on']['busy_ratio'] or 0:.3f}"]
         for number, p in enumerate(pairs)])
    return result, page
