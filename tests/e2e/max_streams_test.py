"""How many calls a connection may have under way, as gRPC tells the client."""

import queue
import socket
import struct
import unittest

import numpy as np
import tritonclient.grpc as triton

from ferry_process import FerryProcess

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SETTINGS = 4  # the type of frame
MAX_CONCURRENT_STREAMS = 3
TIMEOUT_S = 30


def told(address):
    """Returns what the server's first SETTINGS frame says (RFC 9113, 6.5)."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as peer:
        peer.sendall(PREFACE + EMPTY_SETTINGS)
        stream = peer.makefile("rb")
        while True:
            head = stream.read(9)
            body = stream.read(int.from_bytes(head[:3], "big"))
            if head[3] == SETTINGS and body:
                return dict(struct.iter_unpack(">HI", body))[
                    MAX_CONCURRENT_STREAMS]


class StreamsTest(unittest.TestCase):

    def test_small_models_have_the_least(self):
        with FerryProcess(models=["echo"]) as server:  # of 64 rows
            self.assertEqual(told(server.address), 256)

    def test_four_batches_an_instance_of_the_largest_model(self):
        with FerryProcess(models=["echo", "slow_wide"]) as server:  # 64, 128
            self.assertEqual(told(server.address), 4 * 128)

    def test_what_is_past_the_bound_waits_and_is_answered(self):
        with FerryProcess("--grpc-max-streams", "2", models=["sim"]) as server:
            self.assertEqual(told(server.address), 2)
            answers = queue.Queue()
            with triton.InferenceServerClient(server.address) as client:
                tensor = triton.InferInput("input", [1, 16], "FP32")
                tensor.set_data_from_numpy(np.ones((1, 16), np.float32))
                for _ in range(50):
                    client.async_infer("sim", [tensor],
                                       lambda result, error: answers.put(error))
                for _ in range(50):
                    self.assertIsNone(answers.get(timeout=TIMEOUT_S))


if __name__ == "__main__":
    unittest.main()
