"""Runs the fuzz targets of a build: many executions, the kept corpus alone,
and the corpus reduced. Also what scripts/fuzz.sh starts; see there.

Errors: measuring.Failure for what could not be run; a crash that a fuzzer
found is a result.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import measuring

TARGETS = ("codec", "config", "files", "clients", "http", "http2", "regions",
           "scheduler")
CORPUS = measuring.ROOT / "tests/fuzz/corpus"
BUILD = measuring.ROOT / "build/fuzz"
RUNS = 1_000_000
MAX_INPUT_BYTES = 4096
MAX_INPUT_SECONDS = 60  # what takes longer hangs

# A short stack is kept of each allocation, and freed memory not for long: more
# executions in the same time.
ENVIRONMENT = {
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "ASAN_OPTIONS": "malloc_context_size=3:quarantine_size_mb=16",
}
SYMBOLIZER = pathlib.Path("/usr/bin/llvm-symbolizer-14")


@dataclasses.dataclass
class Run:
    """What one or several processes did together."""

    executions: int
    seconds: float
    crash: str  # the end of the first one's output; empty: none crashed
    command: str


def environment():
    known = dict(os.environ) | ENVIRONMENT
    if SYMBOLIZER.exists():
        known["ASAN_SYMBOLIZER_PATH"] = str(SYMBOLIZER)
    return known


def fuzz(target, runs, jobs, build=BUILD, found=None):
    """Fuzzes from the kept corpus; new inputs go to the folder `found`."""
    found = found or build / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    program = build / "bin" / f"{target}_fuzzer"
    if not program.exists():
        raise measuring.Failure(f"{program} does not exist; scripts/build.sh "
                                "fuzz builds it")
    command = ["nice", "-n", "10", str(program), f"-runs={-(-runs // jobs)}",
               f"-max_len={MAX_INPUT_BYTES}", f"-timeout={MAX_INPUT_SECONDS}",
               f"-dict={CORPUS / target}.dict",
               f"-artifact_prefix={found.parent / target}-",
               "-print_final_stats=1", str(found),
               str(build / "corpus" / target)]
    started = time.monotonic()
    logs = [found.parent / f"{target}-{job}.log" for job in range(jobs)]
    children = []
    for job, log in enumerate(logs):
        with open(log, "wb") as stream:
            children.append(subprocess.Popen(
                [*command, f"-seed={job + 1}"], stdout=stream, stderr=stream,
                env=environment()))
    executions, crash = 0, ""
    for child, log in zip(children, logs):
        status = child.wait()
        text = log.read_text(errors="replace")
        counts = re.findall(r"stat::number_of_executed_units:\s+(\d+)", text)
        executions += int(counts[-1]) if counts else 0
        if status != 0:
            crash = crash or text[-6000:]
    shown = " ".join(command[3:]).replace(str(found.parent), "build/fuzz/found")
    shown = shown.replace(f"{measuring.ROOT}/", "")
    return Run(executions, time.monotonic() - started, crash, shown)


def keep(target, build=BUILD):
    """Reduces what was found and what is kept to what adds coverage."""
    reduced = build / "found" / f"{target}-reduced"
    shutil.rmtree(reduced, ignore_errors=True)
    reduced.mkdir(parents=True)
    subprocess.run(
        [build / "bin" / f"{target}_fuzzer", "-merge=1",
         f"-max_len={MAX_INPUT_BYTES}", reduced, build / "corpus" / target,
         build / "found" / target],
        check=True, capture_output=True, env=environment())
    subprocess.run(
        [sys.executable, measuring.ROOT / "tests/fuzz/corpus.py", "pack",
         CORPUS / target, reduced], check=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/fuzz.sh")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    result = fuzz(options.target, options.runs, options.jobs)
    print(f"{result.executions} executions in {result.seconds:.0f} s, "
          f"{'a crash' if result.crash else 'no crash'}")
    if result.crash:
        print(result.crash)
        return 1
    if options.keep:
        keep(options.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
