"""Compressed messages: refused unless a flag takes them, and then both ways."""

import socket
import threading
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess

ROW = 1 << 18  # floats of the model "wide": 1 MiB
BOMB_BYTES = 128 << 20


class Relay:
    """Passes bytes between clients and a server, and counts them."""

    def __init__(self, port):
        self.port = port
        self.sent = self.received = 0  # by clients
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for source, target, count in ((client, server, "sent"),
                                          (server, client, "received")):
                threading.Thread(target=self._pass, daemon=True,
                                 args=(source, target, count)).start()

    def _pass(self, source, target, count):
        try:
            while data := source.recv(1 << 16):
                setattr(self, count, getattr(self, count) + len(data))
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            end.close()


def zeros(rows=1):
    tensor = triton.InferInput("input", [rows, ROW], "FP32")
    tensor.set_data_from_numpy(np.zeros((rows, ROW), np.float32))
    return [tensor]


def peak_bytes(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) << 10
    raise RuntimeError("no VmHWM")


class CompressionTest(unittest.TestCase):

    def infer(self, address, algorithm):
        """Returns the bytes (sent, received) of one request of zeros."""
        relay = Relay(int(address.rsplit(":", 1)[1]))
        with triton.InferenceServerClient(relay.address) as client:
            client.is_server_live()
            before = relay.sent, relay.received
            result = client.infer("wide", zeros(),
                                  compression_algorithm=algorithm)
            self.assertFalse(result.as_numpy("output").any())
            used = relay.sent - before[0], relay.received - before[1]
        relay.listener.close()
        return used

    def refusal(self, address, algorithm):
        with triton.InferenceServerClient(address) as client:
            with self.assertRaises(InferenceServerException) as caught:
                client.infer("wide", zeros(), compression_algorithm=algorithm)
        return caught.exception

    def test_off_by_default(self):
        with FerryProcess(models=["wide"]) as server:
            sent, received = self.infer(server.address, None)
            self.assertGreater(sent, ROW * 4)
            self.assertGreater(received, ROW * 4)
            for algorithm in ("gzip", "deflate"):
                error = self.refusal(server.address, algorithm)
                self.assertEqual(error.status(), "StatusCode.UNIMPLEMENTED")
                self.assertIn(f"'{algorithm}' is disabled", error.message())
            self.infer(server.address, None)  # serves on

    def test_compressed_bytes_are_not_inflated_by_default(self):
        with FerryProcess(models=["wide"]) as server:
            self.infer(server.address, None)
            before = peak_bytes(server)
            with grpc.insecure_channel(server.address, options=[
                    ("grpc.max_send_message_length", -1)]) as channel:
                request = pb.ModelInferRequest(model_name="wide")
                request.raw_input_contents.append(bytes(BOMB_BYTES))
                stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                for call in (lambda: stub.ModelInfer(
                                 request, compression=grpc.Compression.Gzip),
                             lambda: list(stub.ModelStreamInfer(
                                 iter([request]),
                                 compression=grpc.Compression.Gzip))):
                    with self.assertRaises(grpc.RpcError) as caught:
                        call()
                    self.assertEqual(caught.exception.code(),
                                     grpc.StatusCode.UNIMPLEMENTED)
            self.assertLess(peak_bytes(server) - before, 32 << 20)

    def test_the_flag_takes_its_algorithm_both_ways(self):
        for algorithm, other in (("gzip", "deflate"), ("deflate", "gzip")):
            with FerryProcess(f"--grpc-compression={algorithm}",
                              models=["wide"]) as server:
                sent, received = self.infer(server.address, algorithm)
                self.assertLess(sent, ROW)
                self.assertLess(received, ROW)
                sent, _ = self.infer(server.address, None)
                self.assertGreater(sent, ROW * 4)
                error = self.refusal(server.address, other)
                self.assertEqual(error.status(), "StatusCode.UNIMPLEMENTED")

    def test_inflated_requests_are_held_to_the_bound(self):
        with FerryProcess("--grpc-compression=gzip",
                          f"--grpc-max-message-bytes={2 << 20}",
                          models=["wide"]) as server:
            with triton.InferenceServerClient(server.address) as client:
                with self.assertRaises(InferenceServerException) as caught:
                    client.infer("wide", zeros(4),
                                 compression_algorithm="gzip")
            self.assertEqual(caught.exception.status(),
                             "StatusCode.RESOURCE_EXHAUSTED")
            self.infer(server.address, "gzip")


if __name__ == "__main__":
    unittest.main()
