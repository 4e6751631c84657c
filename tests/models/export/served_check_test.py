"""How far served answers are from fp32: what passes and what does not."""

import unittest

import numpy as np

from ferry_export import served_check
from ferry_export.errors import ExportError

BF16 = served_check.TOLERANCES["bf16"]
ROWS = np.random.default_rng(1).standard_normal((4, 16)).astype(np.float32)


class CompareTest(unittest.TestCase):

    def compare(self, expected, found, tolerance=BF16):
        return served_check.compare("y", np.asarray(expected),
                                    np.asarray(found), tolerance)

    def test_equal_rows_pass(self):
        result = self.compare(ROWS, ROWS)
        self.assertTrue(result.passed)
        self.assertEqual(result.error, 0)
        self.assertAlmostEqual(result.cosine, 1)
        self.assertIn("pass", result.text())

    def test_a_small_error_passes_and_is_told(self):
        found = ROWS.copy()
        found[2, 3] += 0.01
        result = self.compare(ROWS, found)
        self.assertTrue(result.passed)
        self.assertAlmostEqual(result.error, 0.01, places=5)

    def test_one_wrong_value_fails(self):
        found = ROWS.copy()
        found[2, 3] += 1
        result = self.compare(ROWS, found)
        self.assertFalse(result.passed)
        self.assertIn("FAIL", result.text())

    def test_one_wrong_row_fails_by_its_cosine_alone(self):
        found = ROWS.copy()
        found[1] = -found[1]
        self.assertFalse(self.compare(ROWS, found, (np.inf, 0.999)).passed)

    def test_rows_in_another_order_fail(self):
        self.assertFalse(self.compare(ROWS, ROWS[::-1]).passed)

    def test_what_is_not_finite_on_one_side_fails(self):
        found = ROWS.copy()
        found[0, 0] = np.nan
        self.assertFalse(self.compare(ROWS, found).passed)
        self.assertTrue(self.compare(found, found).passed)

    def test_integers_pass_by_the_share_that_differs(self):
        expected = np.arange(100).reshape(100, 1)
        found = expected.copy()
        found[:4] += 1
        self.assertTrue(self.compare(expected, found).passed)
        found[:6] += 1
        self.assertFalse(self.compare(expected, found).passed)

    def test_shapes_that_differ(self):
        with self.assertRaises(ExportError) as caught:
            self.compare(ROWS, ROWS[:2])
        self.assertIn("expected [4, 16], the server gives [2, 16]",
                      str(caught.exception))


if __name__ == "__main__":
    unittest.main()
