#!/usr/bin/env python3
"""Checks the lock annotations: GCC ignores them, Clang does not.

  thread_safety_test.py --source ROOT --build BUILD

Runs Clang's -Wthread-safety, as errors, over every source of the build that
carries annotations, or whose header does. Nothing is linked. Exits 77
(skipped) where there is no clang++-14, 1 if a source does not pass.
"""

import re
import shlex
import subprocess
import sys

import compiled_sources

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
    options = compiled_sources.options_of(__doc__)
    if not compiled_sources.is_installed(CLANG):
        return 77
    found = compiled_sources.entries(
        options, lambda source, name:
        not name.startswith(("..", "build") + LEFT_OUT) and
        source.suffix == ".cc" and
        (is_annotated(source) or is_annotated(source.with_suffix(".h"))))
    return compiled_sources.exit_code(found, check)


if __name__ == "__main__":
    sys.exit(main())
