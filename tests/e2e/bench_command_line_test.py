"""ferry-bench without a server: its flags, what it writes over files that are
there, and how its texts fit a terminal."""

import json
import os
import pathlib
import subprocess
import unittest
import unittest.mock

from bench_runner import BenchRunner

ALL = ("run, search, tune, report, merge, compare, plan, local, simulate, "
       "soak")


class CommandLineTest(BenchRunner):

    def test_full_disk_leaves_what_was_there(self):
        """Of each file that a command writes: whole or as it was, exit code 1."""
        local = ("local", "--outstanding", 1, "--warm-up-secs", 0,
                 "--duration-secs", 0.1)
        kinds = ("json", "html", "csv", "markdown", "perf-analyzer-csv")
        self.bench(*local, "--json", self.path("old.json"))
        compared = ("compare", self.path("old.json"), self.path("old.json"))
        simulated = ("simulate", "--duration-secs", 1)
        written = [((*local, f"--{kind}"), kind) for kind in kinds] + [
            ((*compared, "--json"), "c.json"), ((*compared, "--markdown"), "c.md"),
            ((*simulated, "--json"), "s.json"), ((*simulated, "--log"), "s.csv")]
        for flags, name in written:
            with self.subTest(flags=flags):
                path = pathlib.Path(self.path(name))
                path.write_text("what was there")
                told = self.bench(*flags, path, file_bytes=100, code=1)
                self.assertIn(f"cannot write {path}: File too large; what was "
                              "there before is unchanged", told)
                self.assertEqual(path.read_text(), "what was there")
                self.bench(*flags, path)
                self.assertNotEqual(path.read_text(), "what was there")
        left = {path.name for path in pathlib.Path(self.folder).iterdir()}
        self.assertEqual({name for name in left if name.startswith(".")}, set())

    def test_error_comes_after_what_was_printed_before_it(self):
        path = self.path("old.json")
        local = ("local", "--outstanding", 1, "--warm-up-secs", 0,
                 "--duration-secs", 0.1)
        self.bench(*local, "--json", path)
        for flags, last in (
                ((*local, "--json", "/dev/full"), "cannot write /dev/full"),
                (("compare", path, path, "--json", "/dev/full"),
                 "cannot write /dev/full")):
            with self.subTest(flags=flags):
                told = self.bench(*flags, code=None, stderr=subprocess.STDOUT)
                self.assertIn(last, told.splitlines()[-1])

    def test_simulate_takes_the_classes_of_run(self):
        simulate = ("simulate", "--duration-secs", 5)
        path = self.path("classes.json")
        self.bench(*simulate, "--class", "a:weight=0.2,rows=4", "--class",
                   "b:weight=0.8", "--json", path)
        classes = json.loads(pathlib.Path(path).read_text())["classes"]
        self.assertEqual([one["name"] for one in classes], ["a", "b"])
        # By weight of the requests, as `run` divides them.
        share = classes[0]["sent"] / sum(one["sent"] for one in classes)
        self.assertAlmostEqual(share, 0.2, delta=0.02)
        for command in (simulate, ("run", "-m", "echo")):
            told = self.bench(*command, "--class", "a:share=0.2", code=1)
            self.assertRegex(told, r"--class: expected NAME:KEY=VALUE,\.\.\. with "
                             "keys weight, rows, priority, .*timeout_ms.* got "
                             "'share=0.2' in 'a:share=0.2'")

    def test_unknown_flags_and_commands_are_told_alike(self):
        for flags, told in (
                (("run", "--max-batch", 8), "unknown flag --max-batch; did you "
                 "mean --max-batch-sizes?"),
                (("run", "--concurrency-range", "1:8"),
                 "--concurrency-range is a flag of perf_analyzer: write "
                 "--outstanding, with numbers: 1,16,64"),
                (("run", "--connections", "many"),
                 "--connections: expected a whole number, 1 to 256, got "
                 "'many'"),
                (("run", "--warmup-secs", 8), "unknown flag --warmup-secs; did "
                 "you mean --warm-up-secs?"),
                (("search", "--slo", 8),
                 "unknown flag --slo; did you mean --slo-ms?"),
                (("serch",), "expected a command, got 'serch'; did you mean "
                 "search?"),
                (("rnu",), f"expected a command, got 'rnu'; there are {ALL}"),
                ((), f"expected a command, got none; there are {ALL}"),
                (("-m", "mlp", "run"),
                 "expected -m behind the command 'run', found it before"),
                (("compare",), "expected FILE (JSON file of `run`, `search` "
                 "or `tune`: the base), got none"),
                (("report",), "expected FILE (JSON file of `run`, `search` "
                 "or `tune`), got none"),
                (("merge", "a.json"), "expected 2 or more of FILE (JSON files "
                 "of `run`), got 1")):
            with self.subTest(flags=flags):
                self.assertEqual(self.bench(*flags, code=1),
                                 f"ferry-bench: {told} (see --help)\n")

    def test_help_and_tables_fit_a_terminal(self):
        path = self.path("result.json")
        self.bench("local", "--outstanding", "1,64", "--warm-up-secs", 0,
                   "--duration-secs", 0.1, "--json", path)
        for flags in (("run", "--help"), ("search", "--help"), ("report", path),
                      ("compare", path, path)):
            with self.subTest(flags=flags):
                with unittest.mock.patch.dict(os.environ, COLUMNS="80"):
                    narrow = self.bench(*flags, code=None, stderr=subprocess.DEVNULL)
                self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
        help_text = self.bench("run", "--help")
        for group in ("Server", "Requests", "Loads", "Results", "Several runs"):
            self.assertIn(f"\n{group}:\n", help_text)


if __name__ == "__main__":
    unittest.main()
