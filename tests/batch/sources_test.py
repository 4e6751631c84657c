"""sources_test reads rows of odd files, from the beginning and from the middle."""

import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ferry_batch import sources
from ferry_batch.failures import RowError, Wrong
from ferry_batch.model import Model, Tensor
from ferry_batch.sources import Row

MODEL = Model("m", "1", (Tensor("x", "FP32", (-1,)), Tensor("t", "BYTES", (1,), True)),
              (), 8, 0, 1)


class SourceCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-batch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content=b""):
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def open(self, *arguments, kept=()):
        source = sources.open_source(arguments)
        source.match(MODEL, list(kept))
        return source

    def assertWrong(self, text, *arguments, **options):
        with self.assertRaises(Wrong) as raised:
            self.open(*arguments, **options)
        self.assertIn(text, str(raised.exception))


class JsonLinesTest(SourceCase):

    def rows(self, *contents, first=0):
        """Returns (number, name and line, values or error) of each row."""
        names = [self.file(f"{i}.jsonl", each) for i, each in enumerate(contents)]
        source = self.open(*names)
        rows = list(source.rows(first))
        self.assertEqual(first + len(rows), max(source.count, first))
        return [(row.number, row.place.rsplit("/", 1)[1],
                 row.values if isinstance(row, Row) else row.text) for row in rows]

    def test_empty_lines_marks_and_ends_of_lines_are_no_matter(self):
        self.assertEqual(
            self.rows(b'\xef\xbb\xbf{"x":1}\r\n\r\n{"x":2}\r\n', b"", b"\xef\xbb\xbf\n",
                      b'\n{"x":3}'),
            [(0, "0.jsonl:1", {"x": 1}), (1, "0.jsonl:3", {"x": 2}),
             (2, "3.jsonl:2", {"x": 3})])
        self.assertEqual(self.rows(b""), [])
        self.assertIn("no JSON", self.rows(b'{"x":1}\n\xef\xbb\xbf{"x":1}')[1][2])

    def test_what_is_no_object_is_an_error_of_its_row(self):
        expected = "expected a JSON object, found "
        found = self.rows(b'[1]\n1\n"a"\nnull\ntrue\n{"x":NaN}\n{"x":1')
        self.assertEqual([text for _, _, text in found[:5]],
                         [expected + each for each in (
                             "an array", "a number", "a string", "null",
                             "true or false")])
        for _, _, text in found[5:]:
            self.assertIn(expected + "what is no JSON: ", text)

    def test_deep_and_huge_lines_are_rows(self):
        deep, huge = self.rows(b"[" * 5000 + b'\n{"t":"' + b"a" * (5 << 20) + b'"}')
        self.assertIn("no JSON", deep[2])
        self.assertEqual(len(huge[2]["t"]), 5 << 20)

    def test_rows_begin_anywhere(self):
        lines = [b'{"x":%d}\n' % i for i in range(10)]
        contents = [b"\n".join(lines[:4]), b"".join(lines[4:5]),
                    b"".join(lines[5:])]
        whole = self.rows(*contents)
        self.assertEqual([values["x"] for _, _, values in whole], list(range(10)))
        with mock.patch.object(sources, "STRIDE", 2):
            for first in range(11):
                self.assertEqual(self.rows(*contents, first=first), whole[first:])

    def test_files_are_told_apart(self):
        one, two = (self.open(self.file("a.jsonl", each)).files
                    for each in (b'{"x":1}', b'{"x":2}'))
        self.assertEqual((one[0]["name"], one[0]["bytes"]), ("a.jsonl", 7))
        self.assertNotEqual(one, two)


