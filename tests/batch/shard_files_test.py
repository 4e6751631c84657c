"""shard_files_test writes shards in each format, and onto a disk that fails."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import ml_dtypes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ferry_batch.failures import RowError, Unable, Wrong
from ferry_batch.model import TYPES, Tensor
from ferry_batch.shard_files import ShardFiles

Y = Tensor("y", "FP32", (-1,))


def row(number, value, **kept):
    return number, {"y": np.array(value, np.float32)}, kept


class ShardFilesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-batch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, form, outputs, results, errors=(), kinds=None):
        return ShardFiles(self.folder, form, outputs, kinds).write(3, results, errors)

    def lines(self, name="part-00003.jsonl"):
        return [json.loads(line)
                for line in (self.folder / name).read_text().splitlines()]

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_lines_have_number_kept_values_and_outputs(self):
        written = self.write("jsonl", (Y,), [row(30, [1.5], id="a"),
                                             row(31, [np.nan, 0.1], id=None)])
        self.assertEqual(self.lines(), [{"row": 30, "id": "a", "y": [1.5]},
                                        {"row": 31, "id": None, "y": [None, 0.1]}])
        size = (self.folder / "part-00003.jsonl").stat().st_size
        self.assertEqual(written, {"part-00003.jsonl": size})

    def test_each_type_has_its_place(self):
        for datatype, kind in TYPES.items():
            value = (np.array([b"a", b""], object) if datatype == "BYTES" else
                     np.array([1, 0], kind))
            output = Tensor("y", datatype, (2,))
            with self.subTest(datatype=datatype):
                self.write("jsonl", (output,), [(0, {"y": value}, {})])
                plain = {"BYTES": ["a", ""], "BOOL": [True, False]}.get(
                    datatype, [1, 0])
                self.assertEqual(self.lines()[0]["y"], plain)
                self.write("parquet", (output,), [(0, {"y": value}, {})])
                column = pq.read_table(self.folder / "part-00003.parquet")["y"]
                self.assertEqual(
                    column.to_pylist(),
                    [[b"a", b""]] if datatype == "BYTES" else [plain])
                if datatype == "BYTES":
                    continue
                self.write("npy", (output,), [(0, {"y": value}, {})])
                array = np.load(self.folder / "part-00003.y.npy")
                self.assertEqual(array.tolist(), [plain])
                expected = np.float32 if kind is ml_dtypes.bfloat16 else kind
                self.assertEqual(array.dtype, expected)

    def test_columns_are_lists_as_deep_as_the_output(self):
        output = Tensor("y", "INT8", (-1, 2))
        values = [np.ones((2, 2), np.int8), np.zeros((0, 2), np.int8)]
        self.write("parquet", (output,), [(i, {"y": value}, {"at": pa.scalar(i)})
                                          for i, value in enumerate(values)],
                   kinds={"at": pa.int64()})
        table = pq.read_table(self.folder / "part-00003.parquet")
        self.assertEqual(table.column_names, ["row", "at", "y"])
        self.assertEqual(table["y"].to_pylist(), [[[1, 1], [1, 1]], []])
        self.assertEqual(table["at"].to_pylist(), [0, 1])
        self.assertEqual(table["y"].type.value_type.value_type, pa.int8())

    def test_shard_without_results_has_the_types_all_the_same(self):
        outputs = (Tensor("y", "BF16", (-1, 2)),)
        error = RowError(30, "a.jsonl:31", "no", "INTERNAL")
        self.write("parquet", outputs, [], [error], {"at": pa.int8()})
        table = pq.read_table(self.folder / "part-00003.parquet")
        self.assertEqual(table.schema.field("y").type.value_type.value_type,
                         pa.float32())
        self.assertEqual(self.lines("part-00003.errors.jsonl"),
                         [{"row": 30, "place": "a.jsonl:31", "status": "INTERNAL",
                           "error": "no"}])
        self.write("npy", outputs, [], [error])
        self.assertEqual(np.load(self.folder / "part-00003.y.npy").shape, (0, 0, 2))

    def test_name_with_a_slash_is_no_folder(self):
        self.write("npy", (Tensor("a/b", "FP32", (1,)),),
                   [(0, {"a/b": np.ones(1, np.float32)}, {})])
        self.assertEqual(self.names(), ["part-00003.a%2Fb.npy",
                                        "part-00003.row.npy"])

    def test_what_a_format_has_not_is_refused(self):
        with self.assertRaisesRegex(Wrong, "expected numbers for .npy, found str"):
            self.write("npy", (Tensor("y", "BYTES", (1,)),), [])
        with self.assertRaisesRegex(Wrong, "expected rows of one shape for .npy"):
            self.write("npy", (Y,), [row(0, [1]), row(1, [1, 2])])
        with self.assertRaisesRegex(Wrong, "expected strings of UTF-8 for .jsonl"):
            self.write("jsonl", (Tensor("y", "BYTES", (1,)),),
                       [(0, {"y": np.array([b"\xff"], object)}, {})])
        self.assertEqual(self.names(), [])

    def test_what_an_earlier_end_left_of_the_shard_is_removed(self):
        for name in ("part-00003.errors.jsonl", "part-00003.jsonl.aside",
                     "part-00004.jsonl", "part-00003.jsonl"):
            (self.folder / name).write_text("old")
        self.write("jsonl", (Y,), [row(30, [1])])
        self.assertEqual(self.names(), ["part-00003.jsonl", "part-00004.jsonl"])
        self.assertEqual((self.folder / "part-00004.jsonl").read_text(), "old")
        self.assertEqual(len(self.lines()), 1)

    def test_file_has_its_name_once_it_is_synced(self):
        done = []
        real = os.replace, os.fsync

        def replace(source, target):
            done.append(("replace", pathlib.Path(target).name))
            real[0](source, target)

        def fsync(descriptor):
            done.append(("fsync", os.path.basename(
                os.readlink(f"/proc/self/fd/{descriptor}"))))
            real[1](descriptor)

        with mock.patch("os.replace", replace), mock.patch("os.fsync", fsync):
            self.write("jsonl", (Y,), [row(30, [1])])
        self.assertEqual(done, [("fsync", "part-00003.jsonl.aside"),
                                ("replace", "part-00003.jsonl"),
                                ("fsync", self.folder.name)])

    def test_disk_that_takes_no_more_is_told_and_leaves_nothing(self):
        def full(descriptor):
            raise OSError(28, "No space left on device")

        with mock.patch("os.fsync", full):
            with self.assertRaisesRegex(
                    Unable, r"cannot write part-00003 in .*: No space left on "
                    "device; what is finished is kept: make room, and start"):
                self.write("jsonl", (Y,), [row(30, [1])])
        self.assertEqual(self.names(), [])

    def test_files_that_lack_or_are_cut_are_not_there(self):
        files = ShardFiles(self.folder, "jsonl", (Y,))
        written = files.write(3, [row(30, [1])], [])
        self.assertTrue(files.are_there(written))
        with open(self.folder / "part-00003.jsonl", "ab") as stream:
            stream.truncate(3)
        self.assertFalse(files.are_there(written))
        (self.folder / "part-00003.jsonl").unlink()
        self.assertFalse(files.are_there(written))


if __name__ == "__main__":
    unittest.main()
