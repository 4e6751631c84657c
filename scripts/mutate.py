#!/usr/bin/env python3
"""mutate.py plants one mistake at a time in a copy of the batcher and reports
which of its tests finds it.

  scripts/mutate.py [--only PATTERN] [--list] [--work DIR]

The mistakes stand in tests/batcher/mutations.py. Each is planted in a copy of
the sources under DIR (build/mutants), the batcher's tests are built there, and
run one after the other until one fails, aborts or takes longer than two minutes.
A mistake that does not compile is an error of the list. Exits 1 where a mistake
is not found. Some 25 minutes on two cores.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "batcher"))
sys.dont_write_bytecode = True
from mutations import MUTATIONS  # noqa: E402

# Those that find most come first.
TESTS = ["scheduler_test", "instance_test", "batch_test", "admission_test",
         "request_test", "batch_planner_test", "simulation_test",
         "device_share_test", "allocation_test", "storm_stress_test",
         "stopped_producers_stress_test", "wake_up_stress_test"]
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "base", "tensor",
          "batcher", "flags", "proto", "models", "tests", "bench", "deploy",
          "server"]
SECONDS = 120


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **kwargs)


def copy_sources(work):
    work.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.rmtree(work / name, ignore_errors=True)
            # With new times: what was built with a mistake is built anew.
            shutil.copytree(source, work / name, copy_function=shutil.copy)
        else:
            shutil.copy(source, work / name)


def configure(work):
    done = run(["cmake", "-S", work, "-B", work / "build", "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",
                "-DFERRY_BUILD_MODELS=OFF", "-DFERRY_BUILD_SERVER=OFF",
                "-DFERRY_BUILD_BENCH=OFF"])
    if done.returncode != 0:
        sys.exit(f"the copy cannot be configured:\n{done.stdout[-2000:]}")


def build(work):
    return run(["cmake", "--build", work / "build", "-j2", "--target", *TESTS])


def finder(work):
    """Returns the test that fails, and how, or None where all pass."""
    for test in TESTS:
        try:
            done = run([work / "build" / "tests" / test, "--gtest_fail_fast",
                        "--gtest_brief=1"], timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return test, f"did not end in {SECONDS} s"
        if done.returncode != 0:
            failed = [line for line in done.stdout.splitlines()
                      if line.startswith("[  FAILED  ]")]
            return test, failed[0][13:].split(" ")[0].strip(",") if failed else "aborts"
    return None


def text_of(root, mutation):
    """Returns the text of the mutation's file, in which it can be planted."""
    text = (root / mutation.path).read_text()
    count = text.count(mutation.old)
    if count != 1:
        sys.exit(f"{mutation.path}: expected this text once, found it {count} times; "
                 f"mend tests/batcher/mutations.py:\n{mutation.old}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", help="those whose description this pattern finds")
    parser.add_argument("--list", action="store_true", help="list them and check their texts")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutants")
    args = parser.parse_args()
    chosen = [m for m in MUTATIONS if re.search(args.only, m.what)]
    if args.list:
        for mutation in chosen:
            text_of(ROOT, mutation)
            print(f"{mutation.path}: {mutation.what}")
        return 0
    copy_sources(args.work)
    configure(args.work)
    done = build(args.work)
    if done.returncode != 0 or (found := finder(args.work)) is not None:
        sys.exit("the tests have to pass before a mistake is planted:\n"
                 f"{done.stdout[-2000:] if done.returncode != 0 else found}")
    survivors = []
    print("| mistake | found by |\n| --- | --- |")
    for mutation in chosen:
        text = text_of(args.work, mutation)
        path = args.work / mutation.path
        path.write_text(text.replace(mutation.old, mutation.new))
        done = build(args.work)
        if done.returncode != 0:
            sys.exit(f"{mutation.what}: does not compile:\n{done.stdout[-2000:]}")
        found = finder(args.work)
        path.write_text(text)
        if found is None:
            survivors.append(mutation)
        print(f"| {mutation.path}: {mutation.what} | "
              f"{'**none**' if found is None else ': '.join(found)} |", flush=True)
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