class ArraysTest(SourceCase):

    def save(self, name, array):
        np.save(self.folder / name, array)
        return str(self.folder / name)

    def test_only_input_needs_no_name(self):
        path = self.save("a.npy", np.arange(6).reshape(3, 2))
        source = sources.open_source([path])
        source.match(Model("m", "1", MODEL.inputs[:1], (), 8, 0, 1), [])
        self.assertEqual(source.files[0]["input"], "x")
        self.assertEqual(
            [(row.number, row.place, row.values["x"].tolist())
             for row in source.rows(1)],
            [(1, f"{path}: row 1", [2, 3]), (2, f"{path}: row 2", [4, 5])])

    def test_names_are_held_against_the_inputs(self):
        path = self.save("a.npy", np.zeros(3))
        self.assertWrong("expected NAME=FILE of each .npy file", path)
        self.assertWrong("the model has the inputs x, t", f"y={path}")
        other = self.save("b.npy", np.zeros(3))
        self.assertWrong("each with another NAME", f"x={path}", f"x={other}")
        self.assertWrong("each with another NAME", f"x={path}", other)
        self.assertEqual(self.open(f"x={path}", f"t={other}").count, 3)

    def test_file_with_an_equals_sign_is_a_file(self):
        (self.folder / "day=1").mkdir()
        source = sources.open_source([self.save("day=1/a.npy", np.zeros(3))])
        self.assertEqual(source.count, 3)

    def test_arrays_of_other_lengths_and_other_files_are_refused(self):
        path = self.save("a.npy", np.zeros(3))
        self.assertWrong("b.npy: expected 3 rows as in a.npy, found 2", f"x={path}",
                         f"t={self.save('b.npy', np.zeros(2))}")
        self.assertWrong("expected an array of rows, found one number",
                         f"x={self.save('c.npy', np.float32(1))}")
        self.assertWrong("expected an array of NumPy",
                         f"x={self.file('d.npy', b'no')}")
        self.assertWrong("expected an array of NumPy", f"x={self.file('e.npy')}")
        objects = self.folder / "f.npy"
        np.save(objects, np.array([{}], object), allow_pickle=True)
        self.assertWrong("expected an array of NumPy", f"x={objects}")

    def test_no_rows_are_no_error(self):
        path = self.save("a.npy", np.zeros((0, 2)))
        self.assertEqual(list(self.open(f"x={path}").rows(0)), [])


class ParquetTest(SourceCase):

    def save(self, name, rows=0, **columns):
        pq.write_table(pa.table(columns), self.folder / name,
                       **({"row_group_size": rows} if rows else {}))
        return str(self.folder / name)

    def test_rows_begin_anywhere(self):
        names = [self.save("a.parquet", 3, x=[[i, i] for i in range(7)]),
                 self.save("b.parquet", x=pa.array([], pa.list_(pa.int64()))),
                 self.save("c.parquet", 2, x=[[i, i] for i in range(7, 10)])]
        source = self.open(*names)
        self.assertEqual(source.count, 10)
        for first in range(11):
            with mock.patch.object(sources, "BATCH_ROWS", 2):
                rows = list(source.rows(first))
            self.assertEqual([(row.number, row.values["x"].tolist()) for row in rows],
                             [(i, [i, i]) for i in range(first, 10)])
        self.assertEqual(rows, [])
        self.assertEqual(list(source.rows(8))[0].place, f"{names[2]}: row 1")

    def test_kept_columns_keep_their_type_and_others_are_not_read(self):
        stamps = pa.array([1, 2**62 + 1], pa.timestamp("ns"))
        path = self.save("a.parquet", x=[[1], [2]], at=stamps, more=[1, 2])
        source = self.open(path, kept=["at"])
        self.assertEqual(source.kinds, {"at": stamps.type})
        rows = list(source.rows(0))
        self.assertEqual(list(rows[0].values), ["x", "at"])
        self.assertEqual(
            pa.array([row.values["at"] for row in rows], stamps.type), stamps)

    def test_columns_that_lack_are_told_at_once(self):
        path = self.save("a.parquet", y=[1])
        self.assertWrong("a.parquet: expected a column 'x', found y", path)
        one, two = (self.save(f"{kind}.parquet", x=[1], k=pa.array([1], kind))
                    for kind in (pa.int64(), pa.int32()))
        self.assertWrong("the column 'k' in the type int64 of the first file, found "
                         "int32", one, two, kept=["k"])
        self.assertWrong("expected a file of Parquet",
                         self.file("b.parquet", b"PAR1"))

    def test_damaged_file_is_told(self):
        path = self.save("a.parquet", x=list(range(1000)))
        source = self.open(path)
        content = bytearray(pathlib.Path(path).read_bytes())
        content[4:2000] = bytes(1996)
        pathlib.Path(path).write_bytes(content)
        with self.assertRaisesRegex(Wrong, "expected a whole file of Parquet"):
            list(source.rows(0))

    def test_numbers_come_as_arrays(self):
        nested = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
        fixed = pa.list_(pa.list_(pa.int8(), 2), 2)
        for kind in (pa.list_(pa.list_(pa.int8())), fixed,
                     pa.large_list(pa.list_(pa.int8(), 2))):
            found = sources.values(pa.array([None, *nested, None], kind).slice(1, 2))
            self.assertIsInstance(found, np.ndarray)
            self.assertEqual(found.tolist(), nested)
        ragged = sources.values(pa.array([[9], [1, 2], []]).slice(1))
        self.assertEqual([each.tolist() for each in ragged], [[1, 2], []])

    def test_nulls_strings_and_ragged_lists_come_as_they_are(self):
        for value in ([[1, None], [2, 3]], [[1], None], [1, None], [["a"], [""]],
                      [[[1], [2, 3]], [[4]]], [True, False], [b"a", b"b"]):
            self.assertEqual(sources.values(pa.array(value)), value)
        self.assertEqual(
            sources.values(pa.array([[1, None]], pa.list_(pa.int8(), 2))), [[1, None]])


