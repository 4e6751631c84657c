"""A1: batching on against off, and against what the processor allows.

A closed loop of 64 holds 64 requests, so batches of 64 come one after the other
with the whole way of 64 replies and requests between them. How long that takes
at least is what grpc-echo needs for 64 answers; s(64) over s(64) + that is the
share of what the processor allows that any server can reach here.

All servers stay up, and their turns are short and many: on a machine that
others share, what a core gives changes by half within seconds.
"""

import contextlib

import measuring

OUTSTANDING = 64
LEAST_SHARE = 0.75
LEAST_PAIRS = 15
WINDOW_MS = 8

SERVERS = {"off": ["--max-batch-size", 1],
           "eager": ["--policy", "eager"],
           "window": ["--policy", "window", "--max-wait-ms", WINDOW_MS],
           "adaptive": ["--policy", "adaptive"]}
POLICIES = [name for name in SERVERS if name != "off"]
ECHO_NUMBER = len(SERVERS)


def forward(options, seconds):
    batches = measuring.forward(options.programs, [1, 64], seconds)
    return {"s1_ms": batches[1]["total_ms"], "s64_ms": batches[64]["total_ms"]}


def turns(options, seconds, first):
    """Returns each server's turn, beginning with that one, and the way of 64
    replies."""
    names = list(SERVERS)
    result = {}
    for i in range(len(names)):
        number = (first + i) % len(names)
        result[names[number]] = measuring.closed_loop(
            options.programs, OUTSTANDING, seconds, warm_up=0.3, number=number)
    echo = measuring.closed_loop(options.programs, OUTSTANDING, seconds,
                                 metrics=False, warm_up=0.3,
                                 number=ECHO_NUMBER)
    result["way_of_64_ms"] = OUTSTANDING / echo["achieved_rate"] * 1e3
    return result


def compare(p, before, after):
    """Adds to a pair what follows from it and the looks around it."""
    for key in before:
        p[key] = (before[key] + after[key]) / 2
    p["allowed"] = 64 * p["s1_ms"] / p["s64_ms"]
    p["possible_share"] = p["s64_ms"] / (p["s64_ms"] + p["way_of_64_ms"])
    p["ratios"] = {name: p[name]["achieved_rate"] / p["off"]["achieved_rate"]
                   for name in POLICIES}
    p["shares"] = {name: ratio / p["allowed"]
                   for name, ratio in p["ratios"].items()}


def measure_pairs(options, seconds):
    pairs = []
    with contextlib.ExitStack() as running:
        for number, (name, flags) in enumerate(SERVERS.items()):
            if name != "off":
                flags = [*flags, "--max-batch-size", 64]
            running.enter_context(measuring.server(
                options.programs, *flags, number=number))
        running.enter_context(measuring.echo(options.programs,
                                             number=ECHO_NUMBER))
        before = forward(options, seconds / 2)
        for number in range(max(options.pairs, LEAST_PAIRS)):
            p = turns(options, seconds, number)
            after = forward(options, seconds / 2)
            compare(p, before, after)
            pairs.append(p)
            before = after
            measuring.say(f"pair {number + 1}: of {p['allowed']:.2f}x allowed " +
                          ", ".join(f"{name} {p['shares'][name]:.3f}"
                                    for name in POLICIES))
    return pairs


def measure(options):
    result = measuring.describe(
        "A1", f"batching serves at least {LEAST_SHARE} of what the processor "
        "allows, 64 s(1)/s(64), times the requests of no batching (mlp, bf16, "
        f"1 thread, {OUTSTANDING} outstanding)", options.command)
    pairs = measure_pairs(options, options.seconds or 1)

    def median_of(key):
        return {name: measuring.median(p[key][name] for p in pairs)
                for name in POLICIES}

    ratios, shares = median_of("ratios"), median_of("shares")
    allowed = measuring.median(p["allowed"] for p in pairs)
    possible = measuring.median(p["possible_share"] for p in pairs)
    best = max(shares, key=shares.get)
    result |= {
        "pairs": pairs, "ratios": ratios, "ratio": ratios[best],
        "shares_of_allowed": shares, "allowed": allowed,
        "possible_share": possible, "window_ms": WINDOW_MS,
        "limit": LEAST_SHARE,
        "passed": shares[best] >= LEAST_SHARE if measuring.has_bf16()
                  else None,
    }
    if result["passed"]:
        result["verdict"] = "holds under " + " and ".join(
            f"`{name}`" for name in POLICIES if shares[name] >= LEAST_SHARE)
    page = ("Median ratios: " +
            ", ".join(f"{ratios[name]:.2f}x under `{name}` (share "
                      f"{shares[name]:.3f})" for name in POLICIES) +
            f"; `window` waits {WINDOW_MS} ms. The processor allows "
            f"{allowed:.2f}x, of which at least {LEAST_SHARE} is asked; with "
            f"full batches and the wire of grpc-echo {possible:.3f} would be "
            "possible.\n\n")
    page += measuring.table(
        ["pair", "s(1) ms", "s(64) ms", "allowed", "possible", "off/s"] +
        [f"{name} {what}" for name in POLICIES
         for what in ("/s", "share", "rows", "busy")],
        [[number + 1, f"{p['s1_ms']:.3f}", f"{p['s64_ms']:.3f}",
          f"{p['allowed']:.2f}", f"{p['possible_share']:.3f}",
          f"{p['off']['achieved_rate']:.0f}"] +
         [text for name in POLICIES for text in (
             f"{p[name]['achieved_rate']:.0f}", f"{p['shares'][name]:.3f}",
             f"{p[name]['mean_rows'] or 0:.1f}",
             f"{p[name]['busy_ratio'] or 0:.3f}")]
         for number, p in enumerate(pairs)])
    return result, page
