#!/usr/bin/env python3
"""Checks the lock annotations: GCC ignores them, Clang does not.

  thread_safety_test.py --source ROOT --build BUILD

Runs Clang's -Wthread-safety, as errors, over every source of the build that
carries annotations, or whose header does. Nothing is linked. Exits 77
(skipped) where there is no clang++-14, 1 if a source does not pass.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

CLANG = "clang++-14"
ANNOTATION = re.compile(r"\bABSL_(GUARDED_BY|PT_GUARDED_BY|LOCKS_EXCLUDED|"
                        r"EXCLUSIVE_LOCKS_REQUIRED|SCOPED_LOCKABLE)\b")
KEPT = ("-I", "-isystem", "-D", "-std=")
# To check one takes as long as to compile LibTorch's headers.
LEFT_OUT = ("models/torch/", "models/cuda/")


def is_annotated(path):
    return path.is_file() and bool(
        ANNOTATION.search(path.read_text(encoding="utf-8")))


def arguments(entry):
    """Returns the flags of a compile command that say what the source means."""
    words = shlex.split(entry["command"])
    kept = []
    for word, after in zip(words, words[1:] + [""]):
        if word in ("-isystem", "-I"):
            kept += [word, after]
        elif word.startswith(KEPT):
            kept.append(word)
    return kept


def check(source, entry):
    """Returns what Clang says of the source; nothing where it passes."""
    done = subprocess.run(
        [CLANG, "-fsyntax-only", "-Wno-everything", "-Wthread-safety",
         "-Werror", *arguments(entry), source],
        cwd=entry["directory"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    options = parser.parse_args()
    if shutil.which(CLANG) is None:
        print(f"SKIPPED: no {CLANG}; scripts/setup.sh installs it")
        return 77
    commands = json.loads(
        (options.build / "compile_commands.json").read_text(encoding="utf-8"))
    found = {}
    for entry in commands:
        source = pathlib.Path(entry["file"])
        name = os.path.relpath(source, options.source)
        if (not name.startswith(("..", "build") + LEFT_OUT) and
                source.suffix == ".cc" and
                (is_annotated(source) or
                 is_annotated(source.with_suffix(".h")))):
            found[str(source)] = entry
    if len(found) < 10:
        print(f"expected annotated sources in the build, found {len(found)}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        told = list(pool.map(check, found.keys(), found.values()))
    for text in filter(None, told):
        print(text)
    print(f"{len(found)} sources, {sum(map(bool, told))} do not pass")
    return 1 if any(told) else 0


if __name__ == "__main__":
    sys.exit(main())
