"""compiled_sources.py runs a check of Clang's over sources that a build compiles.

The tests that use it exit 77 (skipped) where their tool is not installed, and 1
if a source does not pass.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil


def options_of(doc):
    """Returns the options --source and --build."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    return parser.parse_args()


def is_installed(tool):
    """Returns whether the tool is there; else says how to get it."""
    if shutil.which(tool) is None:
        print(f"SKIPPED: no {tool}; scripts/setup.sh installs it")
        return False
    return True


def entries(options, is_wanted):
    """Returns the compile command of each source that is wanted, by its path.

    `is_wanted` takes the source's path, and its name relative to --source.
    """
    commands = json.loads(
        (options.build / "compile_commands.json").read_text(encoding="utf-8"))
    return {entry["file"]: entry for entry in commands
            if is_wanted(pathlib.Path(entry["file"]),
                         os.path.relpath(entry["file"], options.source))}


def exit_code(found, check):
    """Checks all sources at once, prints what is said, returns the exit code.

    `check` takes a source and its compile command and returns what is wrong.
    """
    if len(found) < 10:
        print(f"expected such sources in the build, found {len(found)}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(check, found.keys(), found.values()))
    for text in filter(None, said):
        print(text)
    print(f"{len(found)} sources, {sum(map(bool, said))} do not pass")
    return 1 if any(said) else 0
