#!/usr/bin/env python3
"""Checks the sources with clang-tidy, by the checks that .clang-tidy lists.

  clang_tidy_test.py --source ROOT --build BUILD

Takes every source of FOLDERS that the build compiles, with the headers it
includes from there. Exits 77 (skipped) where there is no clang-tidy-14, 1 if a
source does not pass.
"""

import pathlib
import subprocess
import sys
import tempfile

import compiled_sources

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
    options = compiled_sources.options_of(__doc__)
    if not compiled_sources.is_installed(TIDY):
        return 77
    if not planted_are_found(options.source / ".clang-tidy"):
        print("expected the checks to find the planted mistakes, found none")
        return 1
    found = compiled_sources.entries(
        options, lambda _, name: name.startswith(FOLDERS))
    return compiled_sources.exit_code(
        found, lambda source, _: check(source, "-p", options.build))


if __name__ == "__main__":
    sys.exit(main())
