"""Checks that documents of trust name tests that exist.

Usage: cve_table_test.py --source DIR

Two tables are read: the faults of others in docs/security.md, and what fails in
docs/reliability.md. The last column of each says what shows a row: tests by
their names in ctest, each with classes or methods behind a colon, and `; `
between tests:

    `e2e_rpcs`: `RpcTest`, `test_http`; `auth_test`: `Scope.NamesAreThose`

"none: WHY", or "no test", possibly with words behind it, is said where there is
none. The names of tests are found by what CMakeLists.txt files say, without a
build.
"""

import argparse
import functools
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(".")
FAULTS = ["id", "class", "our rule", "shown by"]
FAILURES = ["what fails", "what the client sees", "what the operator sees",
            "how long", "shown by"]
ID = re.compile(r"CVE-(199[9]|20\d\d)-\d{4,7}")
ENTRY = re.compile(r"`([\w-]+)`(?:: ((?:`[\w.]+`(?:, )?)+))?")


# --- what ctest would list ---

def commands(text):
    """Yields (name, words) of each command of a CMakeLists.txt."""
    text = re.sub(r"#[^\n\"]*$", "", text, flags=re.M)
    for found in re.finditer(r"^[ \t]*(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text,
                             re.M):
        yield found.group(1), re.findall(r'"[^"]*"|[^\s"]+', found.group(2))


class Lists:
    """Follows what a CMakeLists.txt says of its tests: loops over names and what
    is made of these. Each condition holds but those on sanitizers."""

    def __init__(self, folder):
        self.folder = folder
        self.values = {}
        self.files = {}  # of a test, by its name

    def expand(self, words):
        """Returns the words with the values of variables; those of unknown ones
        are left out."""
        expanded = []
        for word in words:
            whole = re.fullmatch(r"\$\{(\w+)\}", word)
            if whole:
                expanded += self.values.get(whole.group(1), [])
                continue
            word = word.replace("${CMAKE_SOURCE_DIR}", str(SOURCE.resolve()))
            word = word.replace("${CMAKE_CURRENT_SOURCE_DIR}", str(self.folder))
            expanded.append(re.sub(
                r"\$\{(\w+)\}",
                lambda name: ";".join(self.values.get(name.group(1), [])), word))
        return [word.strip('"') for word in expanded]

    def follow(self, said):
        said = list(said)
        at = 0
        while at < len(said):
            name, words = said[at]
            if name == "foreach":
                end = self.end(said, at, "foreach")
                for value in self.expand(words[1:]):
                    self.values[words[0]] = [value]
                    self.follow(said[at + 1:end])
                at = end
            elif name == "function" or (name == "if" and
                                        words[0] == "FERRY_SANITIZE"):
                at = self.end(said, at, name)
            else:
                self.do(name, words)
            at += 1

    @staticmethod
    def end(said, at, name):
        depth = 0
        for i in range(at, len(said)):
            depth += (said[i][0] == name) - (said[i][0] == "end" + name)
            if depth == 0:
                return i
        raise ValueError(f"expected end{name}")

    def do(self, name, words):
        words = self.expand(words[:1]) + words[1:] if name != "set" else words
        if name == "set":
            self.values[words[0]] = self.expand(words[1:])
        elif name == "list" and words[0] == "APPEND":
            self.values.setdefault(words[1], []).extend(self.expand(words[2:]))
        elif name == "get_filename_component" and words[-1] == "NAME":
            (path,) = self.expand(words[1:2])
            self.values[words[0]] = [path.rpartition("/")[2]]
        elif name == "string" and words[:2] == ["REGEX", "REPLACE"]:
            pattern, new, to, *text = words[2:]
            self.values[to] = [re.sub(
                pattern.strip('"'), new.strip('"').replace("\\\\", "\\"),
                "".join(self.expand(text)))]
        elif name == "string" and words[0] == "TOLOWER":
            self.values[words[2]] = ["".join(self.expand(words[1:2])).lower()]
        elif name in ("ferry_test", "ferry_fuzzer", "add_test"):
            self.add(name, self.expand(words))

    def add(self, kind, words):
        name = words[words.index("NAME") + 1]
        paths = [path for word in words if (path := self.path(word)) is not None]
        self.files[name + "_fuzzer_test" if kind == "ferry_fuzzer" else name] = paths

    def path(self, word):
        """Returns the file of tests that a word of a command names."""
        module = re.fullmatch(r"(\w+)(\.\w+)?", word)
        names = [word] if word.endswith((".cc", ".py", ".sh")) else (
            [module.group(1) + ".py"] if module else [])
        for name in names:
            path = self.folder / name
            if path.is_file():
                return path
        return None


