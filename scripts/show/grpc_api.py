"""grpc-api: completion queues against the callback API, by an echo."""

import measuring

APIS = ("queues", "callback")


def one_api(options, api, seconds):
    """Returns what an echo on that API does at 64 and at 1 outstanding."""
    with measuring.echo(options.programs, "--api", api) as child:
        before = measuring.cpu_seconds(child.pid)
        busy = measuring.closed_loop(options.programs, 64, seconds,
                                     metrics=False)
        used = measuring.cpu_seconds(child.pid) - before
        alone = measuring.closed_loop(options.programs, 1, seconds,
                                      metrics=False)
    # The client's 2 s of warm-up cost the server as much as its window.
    calls = busy["achieved_rate"] * (seconds + 2)
    return {"rate": busy["achieved_rate"],
            "p50_us": busy["latency"]["p50_us"],
            "p99_us": busy["latency"]["p99_us"],
            "cpu_us_per_call": used * 1e6 / calls,
            "alone_p50_us": alone["latency"]["p50_us"],
            "alone_p99_us": alone["latency"]["p99_us"]}


def measure(options):
    result = measuring.describe(
        "grpc-api", "completion queues beside the callback API (an echo of "
        "the mlp's bytes, 64 outstanding)", options.command)
    seconds = options.seconds or 3
    pairs = []
    for number in range(options.pairs):
        order = APIS if number % 2 == 0 else APIS[::-1]
        pair = {api: one_api(options, api, seconds) for api in order}
        pair["ratio"] = pair["queues"]["rate"] / pair["callback"]["rate"]
        pairs.append(pair)
        measuring.say(f"pair {number + 1}: {pair['ratio']:.3f}")
    ratio = measuring.median(pair["ratio"] for pair in pairs)
    result |= {"pairs": pairs, "ratio": ratio, "passed": None,
               "verdict": "a comparison; nothing is claimed"}
    keys = ("rate", "p50_us", "p99_us", "cpu_us_per_call", "alone_p50_us",
            "alone_p99_us")
    page = f"Median ratio of rates {ratio:.3f}. Medians:\n\n"
    page += measuring.table(
        ["API", "calls/s", "p50 us", "p99 us", "server CPU us a call",
         "p50 us at 1", "p99 us at 1"],
        [[api, *[f"{measuring.median(p[api][key] for p in pairs):.1f}"
                 for key in keys]] for api in APIS])
    page += "\nEvery pair:\n\n"
    page += measuring.table(
        ["pair", "queues/s", "callback/s", "ratio", "queues CPU us",
         "callback CPU us"],
        [[number + 1, f"{p['queues']['rate']:.0f}",
          f"{p['callback']['rate']:.0f}", f"{p['ratio']:.3f}",
          f"{p['queues']['cpu_us_per_call']:.1f}",
          f"{p['callback']['cpu_us_per_call']:.1f}"]
         for number, p in enumerate(pairs)])
    return result, page
