"""The closed form for `eager` on one instance, and the mean of a raw log.

For an uncapped batch, Poisson arrivals of rate lambda, and s(b) = alpha +
beta * b without jitter, the mean latency is at most, and in practice is

    phi1 = 3/2 * alpha / (1 - lambda * beta)
           + beta / 2 * (lambda * beta + 2) / (1 - (lambda * beta)^2)

(Y. Inoue, Queueing analysis of GPU-based inference servers with dynamic
batching, Performance Evaluation 147, 2021, in the notation of this project.)

An oracle: it reads what `ferry-bench simulate --log` wrote and shares no code
with it.

    python3 scripts/show/phi1.py LOG.csv ALPHA_MS BETA_MS LOAD
"""

import csv
import sys


def phi1(alpha, beta, load):
    """Returns the mean latency; `load` is lambda * beta."""
    return (1.5 * alpha / (1 - load) +
            beta / 2 * (load + 2) / (1 - load * load))


def mean_ms(path):
    """Returns the mean latency of the log's answered requests, in ms."""
    total, count = 0, 0
    with open(path, newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["code"] == "OK":
                total += int(line["end_ns"]) - int(line["arrival_ns"])
                count += 1
    return total / count / 1e6


if __name__ == "__main__":
    measured = mean_ms(sys.argv[1])
    expected = phi1(*map(float, sys.argv[2:5]))
    print(f"mean {measured:.4f} ms, phi1 {expected:.4f} ms, "
          f"ratio {measured / expected:.4f}")
