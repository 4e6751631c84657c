"""sends: how many planned requests a second ferry-bench itself can send.

The target is in its own process and ends each call at once (`ferry-bench local
--target null`), so what is measured is the plan, the clock and the counting. The claim
is of the rate; a run in which the client was late is void, and the verdict says how
many of the runs stand.
"""

import measuring

LEAST_RATE = 1_000_000
PLANNED = 1_050_000  # a Poisson plan of some seconds is not its mean exactly
BEYOND = 10_000_000  # more than it can: the rate that comes out is its most
RUNS = 5
SECONDS = 3


def send(programs, rate, seconds):
    """Returns one run of Poisson arrivals at that rate."""
    told = programs.json_of(
        "ferry-bench", "local", "--target", "null", "--rates", rate,
        "--warm-up-secs", 0.5, "--duration-secs", seconds)
    point = told["runs"][0]["points"][0]
    return {"offered": point["offered_rate"], "rate": point["achieved_rate"],
            "failed": sum(point["errors"].values()),
            "lag_p50_us": point["send_lag"]["p50_us"],
            "lag_p99_us": point["send_lag"]["p99_us"],
            "void": point["void_reason"]}


def row(planned, runs):
    def of(key):
        return measuring.median(each[key] for each in runs)
    return [f"{planned:,}", f"{of('rate'):,.0f}",
            f"{min(each['rate'] for each in runs):,.0f}",
            f"{of('lag_p50_us'):.1f}", f"{of('lag_p99_us'):.1f}",
            measuring.standing([each["void"] for each in runs])]


def measure(options):
    result = measuring.describe(
        "sends", "ferry-bench sends 1,000,000 planned requests a second into a target "
        "in its own process", options.command)
    seconds = options.seconds or SECONDS
    planned = {rate: [] for rate in (PLANNED, BEYOND)}
    for _ in range(max(options.pairs, RUNS)):
        for rate, runs in planned.items():
            runs.append(send(options.programs, rate, seconds))
    in_time = planned[PLANNED]
    median = measuring.median(each["rate"] for each in in_time)
    stand = measuring.standing([each["void"] for each in in_time])
    passed = median >= LEAST_RATE
    result |= {"runs": planned, "rate": median, "stand": stand, "passed": passed,
               "verdict": f"{'holds' if passed else 'does not hold'} by the rate; "
                          f"{stand} runs were in time"}
    return result, (
        f"Poisson arrivals, {len(in_time)} runs of {seconds:g} s each, one sending "
        "thread; medians, and how many runs stand: in the others the client was late. "
        f"At {BEYOND:,}/s it is meant to be: what it sends then is the most it can.\n\n" +
        measuring.table(["planned/s", "sent/s", "least", "lag p50 us", "lag p99 us",
                         "stand"],
                        [row(rate, runs) for rate, runs in planned.items()]))
