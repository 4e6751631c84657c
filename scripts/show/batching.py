"""A1: batching on against off, and against what the processor allows.

A closed loop of 64 holds 64 requests, so batches of 64 come one after the other
with the whole way of 64 replies and requests between them. How long that takes
at least is what grpc-echo needs for 64 answers; s(64) over s(64) + that is the
share of what the processor allows that any server can reach here.
"""

import measuring

OUTSTANDING = 64
LEAST_SHARE = 0.75
WINDOW_MS = 8


def pair(options, seconds):
    """Returns off, on, window and forward, measured one after the other."""
    programs = options.programs

    def serve(*flags):
        with measuring.server(programs, *flags):
            return measuring.closed_loop(programs, OUTSTANDING, seconds)

    batches = measuring.forward(programs, [1, 64], seconds)
    off = serve("--max-batch-size", 1)
    on = serve("--max-batch-size", 64)
    window = serve("--max-batch-size", 64, "--policy", "window",
                   "--max-wait-ms", WINDOW_MS)
    with measuring.echo(programs):
        echo = measuring.closed_loop(programs, OUTSTANDING, seconds,
                                     metrics=False)
    s1_ms, s64_ms = batches[1]["total_ms"], batches[64]["total_ms"]
    way_ms = OUTSTANDING / echo["achieved_rate"] * 1e3
    allowed = 64 * s1_ms / s64_ms
    ratio = on["achieved_rate"] / off["achieved_rate"]
    window_ratio = window["achieved_rate"] / off["achieved_rate"]
    return {"off": off, "on": on, "window": window, "s1_ms": s1_ms,
            "s64_ms": s64_ms, "way_of_64_ms": way_ms, "allowed": allowed,
            "ratio": ratio, "share": ratio / allowed,
            "window_ratio": window_ratio,
            "window_share": window_ratio / allowed,
            "possible_share": s64_ms / (s64_ms + way_ms)}


def measure(options):
    result = measuring.describe(
        "A1", f"batching serves at least {LEAST_SHARE} of what the processor "
        "allows, 64 s(1)/s(64), times the requests of no batching (mlp, bf16, "
        f"1 thread, {OUTSTANDING} outstanding)", options.command)
    seconds = options.seconds or 5
    pairs = []
    for number in range(options.pairs):
        pairs.append(pair(options, seconds))
        measuring.say(
            f"pair {number + 1}: eager {pairs[-1]['ratio']:.2f}x, window "
            f"{pairs[-1]['window_ratio']:.2f}x of "
            f"{pairs[-1]['allowed']:.2f}x allowed")

    def median_of(key):
        return measuring.median(p[key] for p in pairs)

    share = max(median_of("share"), median_of("window_share"))
    result |= {
        "pairs": pairs,
        "ratio": median_of("ratio"),
        "window_ratio": median_of("window_ratio"),
        "allowed": median_of("allowed"),
        "share_of_allowed": median_of("share"),
        "window_share_of_allowed": median_of("window_share"),
        "possible_share": median_of("possible_share"),
        "window_ms": WINDOW_MS,
        "limit": LEAST_SHARE,
        "passed": share >= LEAST_SHARE if measuring.has_bf16() else None,
    }
    if result["passed"]:
        result["verdict"] = "holds under " + " and ".join(
            f"`{policy}`" for policy, key in (("eager", "share"),
                                              ("window", "window_share"))
            if median_of(key) >= LEAST_SHARE)
    page = (f"Median ratio {result['ratio']:.2f}x under `eager`, "
            f"{result['window_ratio']:.2f}x under `window` of {WINDOW_MS} ms; "
            f"the processor allows {result['allowed']:.2f}x. Shares "
            f"{result['share_of_allowed']:.3f} and "
            f"{result['window_share_of_allowed']:.3f} (at least {LEAST_SHARE}); "
            f"with full batches and the wire of grpc-echo "
            f"{result['possible_share']:.3f} would be possible.\n\n")
    page += measuring.table(
        ["pair", "off/s", "eager/s", "window/s", "eager x", "window x",
         "s(1) ms", "s(64) ms", "allowed", "eager share", "window share",
         "possible", "eager rows", "window rows", "eager busy", "window busy"],
        [[number + 1, f"{p['off']['achieved_rate']:.0f}",
          f"{p['on']['achieved_rate']:.0f}",
          f"{p['window']['achieved_rate']:.0f}", f"{p['ratio']:.2f}",
          f"{p['window_ratio']:.2f}", f"{p['s1_ms']:.3f}",
          f"{p['s64_ms']:.3f}", f"{p['allowed']:.2f}", f"{p['share']:.3f}",
          f"{p['window_share']:.3f}", f"{p['possible_share']:.3f}",
          f"{p['on']['mean_rows'] or 0:.1f}",
          f"{p['window']['mean_rows'] or 0:.1f}",
          f"{p['on']['busy_ratio'] or 0:.3f}",
          f"{p['window']['busy_ratio'] or 0:.3f}"]
         for number, p in enumerate(pairs)])
    return result, page
