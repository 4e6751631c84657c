"""model_test makes tensors of values, requests of tensors and rows of answers."""

import unittest

import ml_dtypes
import numpy as np
from ferry_batch.failures import Wrong
from ferry_batch.model import TYPES, Model, Tensor
from tritonclient.grpc import model_config_pb2
from tritonclient.grpc import service_pb2 as pb


def model(*inputs, outputs=(), max_batch_size=8):
    return Model("m", "1", inputs, outputs, max_batch_size, 0, 1)


class TensorTest(unittest.TestCase):

    def assertRefused(self, datatype, shape, value, text):
        with self.assertRaises(ValueError) as raised:
            Tensor("x", datatype, shape).array(value)
        self.assertEqual(str(raised.exception), f"x: expected {text}")

    def test_values_become_the_type(self):
        for datatype, kind in TYPES.items():
            value = {"BOOL": [True, False], "BYTES": ["a", "b"]}.get(
                datatype, [1, 2])
            array = Tensor("x", datatype, (2,)).array(value)
            self.assertEqual(array.dtype, kind)

    def test_shape_is_held_against_the_model(self):
        self.assertRefused("FP32", (3,), [1, 2], "the shape [3], found [2]")
        self.assertRefused("FP32", (-1, 2), [1, 2], "the shape [-1, 2], found [2]")
        self.assertRefused("FP32", (2,), [[1], [2, 3]],
                           "lists of equal length, found others")
        self.assertEqual(Tensor("x", "FP32", (-1, 2)).array([[1, 2]]).shape, (1, 2))
        self.assertEqual(Tensor("x", "FP32", (-1,)).array([]).shape, (0,))

    def test_one_value_needs_no_list(self):
        self.assertEqual(Tensor("x", "FP32", (1,)).array(5).tolist(), [5])
        self.assertEqual(Tensor("x", "BYTES", (1, 1)).array("a").tolist(), [[b"a"]])

    def test_other_types_are_refused(self):
        self.assertRefused("FP32", (1,), "1", "FP32, found '1'")
        self.assertRefused("FP32", (1,), [None], "FP32, found [None]")
        self.assertRefused("FP32", (1,), [True], "FP32, found [True]")
        self.assertRefused("INT8", (1,), [1.5], "INT8, found [1.5]")
        self.assertRefused("BOOL", (1,), [1], "BOOL, found [1]")
        self.assertRefused("BYTES", (1,), [1], "strings, found 1")
        self.assertRefused("BYTES", (1,), [["a"], ["b", "c"]], "strings, found ['a']")

    def test_numbers_that_the_type_has_not_are_refused(self):
        self.assertRefused("INT8", (1,), [128], "INT8, -128 to 127, found [128]")
        self.assertRefused("UINT64", (1,), [-1],
                           "UINT64, 0 to 18446744073709551615, found [-1]")
        self.assertRefused("FP16", (1,), [65536], "a number that FP16 has, found "
                           "[65536]")
        self.assertRefused("FP32", (1,), [1e39], "a number that FP32 has, found "
                           "[1e+39]")
        largest = Tensor("x", "UINT64", (1,)).array([2**64 - 1])
        self.assertEqual(int(largest[0]), 2**64 - 1)

    def test_what_is_no_number_passes(self):
        array = Tensor("x", "FP16", (3,)).array(
            np.array([np.nan, np.inf, -np.inf], np.float32))
        self.assertEqual(str(array.tolist()), "[nan, inf, -inf]")

    def test_bf16_of_a_file_keeps_its_bits(self):
        given = np.array([1.5, 2], ml_dtypes.bfloat16)
        array = Tensor("x", "BF16", (2,)).array(given.view("V2"))
        self.assertEqual(array.tobytes(), given.tobytes())

    def test_long_values_are_cut_and_on_one_line(self):
        with self.assertRaises(ValueError) as raised:
            Tensor("x", "INT8", (1,)).array(np.full((50, 50), 0.5))
        self.assertLess(len(str(raised.exception)), 100)
        self.assertNotIn("\n", str(raised.exception))


