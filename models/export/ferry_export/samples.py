"""Rows to export and to check with, as numpy arrays by input's name."""

import numpy as np

from ferry_export.errors import ExportError, reason
from ferry_export.tensors import ANY_SIZE

SEED = 20_250_101
# A dimension that varies has it where no samples are given.
FREE_SIZE = 16
# Past 256, to which bf16 counts: positions made in it are wrong from there on.
LARGE_SIZE = 384


def noise(specs, rows, has_rows=True, free_size=FREE_SIZE):
    """Returns seeded noise: floats normal, bytes whole, other integers 1 to 9,
    which are indices of small tables and mask nothing out."""
    random = np.random.default_rng(SEED)
    arrays = {}
    for spec in specs:
        dims = [free_size if dim == ANY_SIZE else dim for dim in spec.dims]
        shape = [rows, *dims] if has_rows else dims
        if spec.is_float():
            values = random.standard_normal(shape)
        elif spec.type == "BOOL":
            values = random.integers(0, 2, shape)
        elif spec.type == "UINT8":
            values = random.integers(0, 256, shape)
        else:
            values = random.integers(1, 10, shape)
        arrays[spec.name] = values.astype(spec.numpy_type())
    return arrays


def has_large(command):
    """Returns whether synthetic rows of another size say more."""
    return command.samples is None and any(
        ANY_SIZE in spec.dims for spec in command.inputs)


def make(command, rows):
    """Returns `rows` rows of what --samples names, else noise."""
    if command.samples is None:
        return noise(command.inputs, rows, command.has_rows())
    if command.samples.endswith(".npz"):
        return checked(command, from_file(command.samples), rows)
    from ferry_export import sources
    function = sources.find(command.samples, "--samples")
    try:
        given = function(rows)
    except Exception as error:
        raise ExportError(f"--samples: {command.samples}({rows}): "
                          f"{reason(error)}") from error
    return checked(command, given, rows)


def from_file(path):
    try:
        with np.load(path) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise ExportError(f"--samples: {reason(error)}") from None


def checked(command, given, rows):
    """Returns the arrays of the inputs, repeated to `rows`, or fails."""
    if not isinstance(given, dict):
        raise ExportError("--samples: expected a dict of arrays by input, got "
                          f"{type(given).__name__}")
    arrays = {}
    for spec in command.inputs:
        if spec.name not in given:
            raise ExportError(f"--samples: no input '{spec.name}' among "
                              f"{', '.join(given)}")
        array = np.asarray(given[spec.name]).astype(spec.numpy_type())
        dims = array.shape[1:] if command.has_rows() else array.shape
        if len(dims) != len(spec.dims) or any(
                expected not in (ANY_SIZE, found)
                for expected, found in zip(spec.dims, dims)):
            raise ExportError(
                f"--samples: input '{spec.name}': expected rows of "
                f"{list(spec.dims)}, got {list(dims)}")
        if command.has_rows():
            if len(array) == 0:
                raise ExportError("--samples: expected rows, got none")
            array = np.resize(array, (rows, *dims))
        arrays[spec.name] = np.ascontiguousarray(array)
    return arrays
