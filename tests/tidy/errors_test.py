"""Checks that docs/errors.md quotes messages that the sources have.

Usage: errors_test.py --source DIR

A message stands in the first column of a table that is headed "message", with
`...` for what differs from case to case. What stands between must be in a
literal of the sources, or be where one ends and another begins.
"""

import argparse
import pathlib
import re
import sys
import unittest

SOURCE = "."
FOLDERS = ("batcher", "models", "server")
LEAST = 4  # characters that say something
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = re.compile(LITERAL + r"(?:\s+" + LITERAL + ")*")
HOLE = "{}"  # where a format puts a value


def joined(text):
    """Returns the text of literals that stand one after the other."""
    return "".join(part[1:-1] for part in re.findall(LITERAL, text)).replace(
        r"\"", '"')


def literals(folder):
    """Yields the texts of the sources' literals."""
    for name in FOLDERS:
        for path in sorted((folder / name).rglob("*")):
            if path.suffix in (".cc", ".h"):
                text = re.sub(r"(?m)^\s*//.*$", "",
                              path.read_text(encoding="utf-8"))
                for found in LITERALS.finditer(text):
                    yield from joined(found.group()).split(HOLE)


def messages(page):
    """Yields line number and message of each that the page quotes."""
    is_quoting = False
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("|"):
            is_quoting = False
        elif line.startswith("| message |"):
            is_quoting = True
        elif is_quoting and (quoted := re.match(r"\| `(.*?)` \|", line)):
            yield number, quoted.group(1)


def is_said(part, texts):
    if any(part in text for text in texts):
        return True
    return any(any(text.endswith(part[:end]) for text in texts) and
               any(text.startswith(part[end:]) for text in texts)
               for end in range(1, len(part)))


def missing(message, texts):
    """Returns the parts of the message that the texts do not have."""
    return [part for part in message.split("...")
            if len(part.strip()) >= LEAST and not is_said(part, texts)]


class ErrorsTest(unittest.TestCase):

    def setUp(self):
        folder = pathlib.Path(SOURCE)
        self.texts = set(literals(folder))
        page = (folder / "docs/errors.md").read_text(encoding="utf-8")
        self.messages = list(messages(page))

    def test_each_message_is_in_the_sources(self):
        self.assertGreater(len(self.messages), 80, "found too few messages")
        for number, message in self.messages:
            with self.subTest(line=number):
                self.assertEqual(missing(message, self.texts), [])

    def test_a_message_that_is_nowhere_is_found(self):
        self.assertEqual(missing("queue is full: it holds cats", self.texts),
                         ["queue is full: it holds cats"])
        self.assertEqual(missing("no such text in '...'", self.texts),
                         ["no such text in '"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