class ModelTest(unittest.TestCase):

    def test_batch_dimension_is_no_part_of_a_row(self):
        for most, shape in ((4, (2,)), (0, (-1, 2))):
            metadata = pb.ModelMetadataResponse(name="m", versions=["9", "10"])
            metadata.inputs.add(name="x", datatype="FP32", shape=[-1, 2])
            config = model_config_pb2.ModelConfig(max_batch_size=most)
            config.input.add(name="x", optional=True)
            found = Model.of(metadata, config)
            self.assertEqual(found.inputs, (Tensor("x", "FP32", shape, True),))
            self.assertEqual((found.version, found.instances), ("10", 1))

    def test_models_of_no_use_are_refused(self):
        metadata = pb.ModelMetadataResponse(name="m")
        config = model_config_pb2.ModelConfig()
        with self.assertRaisesRegex(Wrong, "expected a version that serves"):
            Model.of(metadata, config)
        metadata.versions.append("1")
        metadata.inputs.add(name="x", datatype="FP8", shape=[1])
        with self.assertRaisesRegex(Wrong, "tensor 'x': expected .*found 'FP8'"):
            Model.of(metadata, config)

    def test_names_are_held_against_the_inputs(self):
        found = model(Tensor("a", "FP32", (1,)), Tensor("b", "FP32", (1,), True))
        self.assertEqual(list(found.arrays({"a": 1, "b": None})), ["a"])
        for values, text in (
                ({"a": 1, "c": 1}, "expected the inputs 'a', 'b', found 'c'; --keep "
                 "writes what is no input beside the outputs"),
                ({"b": 1}, "expected the inputs 'a', 'b', found no 'a'")):
            with self.assertRaises(ValueError) as raised:
                found.arrays(values)
            self.assertEqual(str(raised.exception), text)

    def test_request_and_answer_carry_strings(self):
        tensor = Tensor("x", "BYTES", (2,))
        found = model(tensor, outputs=(tensor,))
        rows = [found.arrays({"x": ["a", ""]}), found.arrays({"x": ["\u00e9", "d"]})]
        request = found.request(rows, 0)
        self.assertEqual(tuple(request.inputs[0].shape), (2, 2))
        self.assertEqual(len(request.parameters), 0)
        answer = pb.ModelInferResponse()
        answer.outputs.add(name="x", datatype="BYTES", shape=[2, 2])
        answer.raw_output_contents.append(request.raw_input_contents[0])
        self.assertEqual([row["x"].tolist() for row in found.results(answer, 2)],
                         [[b"a", b""], ["\u00e9".encode(), b"d"]])

    def test_model_without_batches_has_one_row(self):
        tensor = Tensor("x", "FP32", (2, 3))
        found = model(tensor, outputs=(tensor,), max_batch_size=0)
        request = found.request([found.arrays({"x": np.ones((2, 3))})], 0)
        self.assertEqual(tuple(request.inputs[0].shape), (2, 3))
        answer = pb.ModelInferResponse()
        answer.outputs.add(name="x", datatype="FP32", shape=[2, 3])
        answer.raw_output_contents.append(request.raw_input_contents[0])
        self.assertEqual(found.results(answer, 1)[0]["x"].shape, (2, 3))

    def test_answers_that_lack_something_are_refused(self):
        found = model(outputs=(Tensor("y", "FP32", ()),))
        answer = pb.ModelInferResponse()
        with self.assertRaisesRegex(ValueError, "expected an output 'y'"):
            found.results(answer, 1)
        answer.outputs.add(name="y", datatype="FP32", shape=[1])
        with self.assertRaisesRegex(ValueError, "1 raw_output_contents, found 0"):
            found.results(answer, 1)
        answer.raw_output_contents.append(b"\0" * 8)
        with self.assertRaisesRegex(ValueError, "reshape"):
            found.results(answer, 1)
        answer.raw_output_contents[0] = b"\0" * 4
        self.assertIsInstance(found.results(answer, 1)[0]["y"], np.ndarray)


if __name__ == "__main__":
    unittest.main()
