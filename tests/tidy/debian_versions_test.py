"""Checks requirements/debian-versions.txt, and that a difference from it is said.

Usage: debian_versions_test.py --source DIR
"""

import argparse
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(".")


class DebianVersionsTest(unittest.TestCase):

    def read(self, name):
        return versions.entries((SOURCE / "requirements" / name).read_text())

    def test_each_line_is_a_package_and_a_version(self):
        entries = self.read("debian-versions.txt")
        self.assertEqual([words for words in entries if len(words) != 2], [])
        self.assertEqual(entries, sorted(entries))

    def test_what_is_installed_is_recorded(self):
        recorded = dict(self.read("debian-versions.txt"))
        listed = {words[0] for words in self.read("apt.txt")}
        self.assertEqual(listed - recorded.keys(), set(),
                         "run scripts/debian_versions.py --write build/release")
        # What is linked, too: tests/deploy/sbom_test.py asks for all of it.
        self.assertIn("libgrpc29", recorded)

    def test_difference_is_said(self):
        recorded = {"a": "1", "b": "2", "c": "3"}
        self.assertEqual(versions.differences(recorded, recorded), [])
        self.assertEqual(
            versions.differences(recorded, {"a": "1", "b": "2.1"}),
            ["b: recorded 2, installed 2.1", "c: recorded 3, installed none"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    sys.path.insert(0, str(SOURCE / "scripts"))
    import debian_versions as versions
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
