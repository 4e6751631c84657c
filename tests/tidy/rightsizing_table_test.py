"""Checks that docs/rightsizing.md has each of the articles' 74 claims once, and
names for each a command, alert, page or test that exists.

Usage: rightsizing_table_test.py --source DIR

The last column has entries with `; ` between them: `ferryctl COMMAND`, the name of
an alert, a [page](page.md#heading), a test as cve_table_test.py takes it, or
"none: WHY".
"""

import argparse
import pathlib
import re
import sys
import unittest

import cve_table_test

SOURCE = pathlib.Path(".")
HEADING = "## The claims, one by one"
COLUMNS = ["row", "claim", "what became of it", "where"]
CLAIMS = 74


def commands_of(source):
    """Returns the commands of ferryctl: "profile", and "cost spot" of a group."""
    found = set()
    for path in sorted((source / "deploy/ctl").glob("*_command.cc")):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"add_subcommand\(\s*\"([\w-]+)\"", text)
        names += re.findall(r"\(\s*questions,\s*\"([\w-]+)\"", text)
        found.update(names)
        found.update(f"{names[0]} {name}" for name in names[1:])
    return found


def alerts_of(source):
    text = (source / "deploy/prometheus/rules.yaml").read_text(encoding="utf-8")
    return set(re.findall(r"alert: (\w+)", text))


def anchor_of(heading):
    """Returns what a link to a heading ends with."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def wrong_link(entry, source):
    """Returns what is wrong with a link to a page, or None."""
    path, _, anchor = re.fullmatch(r"\[[^]]+\]\(([^)]+)\)", entry).group(
        1).partition("#")
    page = source / "docs" / path
    if not page.is_file():
        return f"expected a page in docs, got '{path}'"
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    if anchor and anchor not in map(anchor_of, headings):
        return f"expected a heading of {path}, got '{anchor}'"
    return None


class Known:
    """What entries may name."""

    def __init__(self, source):
        self.source = source
        self.commands = commands_of(source)
        self.alerts = alerts_of(source)
        self.tests = cve_table_test.tests_of(source)

    def wrong(self, entry):
        """Yields what is wrong with an entry."""
        command = re.fullmatch(r"`ferryctl ([\w -]+)`", entry)
        alert = re.fullmatch(r"`(Ferry\w+)`", entry)
        if command:
            if command.group(1) not in self.commands:
                yield f"expected a command of ferryctl, got '{command.group(1)}'"
        elif alert:
            if alert.group(1) not in self.alerts:
                yield f"expected an alert of rules.yaml, got '{alert.group(1)}'"
        elif entry.startswith("["):
            wrong = wrong_link(entry, self.source)
            if wrong:
                yield wrong
        else:
            yield from cve_table_test.wrong_entries(entry, self.tests)


def complaints(page, known):
    """Yields a line for each thing that is wrong with the table."""
    expected = 1
    for number, cells in cve_table_test.rows(page, HEADING, COLUMNS):
        if len(cells) != len(COLUMNS) or not all(cells):
            yield (f"{number}: expected '{HEADING}' with a table of "
                   f"{' | '.join(COLUMNS)}")
            return
        if cells[0] != str(expected):
            yield f"{number}: expected row {expected}, got '{cells[0]}'"
        expected += 1
        for entry in cells[-1].split("; "):
            for wrong in known.wrong(entry):
                yield f"{number}: row {cells[0]}: {wrong}"
    if expected != CLAIMS + 1:
        yield f"1: expected {CLAIMS} rows, got {expected - 1}"


class RightsizingTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cve_table_test.SOURCE = SOURCE
        cls.known = Known(SOURCE)
        cls.page = (SOURCE / "docs/rightsizing.md").read_text(encoding="utf-8")

    def test_each_claim_has_a_place_that_exists(self):
        found = list(complaints(self.page, self.known))
        self.assertEqual(found, [], "\n".join(
            ["", *(f"docs/rightsizing.md:{one}" for one in found)]))

    def test_what_is_not_there_is_told(self):
        for old, new, expected in (
                ("`ferryctl memory`", "`ferryctl dance`",
                 "expected a command of ferryctl, got 'dance'"),
                ("`FerryUnderused`", "`FerryDances`",
                 "expected an alert of rules.yaml, got 'FerryDances'"),
                ("[sharing.md](sharing.md); ", "[dance](dance.md); ", "expected a page in docs"),
                ("#the-first-month", "#the-last-month", "expected a heading"),
                ("`plan_test`: `CostTest`", "`plan_test`: `DanceTest`",
                 "expected a class or method of plan_test"),
                ("| 7 |", "| 8 |", "expected row 7, got '8'")):
            with self.subTest(new):
                self.assertIn(old, self.page)
                found = list(complaints(self.page.replace(old, new, 1), self.known))
                self.assertTrue(any(expected in one for one in found), found)

    def test_a_row_that_is_gone_is_told(self):
        page = "\n".join(line for line in self.page.splitlines()
                         if not line.startswith("| 74 |"))
        self.assertEqual(list(complaints(page, self.known)),
                         ["1: expected 74 rows, got 73"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
