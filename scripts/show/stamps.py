"""Mean and percentiles of what `ferry-bench run --log` wrote, counted from the
stamps themselves.

An oracle: it shares no code with the bench tool.

    python3 scripts/show/stamps.py LOG.csv
"""

import csv
import math
import sys

QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p95_us": 0.95, "p99_us": 0.99,
             "p999_us": 0.999, "p9999_us": 0.9999}


def count(path):
    """Returns by point the latencies of successes from the planned send, in us:
    the mean, the percentiles and the maximum."""
    latencies = {}
    with open(path, newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["code"] == "OK":
                took = int(line["ended_ns"]) - int(line["planned_ns"])
                latencies.setdefault(int(line["point"]), []).append(took / 1e3)
    counted = []
    for point in sorted(latencies):
        values = sorted(latencies[point])
        counted.append(
            {name: values[max(math.ceil(q * len(values)), 1) - 1]
             for name, q in QUANTILES.items()} |
            {"mean_us": math.fsum(values) / len(values),
             "max_us": values[-1]})
    return counted


if __name__ == "__main__":
    for counts in count(sys.argv[1]):
        print(", ".join(f"{name} {value:.1f}" for name, value in counts.items()))
