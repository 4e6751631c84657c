"""MLPerf's LoadGen on a model of a running server, and ferry-bench's scenario
after it; see scripts/loadgen.sh."""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import tempfile

from tritonclient.utils import InferenceServerException

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import ours
import play
import system
from replaced_file import replace

VERSION = f"mlcommons-loadgen {importlib.metadata.version('mlcommons-loadgen')}"
BENCH = (pathlib.Path(__file__).resolve().parents[2] /
         "build/release/bin/ferry-bench")

HEADINGS = ("", "LoadGen", "ferry-bench", "ferry-bench / LoadGen")
# What both tell: its name, the key of LoadGen's result, in ns, and ours.
LATENCIES = (("mean", "result_mean_latency_ns", "mean_us"),
             ("p50", "result_50.00_percentile_latency_ns", "p50_us"),
             ("p90", "result_90.00_percentile_latency_ns", "p90_us"),
             ("p99", "result_99.00_percentile_latency_ns", "p99_us"))


def at_least(least, number=float):
    def read(text):
        value = number(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(
                f"expected {least} or more, got {text}")
        return value
    return read


def parse():
    parser = argparse.ArgumentParser(prog="scripts/loadgen.sh",
                                     description=__doc__)
    add = parser.add_argument
    add("--version", action="version", version=VERSION)
    add("-u", "--address", default="127.0.0.1:8001", help="server, host:port")
    add("-m", "--model", default="mlp")
    add("--scenario", choices=sorted(play.SCENARIOS), default="single-stream")
    add("--target-qps", type=at_least(1e-3), default=100,
        help="server: queries/s; offline: samples/s that are expected, which "
        "with the duration say how many there are")
    add("--latency-ms", type=at_least(1e-3), default=100,
        help="server: what p99 may be")
    add("--samples-per-query", type=at_least(1, int), default=8,
        help="multi-stream")
    add("--min-duration-secs", type=at_least(0.001), default=600,
        help="MLPerf's is 600")
    add("--min-queries", type=at_least(1, int), default=1,
        help="offline: samples")
    add("--samples", type=at_least(1, int), default=256,
        help="different ones, which LoadGen draws from")
    add("--outstanding", type=at_least(1, int), default=8,
        help="requests at a time of queries of many samples")
    add("--seed", type=at_least(0, int), default=1)
    add("--log-dir", help="for LoadGen's logs; else they are not kept")
    add("--json", help="file for all of it")
    add("--bench", default=str(BENCH), help="the program ferry-bench")
    add("--no-bench", action="store_true", help="LoadGen alone")
    return parser.parse_args()


def samples_per_s(results):
    """Returns the samples/s that LoadGen tells; of multi-stream it tells none:
    those of one query, by its mean latency."""
    for key in ("result_samples_per_second", "result_completed_samples_per_sec",
                "result_qps_without_loadgen_overhead"):
        if key in results:
            return results[key]
    return (results["generated_samples_per_query"] /
            results["result_mean_latency_ns"] * 1e9)


def compare(told, bench):
    """Returns what both tell: name, LoadGen's, ferry-bench's."""
    latency = bench["point"]["latency"]
    return ([("samples/s", samples_per_s(told["results"]),
              bench["samples_per_s"])] +
            [(f"{name} latency, ms", told["results"][key] / 1e6,
              latency[own_key] / 1e3) for name, key, own_key in LATENCIES] +
            [("client's processor, us a request", told["cpu_us"],
              bench["cpu_us"])])


def table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                  for i, (cell, width) in enumerate(zip(line, widths)))
        for line in lines)


def beside(told, bench):
    lines = [HEADINGS]
    for name, left, right in compare(told, bench):
        ratio = f"{right / left:.3f}" if left else "-"
        lines.append((name, f"{left:.4g}", f"{right:.4g}", ratio))
    lines.append(("verdict", "VALID" if told["is_valid"] else "INVALID",
                  bench["verdict"], ""))
    return table(lines)


def tell(options, told, bench):
    print(f"{VERSION}, {options.scenario}, {options.model} at "
          f"{options.address}\n\n{told['summary']}")
    print(f"LoadGen issued {told['queries']} queries of {told['samples']} "
          f"samples in {told['requests']} requests; the server counted "
          f"{told['server']['requests']} requests of "
          f"{told['server']['rows']} rows, {told['server']['failed']} failed")
    if bench:
        print(f"\n{beside(told, bench)}\n\n{ours.DIFFERENCES}")
    if told["failed"]:
        print(f"\n{told['failed']} requests failed, the first: "
              f"{told['failure']}", file=sys.stderr)


def main():
    options = parse()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.log_dir or scratch
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            model = system.Model(options.address, options.model,
                                 options.samples, options.seed)
            told = play.play(options, model, folder)
        bench = None if options.no_bench else ours.measure(options, told, model)
    except (system.Wrong, ours.Failure) as failure:
        print(f"loadgen: error: {failure}", file=sys.stderr)
        return 1
    except InferenceServerException as failure:
        print(f"loadgen: error: {options.model} at {options.address}: "
              f"{failure.message()}", file=sys.stderr)
        return 1
    tell(options, told, bench)
    if options.json:
        replace(options.json, json.dumps(
            {"version": VERSION, "options": vars(options), "loadgen": told,
             "bench": bench, "compared": compare(told, bench) if bench else []},
            indent=1))
    return 1 if told["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