class OpenTest(SourceCase):

    def test_files_are_of_one_kind_that_is_known(self):
        one = self.file("a.jsonl")
        self.assertWrong("found a.txt, b", "a.txt", "b")
        self.assertWrong("all end in .jsonl, in .npy or in .parquet", one, "a.npy")
        self.assertWrong(f"expected each file once, found {one} twice", one, one)
        self.assertWrong("cannot read none.jsonl: No such file", "none.jsonl")
        self.assertWrong("cannot read none.npy: No such file", "x=none.npy")
        self.assertWrong("cannot read none.parquet: No such", "none.parquet")


class GroupsTest(unittest.TestCase):

    def groups(self, *values, most=100, most_bytes=1 << 20, kept=()):
        """Returns the numbers of the rows of each group, or the error."""
        rows = [each if isinstance(each, RowError) else Row(number, "p", each)
                for number, each in enumerate(values)]
        return [found.text if isinstance(found, RowError) else
                [row.number for row, _ in found]
                for found in sources.groups(rows, MODEL, kept, most, most_bytes)]

    def test_groups_are_bounded_by_rows_and_bytes(self):
        row = {"x": [1, 2]}
        self.assertEqual(self.groups(*[row] * 5, most=2), [[0, 1], [2, 3], [4]])
        self.assertEqual(self.groups(*[row] * 3, most_bytes=16), [[0, 1], [2]])
        self.assertEqual(self.groups(row, row, most_bytes=1), [[0], [1]])
        text = {"x": [], "t": "abc"}
        self.assertEqual(self.groups(text, text, text, most_bytes=14), [[0, 1], [2]])

    def test_rows_of_a_group_have_equal_shapes_and_inputs(self):
        self.assertEqual(
            self.groups({"x": [1]}, {"x": [2]}, {"x": [1, 2]}, {"x": [1, 2], "t": "a"}),
            [[0, 1], [2], [3]])

    def test_errors_come_among_groups_and_kept_values_are_no_inputs(self):
        self.assertEqual(
            self.groups({"x": [1], "id": 1}, {"y": 1}, RowError(2, "p", "bad"),
                        {"x": [2]}, kept=["id"]),
            ["expected the inputs 'x', 't', found 'y'; --keep writes what is no input "
             "beside the outputs", "bad", [0, 3]])


if __name__ == "__main__":
    unittest.main()
