#!/usr/bin/env python3
"""Counts what the batcher is made of, and compares it with its bounds.

  scripts/count_core.py

Prints a table of counts, each with its bound and what it was before decision
0037 (3c1aa82, without what stands in base/ and tensor/ now). Exits 1 if a count
is over its bound. batcher/sim is not counted: no server runs it in front of a
model.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


BATCHER = ("batcher", "batcher/internal")


def sources(*folders):
    """Yields (path, text) of the C++ files directly in these folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).glob("*")):
            if path.suffix in (".h", ".cc"):
                yield path, path.read_text(encoding="utf-8")


def code(text):
    """Returns the text without comments."""
    return re.sub(r"//[^\n]*", "", text)


def count(pattern, *folders):
    """Returns how often the pattern stands in the code of these folders."""
    return sum(len(re.findall(pattern, code(text)))
               for _, text in sources(*folders))


def thread_names():
    """Returns the names of the threads that serve a request."""
    names = set()
    for _, text in sources(*BATCHER, "server/grpc"):
        names.update(re.findall(r'pthread_setname_np\([^"]*"([\w-]+)"', text))
    return sorted(names)


def functions_between():
    """Returns the functions that scheduler and instance call of each other."""
    instance = code((ROOT / "batcher/instance.h").read_text(encoding="utf-8"))
    virtual = re.findall(r"virtual [^;~{]*?\b(\w+)\(", instance)
    called = set()
    for name in ("cpu_instance.cc", "device_instance.cc"):
        text = code((ROOT / "batcher" / name).read_text(encoding="utf-8"))
        called.update(re.findall(r"\bscheduler\.(\w+)\(", text))
    return sorted({*virtual, *called, "Deliver"})


def main():
    words = re.search(r"// The published words\.\n((?:.*std::atomic.*\n)+)",
                      (ROOT / "batcher/scheduler.h").read_text(encoding="utf-8"))
    between = functions_between()
    threads = thread_names()
    lines = sum(text.count("\n") for _, text in sources(*BATCHER))
    rows = [
        ("lines of batcher/", lines, 6700, "8217",
         "5000 were planned: decision 0039"),
        ("functions between scheduler and instance", len(between), 8, "19",
         ", ".join(between)),
        ("atomics of batcher/", count(r"std::atomic<", *BATCHER), 25, "76", ""),
        ("thread kinds, events of a device included", len(threads), 4, "5 to 6",
         ", ".join(threads)),
        ("published words", len(words.group(1).splitlines()), 2, "9", ""),
        ("sequentially consistent operations of base/ and batcher/",
         count(r"memory_order_seq_cst", "base", *BATCHER), None, "67", ""),
        ("mutexes of batcher/", count(r"\bMutex \w+_;", *BATCHER), None, "-",
         ""),
        ("constants of batcher/", count(r"\bconstexpr [^=;(]*\bk[A-Z]\w*\s*[={]",
                                        *BATCHER), None, "72", ""),
    ]
    print("| what | count | at most | before 0037 | which |")
    print("| --- | --- | --- | --- | --- |")
    over = []
    for what, found, bound, before, which in rows:
        print(f"| {what} | {found} | {bound or '-'} | {before} | {which} |")
        if bound is not None and found > bound:
            over.append(f"{what}: expected at most {bound}, found {found}")
    for text in over:
        print(text, file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
