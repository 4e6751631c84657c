"""ferryctl in a folder of its own, for the tests: what it answers, and refuses."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).parents[2]
CTL = os.environ["FERRY_CTL"]
TIMEOUT_S = 120
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/ctl-answer.schema.json").read_text()))


class CtlCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ask(self, *flags):
        return subprocess.run([CTL, *flags], cwd=self.folder, capture_output=True,
                              text=True, timeout=TIMEOUT_S, check=False)

    def answer(self, *flags):
        ended = self.ask(*flags, "--json")
        self.assertEqual(ended.returncode, 0, ended)
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        return answer

    def assert_refused(self, code, text, *flags):
        """Returns what was said."""
        ended = self.ask(*flags)
        self.assertEqual(ended.returncode, code, ended)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertTrue(ended.stderr.startswith("ferryctl: "), ended.stderr)
        self.assertIn(text, ended.stderr)
        return ended.stderr
