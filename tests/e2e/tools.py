"""The published tools that scripts/ run, for the tests: skipped, with the reason
said, where one is not installed."""

import os
import pathlib
import re
import subprocess
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_INSTALLED = 77
TIMEOUT_S = 60


def replace_once(text, old, new):
    """Returns the text with one place of it changed, which must be there once."""
    if text.count(old) != 1:
        raise ValueError(f"expected {old!r} once, got it {text.count(old)} times")
    return text.replace(old, new)


def uncomment(text, key):
    """Returns YAML in which the block of that key is no comment any more."""
    (block,) = re.finditer(rf"^( *)# {key}:\n(?:\1#   .*\n)+", text, re.M)
    lines = re.sub(rf"^{block[1]}# ", block[1], block[0], flags=re.M)
    return text[:block.start()] + lines + text[block.end():]


class Tool:
    """A tool by the name of its script."""

    def __init__(self, name):
        self.script = ROOT / "scripts" / f"{name}.sh"

    def run(self, *arguments, timeout=TIMEOUT_S, **options):
        """Runs it to its end, installs nothing, and returns what it wrote."""
        return subprocess.run(
            ["bash", self.script, *map(str, arguments)], text=True,
            capture_output=True, timeout=timeout, check=False, **options,
            env=os.environ | {"FERRY_INSTALL_TOOLS": "no"})

    def require(self, flag="--version"):
        """Returns its version; raises SkipTest where it is not installed."""
        told = self.run(flag)
        if told.returncode == NOT_INSTALLED:
            raise unittest.SkipTest(told.stderr.strip())
        if told.returncode != 0:
            raise RuntimeError(f"{self.script}: {told.stderr}")
        return (told.stdout + told.stderr).strip()


class Running:
    """A program that runs beside a test, which reads the lines that it writes to
    either output; `with` ends it."""

    def __init__(self, command, **options):
        self.lines = []
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            **options)
        self._reader = threading.Thread(
            target=self.lines.extend, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def has_said(self, text):
        return any(text in line for line in self.lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        self._process.stdout.close()
