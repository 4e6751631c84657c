"""The same scenario by ferry-bench."""

import json
import os
import resource
import subprocess
import tempfile

WARM_UP_S = 0.2
MISSED = 2  # exit code of --fail-if
TOO_FEW = "cannot be told"  # what it says then of too few requests

DIFFERENCES = """\
Both send to the same server. What differs:
- LoadGen's client here is Triton's in Python. Its own time for a request, the
  line "client's processor", is in every latency and takes cores from a server
  on the same machine; ferry-bench's counts its start-up too.
- ferry-bench's server and offline count from the plan of its own seed; LoadGen
  draws other arrivals.
- LoadGen is INVALID also where it ran for too short a time, or sent too few
  queries to be sure of its percentile; ferry-bench judges p99 as measured."""


class Failure(Exception):
    """ferry-bench could not measure, and why."""


def scenario_of(options, told):
    """Returns the text for ferry-bench's --scenario."""
    return {"single-stream": "single-stream",
            "multi-stream": f"multi-stream:{options.samples_per_query}",
            "server": f"server:{options.target_qps}",
            "offline": f"offline:{told['samples']},"
                       f"{min(told['most_rows'], told['samples'])},"
                       f"{options.outstanding}"}[options.scenario]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(options, told, model):
    """Returns ferry-bench's point, its rate in samples and its verdict."""
    told = told | {"most_rows": model.most_rows}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        command = [options.bench, "run", "-u", options.address, "-m",
                   options.model, "--scenario", scenario_of(options, told),
                   "--duration-secs", str(options.min_duration_secs),
                   "--warm-up-secs", str(WARM_UP_S), "--seed",
                   str(options.seed), "--json", path]
        if options.scenario == "server":
            command += ["--fail-if", f"p99>{options.latency_ms}ms"]
        used = processor_seconds()
        try:
            done = subprocess.run(command, text=True, capture_output=True,
                                  check=False)
        except OSError as error:
            raise Failure(f"{options.bench}: {error}; scripts/build.sh release "
                          "ferry-bench builds it, --no-bench goes without") \
                from error
        used = processor_seconds() - used
        if done.returncode not in (0, MISSED):
            raise Failure(f"{' '.join(command)} exited {done.returncode}: "
                          f"{done.stderr.strip()[-2000:]}")
        with open(path, encoding="utf-8") as stream:
            run = json.load(stream)["runs"][0]
    point = run["points"][0]
    rate = point["rows_rate"]
    if rate is None:
        rate = point["achieved_rate"] * run["rows_per_request"]
    return {"command": command, "point": point, "samples_per_s": rate,
            "cpu_us": used / max(point["planned"], 1) * 1e6,
            "verdict": verdict(options, done, point)}


def verdict(options, done, point):
    if point["void_reason"]:
        return "void"
    if options.scenario != "server":
        return "stands"
    if TOO_FEW in done.stderr:
        return "p99 cannot be told from so few requests"
    return "p99 missed" if done.returncode == MISSED else "p99 kept"
