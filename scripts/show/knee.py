"""The highest Poisson rate at which p99 keeps a bound, of an ideal eager batcher
on one device of s(b) = alpha + beta * b.

An oracle: event by event, it shares no code with the batcher or the bench tool.

    python3 scripts/show/knee.py ALPHA_MS BETA_MS MAX_BATCH BOUND_MS
"""

import bisect
import random
import sys

PRECISION = 0.002


def latencies_ms(service_ms, max_batch, rate, requests, seed):
    """Returns the latencies of an ideal eager batcher on one device at Poisson
    arrivals of that rate, in their order; `service_ms` gives the time of a batch of
    so many rows that begins then, in ms."""
    randomness = random.Random(seed)
    now, arrivals = 0.0, []
    for _ in range(requests):
        now += randomness.expovariate(rate) * 1e3
        arrivals.append(now)
    first, free, latencies = 0, 0.0, []
    while first < requests:
        begin = max(free, arrivals[first])
        last = bisect.bisect_right(arrivals, begin, first,
                                   min(first + max_batch, requests))
        free = begin + service_ms(last - first, begin)
        latencies += [free - arrival for arrival in arrivals[first:last]]
        first = last
    return latencies


def p99_ms(alpha, beta, max_batch, rate, requests=300_000, seed=5):
    """Returns p99 of the latency at that rate, in ms."""
    latencies = latencies_ms(lambda rows, _: alpha + beta * rows, max_batch,
                             rate, requests, seed)
    return sorted(latencies)[int(0.99 * requests)]


def knee(alpha, beta, max_batch, bound):
    """Returns that rate, in requests/s."""
    low, high = 0.0, max_batch / (alpha + beta * max_batch) * 1e3
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        if p99_ms(alpha, beta, max_batch, middle) <= bound:
            low = middle
        else:
            high = middle
    return low


if __name__ == "__main__":
    print(f"{knee(*map(float, sys.argv[1:3]), int(sys.argv[3]), float(sys.argv[4])):.1f}/s")
