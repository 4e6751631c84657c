"""Every data type through tritonclient and through typed contents, with the
values at its ends: each comes back bit by bit."""

import unittest

import grpc
import ml_dtypes
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import np_to_triton_dtype

import ferry_process
from ferry_process import FerryProcess, TYPES, echo_config

NUMPY = {"BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16,
         "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
         "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
         "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
         "BF16": ml_dtypes.bfloat16}

# The field of InferTensorContents; FP16 and BF16 have none, they come raw.
FIELDS = {"BOOL": "bool_contents", "UINT8": "uint_contents",
          "UINT16": "uint_contents", "UINT32": "uint_contents",
          "UINT64": "uint64_contents", "INT8": "int_contents",
          "INT16": "int_contents", "INT32": "int_contents",
          "INT64": "int64_contents", "FP32": "fp32_contents",
          "FP64": "fp64_contents"}

ferry_process.MODELS |= {
    f"only_{name}": echo_config([("input", "output", name, [3])])
    for name in FIELDS}

server = None


def setUpModule():
    global server
    server = FerryProcess(models=["types", *(f"only_{name}"
                                            for name in FIELDS)])


def tearDownModule():
    server.stop()


def end_values(name):
    """Returns [2, 3] of that type, its least and greatest among them."""
    kind = NUMPY[name]
    if name == "BOOL":
        values = [True, False, False, True, True, False]
    elif np.issubdtype(kind, np.integer):
        ends = np.iinfo(kind)
        values = [ends.min, ends.max, 0, 1, ends.max // 3, ends.min // 3]
    else:
        ends = ml_dtypes.finfo(kind)
        values = [ends.min, ends.max, ends.smallest_subnormal, -0.0, np.inf,
                  np.nan]
    return np.array(values, dtype=kind).reshape(2, 3)


class TypesTest(unittest.TestCase):

    def test_numpy_arrays_come_back_bit_by_bit(self):
        inputs = []
        for name in TYPES:
            tensor = triton.InferInput(f"in_{name}", [2, 3], name)
            tensor.set_data_from_numpy(end_values(name))
            inputs.append(tensor)
        with triton.InferenceServerClient(server.address) as client:
            result = client.infer("types", inputs)
        for name in TYPES:
            sent, got = end_values(name), result.as_numpy(f"out_{name}")
            self.assertEqual(got.shape, (2, 3), name)
            if name != "BF16":  # that one comes back as the client reads it
                self.assertEqual(np_to_triton_dtype(got.dtype), name)
            self.assertEqual(got.astype(NUMPY[name]).tobytes(), sent.tobytes(),
                             name)

    def test_typed_contents_come_back_bit_by_bit(self):
        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            for name, field in FIELDS.items():
                sent = end_values(name)
                request = pb.ModelInferRequest(model_name=f"only_{name}")
                tensor = request.inputs.add(name="input", datatype=name,
                                            shape=[2, 3])
                getattr(tensor.contents, field).extend(sent.ravel().tolist())
                reply = stub.ModelInfer(request)
                self.assertEqual(list(reply.raw_output_contents),
                                 [sent.tobytes()], name)
                self.assertEqual(reply.outputs[0].datatype, name)


if __name__ == "__main__":
    unittest.main()
