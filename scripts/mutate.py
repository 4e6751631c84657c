#!/usr/bin/env python3
"""mutate.py plants one mistake at a time in a copy of the sources and reports
which test finds it.

  scripts/mutate.py [batcher|device] [--only PATTERN] [--list] [--work DIR]

The mistakes stand in tests/batcher/mutations.py and tests/cuda_fake/mutations.py.
Each is planted in a copy under DIR (build/mutants), what it is in is built there,
and tests run. For the batcher, its tests one after the other until one fails,
aborts or takes longer than two minutes: some 25 minutes on two cores. For the
device, two tiers: the tests in which the host plays the device, and the server on
a CUDA without one (tests/cuda_fake): some two minutes a mistake, and a build
before. Exits 1 where a mistake is not found, or does not compile, which is an
error of the list.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
SECONDS = 120
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "base", "tensor",
          "batcher", "flags", "proto", "models", "tests", "bench", "deploy",
          "server"]


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **kwargs)


def copy(work, names):
    """Only what differs, as what was left with a mistake: the rest is built."""
    for name in names:
        source = ROOT / name
        files = [source] if source.is_file() else [
            path for path in source.rglob("*") if path.is_file()]
        known = {path.relative_to(ROOT) for path in files}
        for path in known:
            to = work / path
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != (ROOT / path).read_bytes():
                shutil.copy(ROOT / path, to)
        for path in list((work / name).rglob("*")):
            if path.is_file() and path.relative_to(work) not in known:
                path.unlink()


def failed_of(test):
    """Runs a test of GoogleTest; returns what failed first, or None."""
    try:
        done = run([test, "--gtest_fail_fast", "--gtest_brief=1"], timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{test.name}: did not end in {SECONDS} s"
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines()
              if line.startswith("[  FAILED  ]")]
    return (f"{test.name}: " +
            (failed[0][13:].split(" ")[0].strip(",") if failed else "aborts"))


class Batcher:
    LIST = "tests/batcher/mutations.py"
    COLUMNS = ["found by"]
    # Those that find most come first.
    TESTS = ["scheduler_test", "instance_test", "batch_test", "admission_test",
             "request_test", "batch_planner_test", "simulation_test",
             "device_share_test", "allocation_test", "storm_stress_test",
             "stopped_producers_stress_test", "wake_up_stress_test"]

    def __init__(self, work):
        self.work = work

    def prepare(self):
        copy(self.work, COPIED)
        done = run(["cmake", "-S", self.work, "-B", self.work / "build", "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release",
                    "-DFERRY_BUILD_MODELS=OFF", "-DFERRY_BUILD_SERVER=OFF",
                    "-DFERRY_BUILD_BENCH=OFF"])
        if done.returncode != 0:
            sys.exit(f"the copy cannot be configured:\n{done.stdout[-2000:]}")

    def build(self):
        return run(["cmake", "--build", self.work / "build", "-j2", "--target",
                    *self.TESTS])

    def find(self):
        """Returns for each column the test that failed, and how, or None."""
        for test in self.TESTS:
            if failed := failed_of(self.work / "build" / "tests" / test):
                return [failed]
        return [None]


class Device:
    LIST = "tests/cuda_fake/mutations.py"
    COLUMNS = ["found on the host", "found on the CUDA without a device"]
    HOST = ["device_model_test", "instance_test", "sim_test"]
    FAKE = "cuda_fake_(serving|memory|graphs|ending)"
    STEPS = (["release", "ferry-server", "write_scripts", *HOST],
             ["cuda", "ferry_cuda", "ferry_cuda_fake"])

    def __init__(self, work):
        self.work = work

    def prepare(self):
        copy(self.work, [*COPIED, "examples", "scripts", "requirements"])
        for name in (".venv", ".tools"):
            if not (self.work / name).exists():
                (self.work / name).symlink_to(ROOT / name)

    def build(self):
        for preset, *targets in self.STEPS:
            if (self.work / "build" / preset / "build.ninja").exists():
                command = ["cmake", "--build", f"build/{preset}", "-j2", "--target"]
            else:
                command = ["bash", "scripts/build.sh", preset]
            done = run([*command, *targets], cwd=self.work,
                       env=os.environ | {"FERRY_CUDA_ARCHS": "90"})
            if done.returncode != 0:
                break
        return done

    def find(self):
        on_host = (failed_of(self.work / "build/release/tests" / test)
                   for test in self.HOST)
        return [next((failed for failed in on_host if failed), None), self.on_fake()]

    def on_fake(self):
        """Returns the test that failed first, twice in a row: one may be slow."""
        failed = None
        for pattern in (self.FAKE, None):
            done = run(["ctest", "--test-dir", self.work / "build/cuda",
                        "-j4", "--output-on-failure", "--stop-on-failure",
                        "--no-tests=error",
                        *(["-R", pattern] if pattern else ["--rerun-failed"])])
            if "(Skipped)" in done.stdout:
                sys.exit(f"tests on the CUDA without a device are skipped:\n{done.stdout}")
            if done.returncode == 0:
                return None
            named = re.search(r"^(?:FAIL|ERROR): (\w+)", done.stdout, re.MULTILINE)
            failed = failed or (named.group(1) if named else "does not end")
        return failed


def mutations(path):
    sys.path.insert(0, str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("mutations", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTATIONS


def text_of(root, mutation, listed):
    """Returns the text of the mutation's file, in which it can be planted."""
    text = (root / mutation.path).read_text()
    count = text.count(mutation.old)
    if count != 1:
        sys.exit(f"{mutation.path}: expected this text once, found it {count} times; "
                 f"mend {listed}:\n{mutation.old}")
    return text


def plant(part, chosen):
    """Plants one after the other; returns how many no test finds."""
    part.prepare()
    done = part.build()
    if done.returncode != 0 or any(found := part.find()):
        sys.exit("the tests have to pass before a mistake is planted:\n"
                 f"{done.stdout[-2000:] if done.returncode != 0 else found}")
    survivors = 0
    print("| mistake | " + " | ".join(part.COLUMNS) + " |\n| --- |" +
          " --- |" * len(part.COLUMNS), flush=True)
    for mutation in chosen:
        text = text_of(part.work, mutation, part.LIST)
        path = part.work / mutation.path
        path.write_text(text.replace(mutation.old, mutation.new))
        done = part.build()
        if done.returncode == 0:
            found = part.find()
        else:
            print(done.stdout[-2000:], file=sys.stderr)
            found = ["**does not compile: mend the list**"]
        path.write_text(text)
        survivors += done.returncode != 0 or not any(found)
        print(f"| {mutation.path}: {mutation.what} | " +
              " | ".join(one or "**none**" for one in found) + " |", flush=True)
    return survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("part", nargs="?", choices=["batcher", "device"], default="batcher")
    parser.add_argument("--only", default="", help="those whose description this pattern finds")
    parser.add_argument("--list", action="store_true", help="list them and check their texts")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutants")
    args = parser.parse_args()
    part = {"batcher": Batcher, "device": Device}[args.part](args.work.resolve())
    chosen = [m for m in mutations(part.LIST) if re.search(args.only, m.what)]
    if args.list:
        for mutation in chosen:
            text_of(ROOT, mutation, part.LIST)
            print(f"{mutation.path}: {mutation.what}")
        return 0
    survivors = plant(part, chosen)
    print(f"\n{len(chosen) - survivors} of {len(chosen)} found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
