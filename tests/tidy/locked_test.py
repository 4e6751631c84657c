"""Checks that requirements/locked is that of requirements/*.txt, and in use.

Usage: locked_test.py --source DIR
"""

import argparse
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(".")
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.M)
# Resolved: what torch leaves open is in its lock besides.
RESOLVED = {"full"}


def pins(text):
    """Returns the version of each package, by its name as the index has it."""
    return {re.sub(r"[-_.]+", "-", name).lower(): version
            for name, version in PIN.findall(text)}


def without_hash(text):
    """Returns the entries of a lock that name no SHA-256."""
    entries = re.split(r"^(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.M),
                       flags=re.M)
    return [entry.strip() for entry in entries if entry.strip() and not
            re.match(r"\S+==\S+ \\\n    --hash=sha256:[0-9a-f]{64}\b", entry)]


def calls_of_pip(text):
    """Returns each command of a script that has pip fetch something, joined."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines()
            if not line.lstrip().startswith("#")
            and re.search(r"-m pip (install|download)\b", line)
            and "--no-index" not in line]


class LockedTest(unittest.TestCase):

    def lists(self):
        return [path for path in sorted((SOURCE / "requirements").glob("*.txt"))
                if not path.name.startswith(("apt", "debian"))]

    def test_each_list_has_its_lock(self):
        locked = {path.name for path in
                  (SOURCE / "requirements/locked").glob("*.txt")}
        self.assertEqual({path.name for path in self.lists()}, locked)

    def test_lock_has_the_versions_of_its_list(self):
        for path in self.lists():
            with self.subTest(list=path.name):
                wanted = pins(path.read_text())
                got = pins((path.parent / "locked" / path.name).read_text())
                if path.stem in RESOLVED:
                    got = {name: got[name] for name in wanted.keys() & got}
                self.assertGreater(len(wanted), 0)
                self.assertEqual(wanted, got, "run scripts/lock.sh")

    def test_each_entry_of_a_lock_has_a_hash(self):
        for path in self.lists():
            text = (path.parent / "locked" / path.name).read_text()
            self.assertEqual(without_hash(text), [], path.name)

    def test_entry_without_hash_is_found(self):
        kept = "# A comment\na==1 \\\n    --hash=sha256:" + "0" * 64 + "\n"
        self.assertEqual(without_hash(kept), [])
        self.assertEqual(without_hash(kept + "b==2\n"), ["b==2"])

    def test_scripts_fetch_with_hashes_only(self):
        calls = [(path.name, call) for path in (SOURCE / "scripts").glob("*.sh")
                 for call in calls_of_pip(path.read_text())]
        self.assertGreater(len(calls), 4)
        for name, call in calls:
            with self.subTest(script=name):
                self.assertIn("--require-hashes", call)

    def test_scripts_name_versions_that_are_locked(self):
        locked = pins((SOURCE / "requirements/locked/tools.txt").read_text())
        named = 0
        for path in sorted((SOURCE / "scripts").glob("*.sh")):
            text = path.read_text()
            for name, version in re.findall(
                    r"([A-Za-z][\w.-]*)==(\d[\w.!]*)", text):
                if text.split(f"{name}==")[0].rsplit("\n", 1)[-1].startswith("#"):
                    continue
                named += 1
                self.assertEqual(
                    pins(f"{name}=={version}"),
                    {key: locked.get(key) for key in pins(f"{name}=={version}")},
                    f"scripts/{path.name}: pin it in requirements/tools.txt and "
                    "run scripts/lock.sh")
        self.assertGreater(named, 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
