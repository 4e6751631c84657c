"""sources read the rows of input files: lines of JSON, arrays of NumPy, and
Parquet. Rows are numbered from 0 over all files, and read from any number on.
"""

import bisect
import dataclasses
import hashlib
import itertools
import pathlib

import numpy as np
import orjson

from .failures import RowError, Unable, Wrong

READ_BYTES = 1 << 20
STRIDE = 1000  # rows between two places that a file is entered at
BATCH_ROWS = 256  # of Parquet that are read at once
MARK = "\ufeff".encode()  # may begin a file of UTF-8
NAMES = {list: "an array", str: "a string", bool: "true or false",
         type(None): "null"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One row: its number, where it stands, and its values by name."""

    number: int
    place: str
    values: dict


class JsonLines:
    """Files of one JSON object a line. Empty lines are no rows."""

    form = "jsonl"
    kinds = None

    def __init__(self, paths):
        self._paths = [pathlib.Path(path) for path in paths]
        self._entries = []  # (number of the row, file, line, byte)
        self.count = 0
        self.files = [self._look_through(*file) for file in enumerate(self._paths)]

    def match(self, model, kept):
        """Does nothing: each line is held against the model by itself."""

    def _look_through(self, file, path):
        digest, byte, found = hashlib.sha256(), 0, self.count
        with _open(path) as stream:
            for line, text in enumerate(stream, 1):
                if _content(line, text):
                    if (found - self.count) % STRIDE == 0:
                        self._entries.append((found, file, line, byte))
                    found += 1
                digest.update(text)
                byte += len(text)
        self.count = found
        return {"name": path.name, "bytes": byte, "sha256": digest.hexdigest()}

    def rows(self, first):
        """Yields the rows from number `first` on, and RowErrors among them."""
        place = bisect.bisect_right(self._entries, first,
                                    key=lambda entry: entry[0]) - 1
        if place < 0:
            return
        number, file, line, byte = self._entries[place]
        for path in self._paths[file:]:
            with _open(path) as stream:
                stream.seek(byte)
                for at, text in enumerate(stream, line):
                    text = _content(at, text)
                    if not text:
                        continue
                    if number >= first:
                        yield self._row(number, f"{path}:{at}", text)
                    number += 1
            line, byte = 1, 0

    @staticmethod
    def _row(number, place, text):
        try:
            values = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return RowError(number, place, "expected a JSON object, found what is "
                            f"no JSON: {error}")
        if not isinstance(values, dict):
            return RowError(number, place, "expected a JSON object, found "
                            f"{NAMES.get(type(values), 'a number')}")
        return Row(number, place, values)


class Arrays:
    """One .npy file an input, all of equal length: row i is their i-th parts.

    paths_by_name: None for a name is the model's only input.
    """

    form = "npy"
    kinds = None

    def __init__(self, paths_by_name):
        self._arrays, self.files, self.count = {}, [], None
        for name, path in paths_by_name.items():
            path = pathlib.Path(path)
            array = _load_array(path)
            if self.count not in (None, len(array)):
                raise Wrong(f"{path}: expected {self.count} rows as in "
                            f"{self.files[0]['name']}, found {len(array)}")
            self.count = len(array)
            self._arrays[name] = array
            self.files.append(_described(path) | {"input": name})
        self._first = next(iter(paths_by_name.values()))

    def match(self, model, kept):
        """Gives a file without a name that of the input. Raises Wrong where the
        names are not the model's."""
        names = [tensor.name for tensor in model.inputs]
        if None in self._arrays and len(names) == 1:
            self._arrays = {names[0]: self._arrays[None]}
            self.files[0]["input"] = names[0]
        if not self._arrays.keys() <= set(names):
            raise Wrong("inputs: expected NAME=FILE of each .npy file, where the "
                        f"model has the inputs {', '.join(names)}")

    def rows(self, first):
        """Yields the rows from number `first` on."""
        for number in range(first, self.count):
            yield Row(number, f"{self._first}: row {number}",
                      {name: array[number, ...]
                       for name, array in self._arrays.items()})


class Parquet:
    """Files of Parquet, with a column an input. Others are not read."""

    form = "parquet"

    def __init__(self, paths):
        self._opened = [(pathlib.Path(path), _open_parquet(pathlib.Path(path)))
                        for path in paths]
        self.files = [_described(path) for path, _ in self._opened]
        self.count = sum(file.metadata.num_rows for _, file in self._opened)
        self.kinds = {}  # of the kept columns, by name
        self._columns = []

    def match(self, model, kept):
        """Chooses the columns. Raises Wrong where a file lacks one."""
        for path, file in self._opened:
            schema = file.schema_arrow
            needed = [tensor.name for tensor in model.inputs
                      if not tensor.is_optional]
            for name in [*needed, *kept]:
                if name not in schema.names:
                    raise Wrong(f"{path}: expected a column '{name}', found "
                                f"{', '.join(schema.names)}")
            for name in kept:
                kind = schema.field(name).type
                if self.kinds.setdefault(name, kind) != kind:
                    raise Wrong(f"{path}: expected the column '{name}' in the type "
                                f"{self.kinds[name]} of the first file, found {kind}")
        self._columns = [tensor.name for tensor in model.inputs] + list(kept)

    def rows(self, first):
        """Yields the rows from number `first` on; a kept value is a Scalar."""
        begin = 0
        for path, file in self._opened:
            rows = file.metadata.num_rows
            if first < begin + rows:
                yield from self._rows_of(path, file, begin, first)
            begin += rows

    def _rows_of(self, path, file, begin, first):
        import pyarrow
        number = begin
        groups = []
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if not groups and number + rows <= first:
                number += rows
            else:
                groups.append(group)
        try:
            for batch in file.iter_batches(
                    BATCH_ROWS, row_groups=groups, columns=self._columns):
                skipped = min(max(first - number, 0), batch.num_rows)
                number += skipped
                batch = batch.slice(skipped)
                columns = {
                    name: list(column) if name in self.kinds else values(column)
                    for name, column in zip(batch.schema.names, batch.columns)}
                for row in range(batch.num_rows):
                    yield Row(number, f"{path}: row {number - begin}",
                              {name: column[row] for name, column in columns.items()})
                    number += 1
        except (pyarrow.ArrowException, OSError) as error:
            raise Wrong(f"{path}: expected a whole file of Parquet: "
                        f"{error}") from None


def open_source(arguments):
    """Opens what the command names: FILE, or NAME=FILE of an input's .npy."""
    paths = {}
    for argument in arguments:
        name, path = None, argument
        if argument.endswith(".npy") and not pathlib.Path(argument).exists():
            before, is_named, after = argument.partition("=")
            name, path = (before, after) if is_named else (None, argument)
        if path in paths:
            raise Wrong(f"inputs: expected each file once, found {path} twice")
        paths[path] = name
    endings = {pathlib.Path(path).suffix for path in paths}
    if len(endings) != 1 or not endings <= {".jsonl", ".npy", ".parquet"}:
        raise Wrong("inputs: expected files that all end in .jsonl, in .npy or in "
                    f".parquet, found {', '.join(arguments)}")
    if endings != {".npy"}:
        return (JsonLines if endings == {".jsonl"} else Parquet)(list(paths))
    names = list(paths.values())
    if len(names) > 1 and None in names or len(set(names)) < len(names):
        raise Wrong("inputs: expected NAME=FILE of each .npy file, each with "
                    f"another NAME, found {', '.join(arguments)}")
    return Arrays({name: path for path, name in paths.items()})


def groups(rows, model, kept, most, most_bytes):
    """Yields lists of (Row, arrays) that one request takes, and RowErrors.

    Rows of a request stand one after the other and have equal shapes; `most` of
    them, or `most_bytes`, end it. `kept` are values that are no inputs.
    """
    group, shapes, size = [], None, 0
    for row in rows:
        if isinstance(row, RowError):
            yield row
            continue
        try:
            arrays = model.arrays({name: value for name, value in row.values.items()
                                   if name not in kept})
        except ValueError as error:
            yield RowError(row.number, row.place, str(error))
            continue
        added = sum(array.nbytes if array.dtype != np.object_ else
                    sum(4 + len(item) for item in array.flat)
                    for array in arrays.values())
        own = {name: array.shape for name, array in arrays.items()}
        if group and (own != shapes or len(group) == most or
                      size + added > most_bytes):
            yield group
            group, size = [], 0
        shapes, size = own, size + added
        group.append((row, arrays))
    if group:
        yield group


# ---------------------------------------------------------------------------
# Files


def _content(line, text):
    """Returns a line's bytes without what stands around its JSON."""
    return (text.removeprefix(MARK) if line == 1 else text).strip()


def _open(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise Wrong(f"cannot read {path}: {error.strerror}") from None


def _described(path):
    """Returns name, size and digest of a file."""
    digest = hashlib.sha256()
    with _open(path) as stream:
        while block := stream.read(READ_BYTES):
            digest.update(block)
        return {"name": path.name, "bytes": stream.tell(),
                "sha256": digest.hexdigest()}


def _load_array(path):
    _open(path).close()
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise Wrong(f"{path}: expected an array of NumPy: {error}") from None
    if array.ndim == 0:
        raise Wrong(f"{path}: expected an array of rows, found one number")
    return array


def _open_parquet(path):
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Unable("Parquet needs pyarrow: pip install pyarrow") from None
    _open(path).close()
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise Wrong(f"{path}: expected a file of Parquet: {error}") from None


def values(column):
    """Returns the values of a column, one a row: arrays of NumPy where it has
    numbers, or lists of them, without nulls."""
    array = _numbers(column)
    return column.to_pylist() if array is None else array


def _numbers(column):
    """Returns a column as one array, as a list of arrays of several lengths, or
    as None: where it has anything else than numbers."""
    from pyarrow import types
    kind = column.type
    if column.null_count:
        return None
    if types.is_integer(kind) or types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)
    if types.is_fixed_size_list(kind):
        parts = _numbers(column.flatten())
        return (parts.reshape(len(column), kind.list_size, *parts.shape[1:])
                if isinstance(parts, np.ndarray) else None)
    if not (types.is_list(kind) or types.is_large_list(kind)):
        return None
    parts = _numbers(column.flatten())
    if not isinstance(parts, np.ndarray):
        return None
    ends = column.offsets.to_numpy() - column.offsets[0].as_py()
    sizes = set(np.diff(ends).tolist())
    if len(sizes) == 1:
        return parts.reshape(len(column), sizes.pop(), *parts.shape[1:])
    return [parts[begin:end] for begin, end in itertools.pairwise(ends)]
