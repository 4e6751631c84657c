"""Holds docs/errors.md and the messages of the sources against each other.

Usage: errors_test.py --source DIR

A message stands in the first column of a table that is headed "message", with
`...` for what differs from case to case. What stands between must be in a
literal of the sources, or be where one ends and others begin.

In return each statement of the sources that says something, which is three
words or "expected" or "cannot", has a row: one with all of its literals in
their order, or whose text is in them and is no less than half of them. The
bound: of statements that say nearly the same, such as "field '...': expected
..., got ...", one row speaks for all. What needs none stands in NO_ROW.
"""

import argparse
import pathlib
import re
import sys
import unittest

SOURCE = "."
FOLDERS = ("base", "tensor", "batcher", "flags", "models", "server")
LEAST = 4  # characters that say something
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = re.compile(LITERAL + r"(?:\s+" + LITERAL + ")*")
CHARACTER = r"'(?:[^'\\\n]|\\.)'"
# What is left out of the code: raw strings, comments, directives.
LEFT_OUT = re.compile(rf'({LITERAL}|{CHARACTER})|R"\(.*?\)"|//[^\n]*|'
                      r"^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
# Statements end, and so do the sides of "a ? b : c".
TOKENS = re.compile(rf"({LITERAL}|{CHARACTER})|::|"
                    r"([;{}?:]|absl::\w+Error\b)|.", re.DOTALL)
# Where a format or a message has a value, and where a line ends.
HOLES = re.compile(r"\{\}|\.\.\.|\\n")
SAYS = re.compile(r"[A-Za-z)]+'?,? [a-z]+ [a-z]|\bexpect(ed|s)\b|\bcannot\b")
NO_MESSAGE = re.compile(r"\b(Check|static_assert|spdlog::(info|debug)|"
                        r"add_option|add_option_function<[\w:]+>|add_flag|"
                        r"add_tensors|set_version_flag)\(")
NO_ROW_FILES = {"batcher/future.cc",  # no part of the server
                "batcher/sim/virtual_streams.cc",  # neither
                "models/forward/ferry_forward.cc",  # a program of its own
                "models/nvml/ferry_nvml.cc",  # another
                # What each metric is.
                "server/metrics/metrics.cc",
                "server/metrics/device_metrics.cc",
                "server/metrics/process_metrics.cc",
                "server/metrics/transport_metrics.cc",
                "server/metrics/triton_metrics.cc"}
NO_ROW = (
    # LibTorch's and oneDNN's, looked for.
    "inner product forward", "forward propagation primitive",
    # Behind "is not supported: " in the row of the field or parameter.
    "remove it", "serve each step as a model", "0 or 1; write 'ferry.threads'",
    # Behind "expected " in the row of the parameter.
    "an integer from ", "integers from 1 to ", "a list that ends with ",
    "a number from ", "a share of the largest value",
    "the name of a file in the version", "'mean=A,B,C ",
    "an input of TYPE_UINT8", "a type other than", "inputs and outputs in the",
    "the name of a tensor", "the name of another input", "an input that is not",
    "ascending sizes with commas", "the input that another",
    "std greater than 0", "dims of '",
    "one number, or one for each", "the name of an input", "an input without ",
    "int64_param or string_param",
    # What flags and configs are checked for before, and what cannot be.
    "max_wait: ", "enough_rows: ", "preserve_ordering: expected one level",
    "preserve_ordering: expected no level", "buckets: expected ascending",
    "clock: ", "simulated device: ", "no package for so many rows",
    "a type without a typed field",
    # Thrown, and then the batch says that the model failed.
    "simulated device threw",
    # Looked for in what Protobuf says.
    " has no field named ", ": Cannot find field.",
    # In the list of what NVML sees.
    "on after a reset", "off after a reset",
    # Looked for in what LibTorch says.
    "Unknown builtin op", "open file failed", "required keyword attribute",
    "CUDA out of memory",
    # Behind "is a flag of ".
    "an earlier version",
    # --help has these.
    "Batching and threads (each ", "Metrics and health over", "Stopping and logging",
    "One model without a repository", "ferry-server serves models",
)


def joined(text):
    """Returns the text of literals that stand one after the other."""
    return "".join(part[1:-1] for part in re.findall(LITERAL, text)).replace(
        r"\"", '"')


def statements(text):
    """Yields the code and literals of each; literals side by side are one."""
    code = ""
    for token in TOKENS.finditer(LEFT_OUT.sub(r"\1", text) + ";"):
        if token.group(2) is None:
            code += token.group()
        else:
            yield code, [joined(found) for found in LITERALS.findall(code)]
            code = ""


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


def parts(texts):
    """Returns what the texts say between their holes."""
    return [part for text in texts for part in HOLES.split(text)
            if len(part.strip()) >= LEAST]


def is_said(part, texts):
    """Whether it is in a text, or where one ends and others follow."""
    return any(part in text for text in texts) or any(
        any(text.endswith(part[:end]) for text in texts) and
        goes_on(part[end:], texts) for end in range(1, len(part)))


def goes_on(part, texts):
    return any(text.startswith(part) for text in texts) or any(
        len(text) > 1 and part.startswith(text) and
        goes_on(part[len(text):], texts) for text in texts)


def missing(message, texts):
    """Returns the parts of the message that the texts do not have."""
    return [part for part in parts([message]) if not is_said(part, texts)]


def are_in(wanted, text):
    """Whether all that is wanted stands in the text in that order."""
    return re.search(".*".join(map(re.escape, wanted)), text, re.DOTALL)


def speaks_for(row, said):
    """Whether the row has all that is said, or is at least half of it."""
    return are_in(said, "\0".join(row)) or (
        are_in(row, "".join(said)) and
        2 * len("".join(row)) >= len("".join(said)))


def lacks_row(statement, rows):
    """Whether the statement says something, and no row does. `rows`: parts."""
    code, texts = statement
    said = parts(texts)
    return (any(SAYS.search(text) for text in said) and
            not NO_MESSAGE.search(code) and
            not any(text.startswith(NO_ROW) for text in said) and
            not any(speaks_for(row, said) for row in rows if row))


class ErrorsTest(unittest.TestCase):

    def setUp(self):
        folder = pathlib.Path(SOURCE)
        self.sources = [
            (str(path.relative_to(folder)), statement)
            for name in FOLDERS for path in sorted((folder / name).rglob("*"))
            if path.suffix in (".cc", ".h")
            for statement in statements(path.read_text(encoding="utf-8"))]
        self.texts = {part for _, (_, texts) in self.sources for text in texts
                      for part in text.split("{}")}
        page = (folder / "docs/errors.md").read_text(encoding="utf-8")
        self.messages = list(messages(page))
        self.rows = [parts([message]) for _, message in self.messages]

    def test_each_message_is_in_the_sources(self):
        self.assertGreater(len(self.messages), 200, "found too few messages")
        for number, message in self.messages:
            with self.subTest(line=number):
                self.assertEqual(missing(message, self.texts), [])

    def test_each_statement_has_a_row(self):
        lacking = [[f"{path}: {' ... '.join(statement[1])}"
                    for path, statement in self.sources
                    if path not in NO_ROW_FILES and lacks_row(statement, rows)]
                   for rows in (self.rows, [])]
        self.assertGreater(len(lacking[1]), 200, "found too few statements")
        if lacking[0]:
            self.fail("statements without a row:\n  " +
                      "\n  ".join(lacking[0]))

    def test_a_message_that_is_nowhere_is_found(self):
        self.assertEqual(missing("queue is full: it holds cats", self.texts),
                         ["queue is full: it holds cats"])
        self.assertEqual(missing("no such text in '...'", self.texts),
                         ["no such text in '"])

    def test_a_statement_without_a_row_is_found(self):
        text = ('Check(a, "it is as it was");  // "a note of some words"\n'
                'return absl::NotFoundError(absl::StrCat(\n    "cat \'", cat, '
                '"\': expected a "\n    "dog"));\n')
        for row, lacks in [("cat '...': expected a dog too", False),
                           ("cat '...': expected", False), ("cat '...", True),
                           ("cat '...': got a dog", True), ("", True)]:
            with self.subTest(row=row):
                found = [lacks_row(one, [parts([row])])
                         for one in statements(text)]
                self.assertEqual(any(found), lacks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
