"""The step of scripts/gpu_check.sh that computes the encoder with two torches, on
modules that play them."""

import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from tools import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "gpu_check"))
# pylint: disable=wrong-import-position
import steps
import torches

# Plays scripts/gpu_check/encoder_rate.py, with the torch that it finds.
PROGRAM = """
import json, pathlib, sys
import torch
what, path, *more = sys.argv[1:]
if what == "make":
    pathlib.Path(path).write_text(torch.__version__)
    sys.exit(0)
print(json.dumps({"torch": torch.__version__, "cuda": "13.0", "batches": [
    {"rows": int(rows), "eager": torch.rate * int(rows), "length": torch.length,
     "graphs": 2 * torch.rate * int(rows)} for rows in more[1:]]}))
"""


class GpuTorchesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-torches-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "export" / "examples").mkdir(parents=True)
        (self.home / "encoder_rate.py").write_text(PROGRAM)

    def torch(self, name, version, rate, length=1.0):
        """Makes the folder of a torch of that speed."""
        folder = self.home / name / "torch"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(
            f"__version__ = {version!r}\nrate = {rate}\nlength = {length}\n")
        return folder

    def outcome(self, own, other):
        options = types.SimpleNamespace(
            bundle=self.home, device="GPU-a", torch=own, seconds=0.1,
            other_torch=other, measure_on=None, batches=[1, 8])
        check = steps.Check(options)
        with mock.patch.object(torches, "PROGRAM",
                               self.home / "encoder_rate.py"), \
                mock.patch("builtins.print"):
            torches.Torches(check, options).run_all()
        (step,) = check.steps
        return step

    def test_ratio_of_rates_is_told(self):
        step = self.outcome(self.torch("a", "2.11.0", 80),
                            self.torch("b", "2.10.0", 100))
        self.assertEqual(step["outcome"], "passed", step)
        batch = step["torches"]["batches"][1]
        self.assertEqual(batch["rows"], 8)
        self.assertEqual(batch["eager"]["rows_per_second"], 640)
        self.assertEqual(batch["graphs"]["other_rows_per_second"], 1600)
        self.assertEqual(batch["graphs"]["ratios"], [0.8] * torches.TURNS)
        self.assertEqual(
            step["figures"]["8 rows, eager"],
            "640.0 rows/s of torch 2.11.0, 800.0 of 2.10.0: 0.800 (0.800 to "
            "0.800)")

    def test_without_another_torch_it_is_skipped(self):
        step = self.outcome(self.torch("a", "2.11.0", 80), None)
        self.assertEqual((step["outcome"], step["reason"]),
                         ("skipped", "no other torch: --other-torch DIR"))

    def test_the_same_version_twice_fails(self):
        step = self.outcome(self.torch("a", "2.11.0", 80),
                            self.torch("b", "2.11.0", 80))
        self.assertIn("expected another version of torch", step["reason"])

    def test_wrong_embeddings_fail(self):
        for length in ("0.5", "float('nan')"):
            with self.subTest(length):
                step = self.outcome(
                    self.torch("a" + length, "2.11.0", 80),
                    self.torch("b" + length, "2.10.0", 80, length))
                self.assertEqual(step["outcome"], "failed")
                self.assertIn("of length 1", step["reason"])

    def test_a_torch_that_does_not_import_fails(self):
        (self.home / "c" / "torch").mkdir(parents=True)
        (self.home / "c" / "torch" / "__init__.py").write_text("no + torch")
        step = self.outcome(self.torch("a", "2.11.0", 80),
                            self.home / "c" / "torch")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("NameError", step["reason"])


if __name__ == "__main__":
    unittest.main()
