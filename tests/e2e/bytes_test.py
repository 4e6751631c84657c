"""Texts and bytes as tensors (BYTES): every element comes back as it was sent,
whatever its length and its company; wrong lengths are refused."""

import concurrent.futures
import struct
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ferry_process
from ferry_process import FerryProcess, echo_config

ferry_process.MODELS |= {
    "texts": echo_config([("input", "output", "STRING", [2])], 8)}

ELEMENTS = [b"", b"a", "größer ☃".encode(), bytes(range(256)), b"\0" * 5,
            b"long " * 20_000, b"four", b"\xff\xfe"]

server = None


def setUpModule():
    global server
    server = FerryProcess(models=["texts"])


def tearDownModule():
    server.stop()


def framed(*elements):
    return b"".join(struct.pack("<I", len(e)) + e for e in elements)


def request_of(raw, rows=1):
    request = pb.ModelInferRequest(model_name="texts", id="r")
    request.inputs.add(name="input", datatype="BYTES", shape=[rows, 2])
    request.raw_input_contents.append(raw)
    return request


# Raw contents for one row of two elements: (what, bytes, expected, found).
WRONG = [
    ("no bytes", b"", "expected 2 elements", "got 0"),
    ("an element less", framed(b"one"), "expected 2 elements", "got 1"),
    ("an element more", framed(b"1", b"2", b"3"), "expected 2 elements",
     "got 5 bytes behind"),
    ("half a length", framed(b"one") + b"\1\0", "a length of 4 bytes",
     "got 2 bytes"),
    ("fewer bytes than the length says", framed(b"one", b"three")[:-1],
     "expected 5 bytes", "got 4"),
    ("length past all bounds", framed(b"one") + b"\xff\xff\xff\xff",
     "expected 4294967295 bytes", "got 0"),
]


class BytesTest(unittest.TestCase):

    def setUp(self):
        self.channel = grpc.insecure_channel(server.address)
        self.addCleanup(self.channel.close)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def test_arrays_of_objects_come_back(self):
        values = np.array(ELEMENTS, dtype=np.object_).reshape(-1, 2)
        tensor = triton.InferInput("input", list(values.shape), "BYTES")
        tensor.set_data_from_numpy(values)
        with triton.InferenceServerClient(server.address) as client:
            got = client.infer("texts", [tensor]).as_numpy("output")
        self.assertEqual(got.tolist(), values.tolist())

    def test_typed_contents_come_back_raw(self):
        request = request_of(b"", rows=len(ELEMENTS) // 2)
        del request.raw_input_contents[:]
        request.inputs[0].contents.bytes_contents.extend(ELEMENTS)
        reply = self.stub.ModelInfer(request)
        self.assertEqual(list(reply.raw_output_contents), [framed(*ELEMENTS)])

    def test_requests_of_many_sizes_share_batches(self):
        def ask(number):
            raw = framed(b"x" * (number * 37 % 101), str(number).encode())
            return self.stub.ModelInfer(
                request_of(raw)).raw_output_contents[0] == raw
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertTrue(all(pool.map(ask, range(300))))

    def test_more_rows_than_a_batch_holds(self):
        elements = [b"e" * (number % 19) for number in range(50)]
        reply = self.stub.ModelInfer(request_of(framed(*elements), rows=25))
        self.assertEqual(list(reply.raw_output_contents), [framed(*elements)])

    def test_wrong_lengths_are_refused_and_the_next_served(self):
        right = framed(b"right", b"")
        for what, raw, expected, found in WRONG:
            with self.subTest(what):
                with self.assertRaises(grpc.RpcError) as caught:
                    self.stub.ModelInfer(request_of(raw))
                self.assertEqual(caught.exception.code(),
                                 grpc.StatusCode.INVALID_ARGUMENT)
                text = caught.exception.details()
                self.assertIn("input 'input' for model 'texts'", text)
                self.assertIn(expected, text)
                self.assertIn(found, text)
                reply = self.stub.ModelInfer(request_of(right))
                self.assertEqual(reply.raw_output_contents[0], right)


if __name__ == "__main__":
    unittest.main()
