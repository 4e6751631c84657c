"""Names, types and sizes of tensors, as the command line gives them.

The form is ferry-server's own: NAME:TYPE:DIMS, the batch dimension first and
written -1, as are sizes that vary: `image:FP32:-1,3,224,224`.
"""

import dataclasses
import re

from ferry_export.errors import ExportError

# Type on the wire: (config.pbtxt's name, numpy's, torch's). BF16 is no type of
# numpy's: rows of it are made and compared as FP32.
TYPES = {
    "BOOL": ("TYPE_BOOL", "bool", "bool"),
    "UINT8": ("TYPE_UINT8", "uint8", "uint8"),
    "INT8": ("TYPE_INT8", "int8", "int8"),
    "INT16": ("TYPE_INT16", "int16", "int16"),
    "INT32": ("TYPE_INT32", "int32", "int32"),
    "INT64": ("TYPE_INT64", "int64", "int64"),
    "FP16": ("TYPE_FP16", "float16", "float16"),
    "FP32": ("TYPE_FP32", "float32", "float32"),
    "FP64": ("TYPE_FP64", "float64", "float64"),
    "BF16": ("TYPE_BF16", "float32", "bfloat16"),
}
FLOATS = ("FP16", "FP32", "FP64", "BF16")
ANY_SIZE = -1
MAX_RANK = 8
NAME = re.compile(r"[^\s:,]+")


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output; `dims` are those of one row."""

    name: str
    type: str
    dims: tuple[int, ...]

    def is_float(self):
        return self.type in FLOATS

    def numpy_type(self):
        return TYPES[self.type][1]


def parse_input(text, has_rows):
    """Returns the TensorSpec of NAME:TYPE:DIMS."""
    parts = text.split(":")
    if len(parts) != 3 or not NAME.fullmatch(parts[0]):
        raise ExportError(f"--input: expected NAME:TYPE:DIMS, as in "
                          f"image:FP32:-1,3,224,224, got '{text}'")
    name, data_type, dims = parts
    return TensorSpec(name, parse_type(data_type, f"--input {name}"),
                      parse_dims(name, dims, has_rows))


def parse_type(text, where):
    if text not in TYPES:
        raise ExportError(f"{where}: expected a type of {', '.join(TYPES)}, "
                          f"got '{text}'")
    return text


def parse_dims(name, text, has_rows):
    """Returns the sizes of one row, without the batch dimension."""
    try:
        dims = [int(part) for part in text.split(",")]
    except ValueError:
        raise ExportError(f"--input {name}: expected sizes with commas "
                          f"between, -1 where one varies, got '{text}'"
                          ) from None
    if any(dim < 1 and dim != ANY_SIZE for dim in dims):
        raise ExportError(f"--input {name}: expected sizes of 1 or more, or "
                          f"-1, got '{text}'")
    if has_rows:
        if dims[0] != ANY_SIZE:
            raise ExportError(
                f"--input {name}: expected -1, the batch, as the first size, "
                f"got {dims[0]} (--max-batch-size 0 is for models without "
                "a batch dimension)")
        dims = dims[1:]
    if len(dims) > MAX_RANK:
        raise ExportError(f"--input {name}: expected at most {MAX_RANK} sizes "
                          f"beside the batch, got {len(dims)}")
    return tuple(dims)


def parse_output(text):
    """Returns the name and type, or None, of NAME[:TYPE]."""
    name, colon, data_type = text.partition(":")
    if not NAME.fullmatch(name):
        raise ExportError(f"--output: expected NAME or NAME:TYPE, got '{text}'")
    if not colon:
        return name, None
    return name, parse_type(data_type, f"--output {name}")


def check_names_differ(option, names):
    for name in names:
        if names.count(name) > 1:
            raise ExportError(f"{option}: '{name}' stands twice")