def tests_of(folder):
    """Returns the files of each test of ctest, by its name."""
    files = {}
    for path in sorted(folder.glob("tests/**/CMakeLists.txt")):
        lists = Lists(path.parent)
        lists.follow(commands(path.read_text(encoding="utf-8")))
        files |= lists.files
    return files


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


def has(path, name):
    """Whether a file has a test, suite, class or method of that name."""
    text = text_of(path)
    if path.suffix == ".py":
        return all(re.search(rf"^\s*(class|def) {part}\b", text, re.M)
                   for part in name.split("."))
    suite, _, test = name.partition(".")
    said = re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text)
    return any((suite, test) == one if test else suite in one for one in said)


# --- what the documents say ---

def rows(page, heading, columns):
    """Yields (line number, cells) of the first table below a heading; the line
    of the heading and no cells where it is not there as expected."""
    lines = page.splitlines()
    if heading not in lines:
        yield 1, []
        return
    first = lines.index(heading)
    head = next((i for i in range(first, len(lines)) if lines[i].startswith("|")),
                first)
    if cells_of(lines[head]) != columns:
        yield head + 1, []
        return
    for i in range(head + 2, len(lines)):
        if not lines[i].startswith("|"):
            return
        yield i + 1, cells_of(lines[i])


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")] if (
        line.startswith("|")) else []


def wrong_entries(shown, tests):
    """Yields what is wrong with a cell of what shows a row."""
    for entry in shown.split("; "):
        if re.match(r"(no test\b|none: \S)", entry):
            continue
        found = ENTRY.fullmatch(entry)
        if not found:
            yield ("expected `TEST`: `NAME`, .. or 'no test' or 'none: WHY', got "
                   f"'{entry}'")
            continue
        test, names = found.groups()
        if test not in tests:
            yield f"expected a test of ctest, got '{test}'"
            continue
        for name in re.findall(r"`([\w.]+)`", names or ""):
            if not any(has(path, name) for path in tests[test]):
                yield f"expected a class or method of {test}, got '{name}'"


def complaints(page, heading, columns, tests):
    """Yields a line for each thing that is wrong with a table."""
    for number, cells in rows(page, heading, columns):
        if len(cells) != len(columns):
            yield (f"{number}: expected '{heading}' with a table of "
                   f"{' | '.join(columns)}, got {len(cells)} cells")
            continue
        where = f"{number}: {cells[0]}"
        for column, cell in zip(columns, cells):
            if not cell:
                yield f"{where}: expected something as '{column}', got nothing"
        for wrong in wrong_entries(cells[-1], tests) if cells[-1] else ():
            yield f"{where}: {wrong}"


def wrong_ids(page, heading):
    """Yields a line for each id that is none, or that another row has."""
    seen = set()
    for number, cells in rows(page, heading, FAULTS):
        for one in cells[0].split(", ") if cells else ():
            if not ID.fullmatch(one):
                yield f"{number}: expected CVE-YEAR-NUMBER, got '{one}'"
            elif one in seen:
                yield f"{number}: expected each id once, got {one} again"
            seen.add(one)


class DocumentsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.tests = tests_of(SOURCE)

    def check(self, name, heading, columns, least):
        page = (SOURCE / "docs" / name).read_text(encoding="utf-8")
        found = list(complaints(page, heading, columns, self.tests))
        if columns == FAULTS:
            found += wrong_ids(page, heading)
        self.assertEqual(found, [], "\n".join(
            ["", *(f"docs/{name}:{one}" for one in found)]))
        self.assertGreater(len(list(rows(page, heading, columns))), least)

    def test_faults_of_others_are_shown_by_tests_that_exist(self):
        self.check("security.md", "## Known faults of others", FAULTS, 25)

    def test_failures_are_shown_by_tests_that_exist(self):
        self.check("reliability.md", "## What fails, and what is seen", FAILURES,
                   18)

    def test_tests_are_found_as_ctest_names_them(self):
        for name, file in (("e2e_trust", "trust_test.py"),
                           ("e2e_bench", "bench_test.py"),
                           ("deploy_haproxy", "haproxy_test.py"),
                           ("chaos_ledger", "ledger_test.py"),
                           ("cuda_fake_ending", "cuda_fake_test.py"),
                           ("cuda_fake_gpu_check", "gpu_check_test.py"),
                           ("export_command_test", "command_test.py"),
                           ("auth_test", "scope_test.cc"),
                           ("torch_script_test", "torch_script_test.cc"),
                           ("model_repository_test", "label_file_test.cc"),
                           ("device_test", "device_test.cc"),
                           ("files_fuzzer_test", "files_fuzzer.cc"),
                           ("tidy_test", "tidy_test.py")):
            with self.subTest(name):
                self.assertIn(file, {path.name for path in self.tests[name]})
        for name in self.tests:
            self.assertRegex(name, r"^[\w-]+$")


HEAD = ("# A\n\n## B\n\n| id | class | our rule | shown by |\n"
        "| --- | --- | --- | --- |\n")
GOOD = ("| CVE-2024-0087, CVE-2025-23316 | a shell | none is started | "
        "`tidy_test`: `TidyTest`, `test_what_is_allowed_passes`; `auth_test` |\n"
        "| CVE-2023-1428 | an abort | that is gone | none: it is gone |\n")


class TableTest(unittest.TestCase):

    def found(self, table, columns=FAULTS):
        tests = {"tidy_test": [SOURCE / "tests/tidy/tidy_test.py"], "auth_test":
                 [SOURCE / "tests/server/auth/scope_test.cc"]}
        return [*complaints(HEAD + table, "## B", columns, tests),
                *wrong_ids(HEAD + table, "## B")]

    def assert_found(self, old, new, *expected):
        self.assertIn(old, GOOD)
        self.assertEqual(self.found(GOOD.replace(old, new)), list(expected))

    def test_good_table_passes(self):
        self.assertEqual(self.found(GOOD), [])

    def test_unknown_tests_are_told(self):
        self.assert_found(
            "`auth_test`", "`no_test`", "7: CVE-2024-0087, CVE-2025-23316: "
            "expected a test of ctest, got 'no_test'")
        self.assert_found(
            "`TidyTest`", "`NoTest`", "7: CVE-2024-0087, CVE-2025-23316: "
            "expected a class or method of tidy_test, got 'NoTest'")
        self.assert_found(
            "`auth_test`", "`auth_test`: `Scope.OthersHaveNone`",
            "7: CVE-2024-0087, CVE-2025-23316: expected a class or method of "
            "auth_test, got 'Scope.OthersHaveNone'")
        self.assert_found("`auth_test`", "`auth_test`: `ScopeOf.OthersHaveNone`")
        self.assert_found(
            "none: it is gone", "trust us", "8: CVE-2023-1428: expected `TEST`: "
            "`NAME`, .. or 'no test' or 'none: WHY', got 'trust us'")

    def test_ids_that_are_none_are_told(self):
        for wrong in ("CVE-24-0087", "2024-0087", "CVE-2024-87", "cve-2024-0087",
                      "CVE-2024-0087x"):
            told = self.found(GOOD.replace("CVE-2024-0087", wrong))
            self.assertEqual(told,
                             [f"7: expected CVE-YEAR-NUMBER, got '{wrong}'"])
        self.assert_found("CVE-2023-1428", "CVE-2025-23316", "8: expected each id "
                          "once, got CVE-2025-23316 again")

    def test_empty_cells_are_told(self):
        self.assert_found(
            "none is started", "", "7: CVE-2024-0087, CVE-2025-23316: expected "
            "something as 'our rule', got nothing")
        self.assert_found("an abort", "", "8: CVE-2023-1428: expected something "
                          "as 'class', got nothing")
        self.assert_found("none: it is gone", "", "8: CVE-2023-1428: expected "
                          "something as 'shown by', got nothing")

    def test_table_of_other_columns_or_none_is_told(self):
        self.assertEqual(len(self.found(GOOD, FAILURES)), 1)
        self.assertEqual(len(list(complaints(HEAD, "## C", FAULTS, {}))), 1)
        self.assertIn("got 3 cells", self.found("| a | b | c |\n")[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    SOURCE = arguments.source
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
