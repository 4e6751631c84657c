"""Checks that the claims of scripts/show.sh can be run where they are named.

Usage: claims_test.py --source DIR

Measurements take minutes to hours and run seldom; what they ask of the sources
is held against them here.
"""

import argparse
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(".")
ELSEWHERE = {"A6"}  # show.sh runs a script of its own


def read(path):
    return (SOURCE / path).read_text(encoding="utf-8")


def claims():
    """Returns the claims that show.sh takes, by the lines it looks for."""
    table = read("scripts/show/main.py").partition("\nCLAIMS = {")[2]
    return set(re.findall(r'^    "([\w-]+)": ', table.partition("\n}")[0], re.M))


class ClaimsTest(unittest.TestCase):

    def test_help_of_show_names_each_claim(self):
        usage = read("scripts/show.sh").partition("\nset -euo")[0]
        self.assertGreater(len(claims()), 30)
        for claim in claims():
            with self.subTest(claim=claim):
                self.assertRegex(usage, rf"(^# |[ ,])\b{claim}\b")

    def test_commands_in_documents_are_of_claims(self):
        named = set()
        for path in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md"),
                     *SOURCE.glob("bench/**/*.md")]:
            named |= set(re.findall(r"scripts/show\.sh ([A-Z]\d[\w-]*|[a-z][\w-]*)",
                                    path.read_text(encoding="utf-8")))
        self.assertGreater(len(named), 10)
        self.assertLessEqual(named, claims() | ELSEWHERE)

    def test_bugs_to_be_planted_have_their_place(self):
        sys.path.insert(0, str(SOURCE / "scripts/show"))
        import fuzzing  # pylint: disable=import-outside-toplevel
        for bug in fuzzing.BUGS:
            with self.subTest(bug=bug.what):
                self.assertEqual(read(bug.path).count(bug.right), 1)
                self.assertIn(f"B4-{bug.target}", claims())

    def test_each_metric_is_in_the_documents(self):
        documents = read("docs/metrics.md") + read("docs/devices.md")
        named = set()
        for path in (SOURCE / "server/metrics").glob("*.cc"):
            named |= set(re.findall(r'MetricName k\w+ = \{\s*"(\w+)"',
                                    path.read_text(encoding="utf-8")))
        self.assertGreater(len(named), 80)
        # Those of one kind share a name there: `a_duration_us`, `..._b_...`.
        missing = [name for name in sorted(named)
                   if f"`{name}`" not in documents and
                   not re.fullmatch(r"nv_inference_\w+_duration_us", name)]
        self.assertEqual(missing, [])

    def test_memory_that_was_not_read_passes_no_soak(self):
        sys.path.insert(0, str(SOURCE / "scripts/show"))
        import soaking  # pylint: disable=import-outside-toplevel
        for slope, passed in ((None, False), (0.0, True),
                              (soaking.MOST_SLOPE, False)):
            with self.subTest(slope=slope):
                self.assertEqual(passed, soaking.passes(
                    {"balances": True, "rss_slope_mb_per_minute": slope},
                    {"reports": 0, "exit": 0}))

    def test_half_an_hour_passes_only_where_nothing_is_left_over(self):
        sys.path.insert(0, str(SOURCE / "scripts/show"))
        import lasting  # pylint: disable=import-outside-toplevel
        def threads(**names):
            return {"descriptors": 16, "thread_names": {
                "ferry-infer": 1, "default-executo": 1, **names}}
        held = threads()
        right = {"memory_fit": {"mib_per_hour": 0.2, "half_interval": 0.7},
                 "start": held, "end": held, "failed": [],
                 "planned": 6, "load": {"balances": True, "sent": 6,
                                        "by_code": {"OK": 5, "CANCELLED": 1}}}
        self.assertEqual(lasting.faults(right), [])
        most = lasting.MOST_OF_POOL
        pool = {"default-executo": most}
        self.assertEqual(lasting.faults(right | {"end": threads(**pool)}), [])
        for part, wrong in (
                ("memory_fit", {"mib_per_hour": 0.2, "half_interval": 0.9}),
                ("end", held | {"descriptors": 17}),
                ("end", threads(**{"ferry-infer": 2})),
                ("end", threads(**{"another": 1})),
                ("end", threads(**{"default-executo": most + 1})),
                ("failed", ["scrapes: late"]),
                ("planned", 7), ("load", right["load"] | {"balances": False}),
                ("load", right["load"] | {"by_code": {"OK": 5, "UNAVAILABLE": 1}})):
            with self.subTest(part, wrong=wrong):
                self.assertEqual(len(lasting.faults(right | {part: wrong})), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
