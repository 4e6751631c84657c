"""A3: one request at a time: what the server adds to wire and model."""

import measuring

WINDOW_MS = 5
EAGER_LIMIT_US = 60
WINDOW_LIMIT_US = 150


def one_outstanding(options, seconds):
    point = measuring.closed_loop(options.programs, 1, seconds, metrics=False)
    return point["latency"]["p50_us"]


def pair(options, seconds):
    programs = options.programs
    with measuring.echo(programs):
        echo_us = one_outstanding(options, seconds)
    forward_us = measuring.forward(programs, [1], seconds)[1]["total_ms"] * 1e3
    with measuring.server(programs, "--policy", "eager"):
        eager_us = one_outstanding(options, seconds)
    with measuring.server(programs, "--policy", "window", "--max-wait-ms",
                          WINDOW_MS):
        window_us = one_outstanding(options, seconds)
    floor_us = echo_us + forward_us
    return {"echo_p50_us": echo_us, "forward_p50_us": forward_us,
            "eager_p50_us": eager_us, "window_p50_us": window_us,
            "eager_adds_us": eager_us - floor_us,
            "window_adds_us": window_us - floor_us - WINDOW_MS * 1e3,
            "ratio": eager_us / floor_us}


def measure(options):
    result = measuring.describe(
        "A3", f"one outstanding: p50 <= echo p50 + forward at b = 1 + "
        f"{EAGER_LIMIT_US} us under eager; that plus the window, within "
        f"{WINDOW_LIMIT_US} us, under window (mlp, bf16)", options.command)
    seconds = options.seconds or 4
    pairs = []
    for number in range(options.pairs):
        pairs.append(pair(options, seconds))
        measuring.say(f"pair {number + 1}: eager adds "
                      f"{pairs[-1]['eager_adds_us']:.0f} us, window "
                      f"{pairs[-1]['window_adds_us']:.0f} us")
    eager = measuring.median(p["eager_adds_us"] for p in pairs)
    window = measuring.median(p["window_adds_us"] for p in pairs)
    holds = eager <= EAGER_LIMIT_US and abs(window) <= WINDOW_LIMIT_US
    result |= {"pairs": pairs, "eager_adds_us": eager,
               "window_adds_us": window, "window_ms": WINDOW_MS,
               "ratio": measuring.median(p["ratio"] for p in pairs),
               "limits_us": [EAGER_LIMIT_US, WINDOW_LIMIT_US],
               "passed": holds if measuring.has_bf16() else None}
    page = (f"Median: eager adds {eager:.0f} us to echo + forward (at most "
            f"{EAGER_LIMIT_US}); window adds {window:.0f} us beyond its "
            f"{WINDOW_MS} ms (within {WINDOW_LIMIT_US}).\n\n")
    page += measuring.table(
        ["pair", "echo p50 us", "forward us", "eager p50 us", "adds us",
         "window p50 us", "adds us"],
        [[number + 1, f"{p['echo_p50_us']:.0f}", f"{p['forward_p50_us']:.0f}",
          f"{p['eager_p50_us']:.0f}", f"{p['eager_adds_us']:.0f}",
          f"{p['window_p50_us']:.0f}", f"{p['window_adds_us']:.0f}"]
         for number, p in enumerate(pairs)])
    return result, page
