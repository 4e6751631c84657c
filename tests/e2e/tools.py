"""The published tools that scripts/ run, for the tests: skipped, with the reason
said, where one is not installed."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_INSTALLED = 77
TIMEOUT_S = 60


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

    def require(self):
        """Returns its version; raises SkipTest where it is not installed."""
        told = self.run("--version")
        if told.returncode == NOT_INSTALLED:
            raise unittest.SkipTest(told.stderr.strip())
        if told.returncode != 0:
            raise RuntimeError(f"{self.script}: {told.stderr}")
        return (told.stdout + told.stderr).strip()
