"""Checks the rules of tests/tidy/rules.py on every file, and the rules too.

Usage: tidy_test.py --source DIR

Without git (a release archive) walks the folders instead. Exits 1 with one
line a complaint, `path:line: what is wrong: why`.
"""

import argparse
import os
import subprocess
import sys
import unittest

import rules

GENERATED = {"build", ".venv", ".tools", ".git", "dist", "__pycache__"}
SOURCE = "."
DECISION = "# 0001. A\n\n**Context.** A.\n\n**Choice.** A.\n\n**Consequence.** A.\n"


def list_files():
    """Returns the paths of all files that are, or would be, committed."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached",
         "--others", "--exclude-standard"],
        cwd=SOURCE, capture_output=True, check=False)
    if listed.returncode == 0:
        return [path for path in listed.stdout.decode().split("\0") if path]
    paths = []
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = [name for name in folders if name not in GENERATED]
        paths += [os.path.relpath(os.path.join(folder, name), SOURCE)
                  for name in names]
    return paths


def read(path):
    """Returns the Source, or None where it is no text or gone."""
    try:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as stream:
            return rules.Source(path, tuple(stream.read().splitlines()))
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return None


def complaints(source):
    return [f"{source.path}:{number}: {text}" for rule in rules.RULES
            for number, text in rule(source)]


class TidyTest(unittest.TestCase):

    def test_repository_follows_the_rules(self):
        sources = [s for s in map(read, sorted(list_files())) if s]
        self.assertGreater(len(sources), 50, "found too few files to check")
        found = [line for source in sources for line in complaints(source)]
        if found:
            self.fail(f"{len(found)} complaints:\n  " + "\n  ".join(found))

    def test_each_rule_sees_what_it_forbids(self):
        """A rule that never fires would look like a clean repository."""
        cases = [
            ("batcher/a.cc", "#include <grpcpp/grpcpp.h>"),
            ("batcher/a.cc", '#include "models/model.h"'),
            ("batcher/a.cc", "#include <sys/socket.h>"),
            ("models/a.cc", '#include "server/server.h"'),
            ("models/a.cc", '#include "proto/inference.pb.h"'),
            ("server/a.cc", "#include <torch/script.h>"),
            ("server/a.cc", "#include <cuda_runtime.h>"),
            ("server/a.cc", '#include "batcher/internal/a.h"'),
            ("bench/a.cc", '#include "models/model.h"'),
            ("bench/load/a.cc", '#include "server/codec/infer_codec.h"'),
            ("bench/micro/a.cc", '#include "server/server.h"'),
            ("bench/inprocess/a.cc", '#include "server/device.h"'),
            ("bench/inprocess/a.cc", '#include "models/torch/torch_entry.h"'),
            ("bench/local/a.cc", '#include "models/repository/served_model.h"'),
            ("models/nvml/a.cc", '#include "models/model.h"'),
            ("models/nvml/a.cc", "#include <nvml.h>"),
            ("models/a.cc", "#include <ATen/ATen.h>\n"
             "#include <google/protobuf/message.h>"),
            ("models/a.cc", '#include <vector>\n#include "models/a.h"'),
            ("tests/batcher/a.cc", "std::this_thread::sleep_for(1ms);"),
            ("batcher/a.cc", "auto t = std::chrono::system_clock::now();"),
            ("server/a.cc", 'getenv("X");'),
            ("batcher/a.cc", "std::mutex m;"),
            ("batcher/a.cc", "std::atomic_thread_fence(order);"),
            ("server/a.cc", 'system("convert");'),
            ("deploy/a.cc", "execvp(name, words);"),
            ("base/a.cc", "char* text = alloca(size);"),
            ("server/a.cc", "shm_open(name, O_RDWR, 0);"),
            ("models/a.cc", "#include <httplib.h>"),
            ("server/a.cc", "using namespace std;"),
            ("server/a.cc", "// TODO: later"),
            ("server/a.cc", "x" * 81),
            ("server/a.h", "#ifndef A_H"),
            ("server/a.cc", "// A thread takes it, " + "whoever comes."),
            ("server/a.cc", "// Of all calls the oldest."),
            ("server/a.cc", "int a;\n// Of OTLP: SPAN_KIND_SERVER."),
            ("server/a.cc", "int a;\n  // Of" + " Look()."),
            ("scripts/a.py", '"""Waits."""\nA = 1\n# Of' + " a call."),
            ("server/a.cc", "int a;\n// As the other does."),
            ("scripts/a.sh", "#!/bin/sh\nset -e"),
            ("docs/a.md", "see /" + "root/notes"),
            ("docs/a.md", "A thread waits for " + "whoever comes."),
            ("README.md", "It waits.\nOf" + " two threads one sleeps."),
            ("docs/b/a.md", "| a " + "lane | `lane` |"),
            ("CONTRIBUTING.md", "It waits in" + "\nvain."),
            ("docs/a.md", "The rate is 1.37" + " for 0.76."),
            ("docs/decisions/0001-a.md", DECISION.replace("1.", "2.")),
            ("docs/decisions/0001-a.md", DECISION.replace("Choice", "No")),
            ("docs/decisions/0001-a.md", DECISION + "\n" * 30),
            ("docs/decisions/0001-a.md", DECISION + "x" * 101),
            ("docs/decisions/0001-a.md", DECISION + "| --- |\n\n" * 2),
        ]
        for path, text in cases:
            with self.subTest(path=path, text=text[:40]):
                whole = path.endswith((".sh", ".md", ".py"))
                opening = "" if whole else "// A file.\n"
                source = rules.Source(
                    path, tuple((opening + text).splitlines()))
                self.assertEqual(len(complaints(source)), 1,
                                 complaints(source))

    def test_what_is_allowed_passes(self):
        cases = [
            ("batcher/a.cc", '#include <vector>\n#include "absl/time/time.h"'),
            ("bench/inprocess/a.cc", '#include "models/repository/served_model.h"'),
            ("batcher/a.cc", "// std::mutex would be slower"),
            ("server/main.cc", 'getenv("X");'),
            ("bench/a.cc", '#include "models/nvml/library.h"'),
            ("models/nvml/a.cc", '#include "base/mutex.h"'),
            ("tests/batcher/b.cc", '#include "batcher/internal/a.h"'),
            ("server/a.cc", 'Log("sleep(1)");'),
            ("server/a.cc", "return std::system_category().message(error);"),
            ("server/trace/trace_sink.cc", "#include <httplib.h>"),
            ("server/a.cc", "// TODO(#7): streams"),
            ("server/a.cc", "// https://" + "x" * 90),
            ("docs/a.md", "The former `ferry.lane " + "of\nnobody` is gone."),
            ("docs/a.md", "```\nOf" + " a lane\n```\n\n    nobody"),
            ("docs/a.md", "A [file](lane.md) that a reader sees of each."),
            ("docs/decisions/0001-a.md", DECISION),
        ]
        for path, text in cases:
            with self.subTest(path=path, text=text[:40]):
                opening = "" if path.endswith(".md") else "// A file.\n"
                source = rules.Source(
                    path, tuple((opening + text).splitlines()))
                self.assertEqual(complaints(source), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
