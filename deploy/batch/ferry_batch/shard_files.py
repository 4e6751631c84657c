"""shard_files writes the results of a shard: aside, then fsynced, then renamed.

A file has its name only once it is whole. `row` is the number of a row, from 0
over all inputs. Rows without a result are in part-NNNNN.errors.jsonl.
"""

import io
import math
import os
import urllib.parse

import ml_dtypes
import numpy as np
import orjson

from .failures import Unable, Wrong
from .model import TYPES

ASIDE = ".aside"
FORMATS = ("jsonl", "npy", "parquet")


class ShardFiles:
    """The files of a shard in a folder, of one of FORMATS.

    outputs: model.Tensor of each output, in order. kinds: the types of kept values
    in Parquet, by name.
    """

    def __init__(self, folder, form, outputs, kinds=None):
        self._folder = folder
        self._encode = {"jsonl": self._jsonl, "npy": self._npy,
                        "parquet": self._parquet}[form]
        self._outputs = outputs
        self._kinds = kinds or {}

    def are_there(self, files):
        """Returns whether all files, by name with their sizes, are there."""
        return all((self._folder / name).is_file() and
                   (self._folder / name).stat().st_size == size
                   for name, size in files.items())

    def write(self, shard, results, errors):
        """Writes (row, results by name, kept values by name) and RowErrors, in
        the order of rows; returns the sizes of the files by name. Removes what an
        earlier end left of the shard. Raises Unable where the disk takes no more."""
        head = f"part-{shard:05}"
        contents = self._encode(head, results)
        if errors:
            contents[f"{head}.errors.jsonl"] = b"".join(
                orjson.dumps({"row": error.number, "place": error.place,
                              "status": error.status, "error": error.text},
                             option=orjson.OPT_APPEND_NEWLINE)
                for error in errors)
        try:
            for path in self._folder.glob(f"{head}.*"):
                path.unlink()
            self._replace(contents)
        except OSError as error:
            raise Unable(f"cannot write {head} in {self._folder}: {error.strerror}; "
                         "what is finished is kept: make room, and start the same "
                         "command again") from None
        return {name: len(content) for name, content in contents.items()}

    def _replace(self, contents):
        aside = {name: self._folder / f"{name}{ASIDE}" for name in contents}
        try:
            for name, content in contents.items():
                with open(aside[name], "wb") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
            for name, path in aside.items():
                os.replace(path, self._folder / name)
            _sync_folder(self._folder)
        finally:
            for path in aside.values():
                path.unlink(missing_ok=True)

    def _jsonl(self, head, results):
        return {f"{head}.jsonl": b"".join(
            orjson.dumps({"row": row} | kept |
                         {name: _plain(name, array)
                          for name, array in outputs.items()},
                         option=orjson.OPT_APPEND_NEWLINE |
                         orjson.OPT_SERIALIZE_NUMPY)
            for row, outputs, kept in results)}

    def _npy(self, head, results):
        arrays = {"row": np.array([row for row, _, _ in results], np.int64)}
        for output in self._outputs:
            if output.datatype == "BYTES":
                raise Wrong(f"output '{output.name}': expected numbers for .npy, "
                            "found strings; write another --output-format")
            values = [outputs[output.name] for _, outputs, _ in results]
            try:
                array = np.stack(values) if values else _none_of(output)
            except ValueError:
                raise Wrong(f"output '{output.name}': expected rows of one shape "
                            "for .npy, found several; write another "
                            "--output-format") from None
            arrays[output.name] = _native(array)
        contents = {}
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array, allow_pickle=False)
            # A name may have what no file may: a slash.
            contents[f"{head}.{urllib.parse.quote(name, safe='')}.npy"] = (
                stream.getvalue())
        return contents

    def _parquet(self, head, results):
        import pyarrow
        import pyarrow.parquet
        columns = {"row": pyarrow.array([row for row, _, _ in results],
                                        pyarrow.int64())}
        for name, kind in self._kinds.items():
            columns[name] = pyarrow.array([kept[name] for _, _, kept in results],
                                          kind)
        try:
            for output in self._outputs:
                columns[output.name] = _column(
                    output, [outputs[output.name] for _, outputs, _ in results])
        except pyarrow.ArrowException as error:
            raise Wrong(f"{head}: expected what a column of Parquet takes, found: "
                        f"{error}; lower --shard-rows, for another "
                        "folder") from None
        buffer = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
        return {f"{head}.parquet": buffer.getvalue().to_pybytes()}


def _native(array):
    """Returns the array in a type that NumPy's files have: BF16 becomes FP32."""
    return (array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16
            else array)


def _none_of(output):
    """Returns an array of no rows of an output."""
    return np.empty((0, *(max(size, 0) for size in output.shape)),
                    TYPES[output.datatype])


def _column(output, arrays):
    """Returns an output's rows as a column of Parquet: lists, as deep as it has
    dimensions."""
    import pyarrow
    flat = np.concatenate([np.empty(0, TYPES[output.datatype]),
                           *(array.reshape(-1) for array in arrays)])
    column = pyarrow.array(flat.tolist(), pyarrow.binary()) if (
        output.datatype == "BYTES") else pyarrow.array(_native(flat))
    for axis in reversed(range(len(output.shape))):
        sizes = [array.shape[axis] for array in arrays
                 for _ in range(math.prod(array.shape[:axis]))]
        ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        column = pyarrow.ListArray.from_arrays(
            pyarrow.array(ends, pyarrow.int64()).cast(pyarrow.int32()), column)
    return column


def _plain(name, array):
    """Returns what JSON has of an array: strings as text, FP16 as FP32."""
    if array.dtype == np.object_:
        try:
            return np.vectorize(bytes.decode, otypes=[np.object_])(array).tolist()
        except UnicodeDecodeError:
            raise Wrong(f"output '{name}': expected strings of UTF-8 for .jsonl, "
                        "found other bytes; write --output-format "
                        "parquet") from None
    if array.dtype in (np.float16, ml_dtypes.bfloat16):
        return array.astype(np.float32)
    return array


def _sync_folder(folder):
    """Makes the names of a folder's files last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
