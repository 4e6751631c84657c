"""The rules of English that tidy_test checks in documents, with their reasons.

Documents are docs/, README.md and CONTRIBUTING.md. Code spans and code blocks
are not prose: a former flag or word, or a message, is written as code. Like a
rule of rules.py, each takes a Source and yields lines of complaint.
"""

import re

DOCUMENT = re.compile(r"^(docs/.+|README|CONTRIBUTING)\.md$")
DECISION = re.compile(r"^docs/decisions/(\d{4})-[a-z0-9-]+\.md$")

# Pattern: what to write instead. A space in a pattern is also a line's end.
PHRASES = {
    r"who|whoever|whom|he|him|his|she|her|"
    r"(no|some|any|every)body|(some|any|every)one":
        "name the thread, request, client or operator",
    r"(?-i:Of)": "put the subject first, not 'Of'",
    r"lanes?": "instance",
    r"slots?": "batch in flight, or staging buffer",
    r"knobs?": "runtime option",
    r"doors?": "admission",
    r"care": "safety margin",
    r"pressed|pressing": "deadline-critical",
    r"patience": "delay",
    r"trials?": "probe",
    r"(dis)?believed|doubted": "valid, stale",
    r"untold|news": "notified",
    r"lent|owed|steppers?": "say what has the share or does the work",
    r"dealt|dealers?": "divided, sharded",
    r"made-up": "synthetic",
    r"texts": "strings",
    r"dear": "expensive",
    r"of late": "lately",
    r"in vain": "without effect",
    r"\d+ for \d+": "'from ... to ...', or 'instead of'",
}


def blank(found):
    """Returns as many lines as were found, without their text."""
    return "\n" * found.group().count("\n")


def prose(source):
    """Returns the text without code, tables' rules and targets of links."""
    text = "\n".join(source.lines)
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.M | re.S)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.M)
    text = re.sub(r"`[^`]*`", blank, text)
    text = re.sub(r"^\|[-:| ]+\|$", "", text, flags=re.M)
    return re.sub(r"\]\([^)]*\)", "]", text)


def documents_are_plain(source):
    """Subject and verb, the words of the glossary, no riddles."""
    if not DOCUMENT.match(source.path):
        return
    text = prose(source)
    for phrase, instead in PHRASES.items():
        pattern = rf"\b({phrase})\b".replace(" ", r"\s+")
        for found in re.finditer(pattern, text, re.I):
            line = text.count("\n", 0, found.start()) + 1
            yield line, f"'{' '.join(found.group().split())}': {instead}"


def decisions_fit_a_page(source):
    """Context, choice, consequence and one table: no laboratory notes."""
    name = DECISION.match(source.path)
    if not name:
        return
    if not source.lines[0].startswith(f"# {name.group(1)}. "):
        yield 1, f"expected the title '# {name.group(1)}. ...'"
    if len(source.lines) > 30:
        yield 31, f"{len(source.lines)} lines, at most 30"
    for part in ("Context", "Choice", "Consequence"):
        if not any(line.startswith(f"**{part}.**") for line in source.lines):
            yield 1, f"has no '**{part}.**'"
    tables = sum(bool(re.match(r"\|[-:| ]+\|$", line)) for line in source.lines)
    if tables > 1:
        yield 1, f"{tables} tables, at most one"
    for number, line in enumerate(source.lines, 1):
        if len(line) > 100:
            yield number, f"{len(line)} columns, at most 100"


RULES = [documents_are_plain, decisions_fit_a_page]
