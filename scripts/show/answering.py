"""G4: how late a queued request is answered that expires, or is cancelled, while
a batch runs that takes far longer (bench/micro/answer_benchmark.cc)."""

import json

import measuring

LIMIT_US = 1000
SECONDS = 0.5  # of each repetition, at least


def repetitions(options):
    """Returns what each repetition measured, by the benchmark's name."""
    text = measuring.run([
        options.programs.path("answer-benchmark"),
        f"--benchmark_repetitions={max(options.pairs, 5)}",
        f"--benchmark_min_time={options.seconds or SECONDS}",
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_format=json"])
    found = {}
    for run in json.loads(text)["benchmarks"]:
        if run["run_type"] == "iteration":
            found.setdefault(run["run_name"].split("/")[0], []).append(
                {"requests": run["iterations"], "mean_us": run["late_us"],
                 "p99_us": run["late_p99_us"], "max_us": run["late_max_us"]})
    return dict(sorted(found.items()))


def measure(options):
    result = measuring.describe(
        "G4", "a queued request that expires or is cancelled while a batch runs "
        f"is answered within {LIMIT_US / 1e3:.0f} ms: p99, median of the "
        "repetitions", options.command)
    found = repetitions(options)
    p99 = {name: measuring.median(run["p99_us"] for run in runs)
           for name, runs in found.items()}
    result |= {"repetitions": found, "p99_us": p99,
               "passed": max(p99.values()) <= LIMIT_US}
    page = ("The instance waits, as for a device, or computes, which takes a core "
            "from the threads that answer and wait. Microseconds from the deadline "
            "or the cancel until the waiting thread has the answer; mean and p99 "
            "are medians of the repetitions, the maximum is of all.\n\n")
    return result, page + measuring.table(
        ["what ends", "requests", "mean", "p99", "max"],
        [[name.replace("_", " "), sum(run["requests"] for run in runs),
          f"{measuring.median(run['mean_us'] for run in runs):.1f}",
          f"{p99[name]:.1f}", f"{max(run['max_us'] for run in runs):.1f}"]
         for name, runs in found.items()])
