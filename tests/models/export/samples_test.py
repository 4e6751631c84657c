"""Rows to check with: seeded noise, and what an .npz file gives."""

import tempfile
import types
import unittest

import numpy as np

from ferry_export import samples
from ferry_export.errors import ExportError
from ferry_export.tensors import TensorSpec

SPECS = [TensorSpec("x", "FP32", (3, -1)), TensorSpec("ids", "INT64", (5,)),
         TensorSpec("on", "BOOL", ())]


class SamplesTest(unittest.TestCase):

    def from_file(self, rows, **arrays):
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            np.savez(file, **arrays)
            file.flush()
            command = types.SimpleNamespace(
                samples=file.name, inputs=SPECS[:2], has_rows=lambda: True)
            return samples.make(command, rows)

    def refusal(self, **arrays):
        with self.assertRaises(ExportError) as caught:
            self.from_file(2, **arrays)
        return str(caught.exception)

    def test_noise_fits_the_specs_and_is_the_same_again(self):
        first, again = samples.noise(SPECS, 4), samples.noise(SPECS, 4)
        self.assertEqual(
            [(first[s.name].shape, first[s.name].dtype.name) for s in SPECS],
            [((4, 3, samples.FREE_SIZE), "float32"), ((4, 5), "int64"),
             ((4,), "bool")])
        for spec in SPECS:
            np.testing.assert_array_equal(first[spec.name], again[spec.name])
        self.assertTrue(((first["ids"] >= 1) & (first["ids"] <= 9)).all())

    def test_a_file_is_repeated_to_the_rows_asked_for(self):
        x = np.arange(12.0).reshape(2, 3, 2)
        made = self.from_file(3, x=x, ids=np.arange(10).reshape(2, 5))
        np.testing.assert_array_equal(made["x"], x[[0, 1, 0]])
        self.assertEqual(made["x"].dtype, np.float32)
        np.testing.assert_array_equal(made["ids"][2], np.arange(5))

    def test_files_that_do_not_fit(self):
        self.assertIn("no input 'ids' among x",
                      self.refusal(x=np.zeros((1, 3, 2))))
        self.assertIn("expected rows of [3, -1], got [4, 2]",
                      self.refusal(x=np.zeros((1, 4, 2))))
        self.assertIn("expected rows, got none",
                      self.refusal(x=np.zeros((0, 3, 2))))


if __name__ == "__main__":
    unittest.main()
