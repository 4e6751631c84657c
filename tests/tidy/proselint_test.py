"""Runs proselint on the prose of the documents, with the checks that fit.

Usage: proselint_test.py --source DIR

Left out are the checks of typography and repeated words, which complain about
plain quotes and tables, misc, which complains about "early-stopping", and the
checks of names, dates and people. Exits 77, skipped, where proselint is not
installed.
"""

import argparse
import pathlib
import sys
import unittest

import prose
import rules

try:
    from proselint.checks import __register__
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile
except ImportError:
    sys.exit(77)

SOURCE = pathlib.Path(".")
CHECKS = ("archaism", "cliches", "hedging", "industrial_language",
          "malapropisms", "mixed_metaphors", "mondegreens",
          "needless_variants", "nonwords", "oxymorons", "redundancy",
          "spelling", "terms", "uncomparables", "weasel_words")
CONFIG = {"max_errors": 1000, "checks": dict.fromkeys(CHECKS, True)}


def lint(name, text):
    return [f"{name}:{found.pos[0]}: {found.check_result.message}"
            for found in LintFile(name, text).lint(CONFIG)]


class ProselintTest(unittest.TestCase):

    def test_documents_pass(self):
        found = []
        paths = [path for path in [*sorted(SOURCE.glob("docs/**/*.md")),
                                   *sorted(SOURCE.glob("*.md"))]
                 if prose.DOCUMENT.match(str(path.relative_to(SOURCE)))]
        self.assertGreater(len(paths), 20, "found too few documents")
        for path in paths:
            lines = path.read_text(encoding="utf-8").splitlines()
            name = str(path.relative_to(SOURCE))
            found += lint(name, prose.prose(rules.Source(name, tuple(lines))))
        if found:
            self.fail(f"{len(found)} complaints:\n  " + "\n  ".join(found))

    def test_what_is_wrong_is_seen(self):
        for text in ("It ends on the " + "spot.", "A very " + "unique word."):
            with self.subTest(text=text):
                self.assertNotEqual(lint("a.md", f"A line.\n{text}\n"), [])


if __name__ == "__main__":
    CheckRegistry().register_many(__register__)
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
