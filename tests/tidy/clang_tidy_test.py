#!/usr/bin/env python3
"""Checks the sources with clang-tidy, by the checks that .clang-tidy lists.

  clang_tidy_test.py --source ROOT --build BUILD

Takes every source of FOLDERS that the build compiles, with the headers it
includes from there. Exits 77 (skipped) where there is no clang-tidy-14, 1 if a
source does not pass.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDY = "clang-tidy-14"
FOLDERS = ("base/", "tensor/", "batcher/", "flags/", "server/codec/")
# A mistake of a source, and one of a header of such a folder.
PLANTED = {
    "base/planted.h": "#include <vector>\n"
                      "inline bool IsEmpty(const std::vector<int>& all) {\n"
                      "  return all.size() == 0;\n}\n",
    "planted.cc": '#include <string>\n#include <utility>\n'
                  '#include "base/planted.h"\n'
                  "std::string Twice(std::string a) {\n"
                  "  std::string b = std::move(a);\n  return b + a;\n}\n",
}


def check(source, *flags):
    """Returns what clang-tidy says of the source; nothing where it passes."""
    done = subprocess.run([TIDY, "--quiet", source, *flags], capture_output=True,
                          text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def planted_are_found(config):
    """Returns whether the checks see mistakes: none would look clean, too."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        said = check(f"{folder}/planted.cc", f"--config-file={config}", "--",
                     "-std=c++20", f"-I{folder}")
    return ("bugprone-use-after-move" in said and
            "readability-container-size-empty" in said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    options = parser.parse_args()
    if shutil.which(TIDY) is None:
        print(f"SKIPPED: no {TIDY}; scripts/setup.sh installs it")
        return 77
    commands = json.loads(
        (options.build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = sorted({
        entry["file"] for entry in commands
        if os.path.relpath(entry["file"], options.source).startswith(FOLDERS)})
    if len(sources) < 10:
        print(f"expected sources of {FOLDERS} in the build, found {len(sources)}")
        return 1
    if not planted_are_found(options.source / ".clang-tidy"):
        print("expected the checks to find the planted mistakes, found none")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(
            lambda source: check(source, "-p", options.build), sources))
    for text in filter(None, said):
        print(text)
    print(f"{len(sources)} sources, {sum(map(bool, said))} do not pass")
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main())
