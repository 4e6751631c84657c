"""How far an output is from what it is in fp32."""

import numpy as np

TOLERANCE = 0.05  # of ferry.precision_tolerance
ROUNDING = 1e-3  # fp32 by other kernels
TYPES = {"FP32": np.float32, "INT64": np.int64}


def error_of(expected, found):
    """Returns how far an output is off, as a share of its largest value."""
    if not np.issubdtype(expected.dtype, np.floating):
        return float(np.mean(expected != found))
    if not np.array_equal(np.isfinite(expected), np.isfinite(found)):
        return float("inf")
    expected, found = np.nan_to_num(expected), np.nan_to_num(found)
    return float(np.abs(expected - found).max() /
                 (np.abs(expected).max() or 1))
