"""grpcurl as it was published: lists, describes and calls by reflection alone,
and finds nothing where reflection was not asked for."""

import base64
import json
import struct
import unittest

from ferry_process import FerryProcess
from tools import Tool

SERVICE = "inference.GRPCInferenceService"
METHODS = ["ServerLive", "ServerReady", "ModelReady", "ServerMetadata",
           "ModelMetadata", "ModelInfer", "ModelStreamInfer", "ModelConfig",
           "ModelStatistics", "RepositoryIndex", "RepositoryModelLoad",
           "RepositoryModelUnload", "SystemSharedMemoryStatus",
           "SystemSharedMemoryRegister", "SystemSharedMemoryUnregister",
           "CudaSharedMemoryStatus", "CudaSharedMemoryRegister",
           "CudaSharedMemoryUnregister", "TraceSetting", "LogSettings"]
INVALID_ARGUMENT = 64 + 3  # grpcurl's exit code

tool = Tool("grpcurl")
server = None


def setUpModule():
    global server
    tool.require()
    server = FerryProcess("--grpc-reflection", models=["echo"])


def tearDownModule():
    if server:
        server.stop()


def infer_request(values, request_id=""):
    return {"model_name": "echo", "id": request_id,
            "inputs": [{"name": "input", "datatype": "FP32",
                        "shape": [1, len(values)],
                        "contents": {"fp32_contents": values}}]}


class GrpcurlTest(unittest.TestCase):

    def ask(self, *words, request=None):
        flags = ["-plaintext"]
        if request is not None:
            flags += ["-d", request]
        ended = tool.run(*flags, server.address, *words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def call(self, method, **request):
        return json.loads(self.ask(f"{SERVICE}/{method}",
                                   request=json.dumps(request)))

    def test_list(self):
        services = self.ask("list").split()
        self.assertIn(SERVICE, services)
        self.assertIn("grpc.health.v1.Health", services)
        self.assertEqual(sorted(self.ask("list", SERVICE).split()),
                         sorted(f"{SERVICE}.{name}" for name in METHODS))

    def test_describe(self):
        service = self.ask("describe", SERVICE)
        self.assertIn("rpc ModelStreamInfer ( stream .inference."
                      "ModelInferRequest )", service)
        message = self.ask("describe", "inference.ModelInferRequest")
        self.assertIn("repeated bytes raw_input_contents = 7;", message)
        # It stands in the file that the service's file imports.
        self.assertIn("max_batch_size = 4;",
                      self.ask("describe", "inference.ModelConfig"))

    def test_small_calls(self):
        self.assertEqual(self.call("ServerLive"), {"live": True})
        self.assertEqual(self.call("ModelReady", name="echo"),
                         {"ready": True})
        metadata = self.call("ModelMetadata", name="echo")
        self.assertEqual(metadata["inputs"], [
            {"name": "input", "datatype": "FP32", "shape": ["-1", "16"]}])
        config = self.call("ModelConfig", name="echo")["config"]
        self.assertEqual(config["max_batch_size"], 64)
        self.assertEqual(
            json.loads(self.ask("grpc.health.v1.Health/Check")),
            {"status": "SERVING"})

    def values_of(self, answer):
        raw = base64.b64decode(answer["raw_output_contents"][0])
        return list(struct.unpack(f"<{len(raw) // 4}f", raw))

    def test_infer(self):
        values = [number / 2 for number in range(16)]
        answer = self.call("ModelInfer", **infer_request(values, "seven"))
        self.assertEqual(answer["id"], "seven")
        self.assertEqual(answer["outputs"], [
            {"name": "output", "datatype": "FP32", "shape": ["1", "16"]}])
        self.assertEqual(self.values_of(answer), values)

    def test_stream(self):
        requests = [infer_request([number] * 16, str(number))
                    for number in range(3)]
        text = self.ask(f"{SERVICE}/ModelStreamInfer",
                        request="".join(map(json.dumps, requests)))
        decoder = json.JSONDecoder()
        for number in range(3):
            answer, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
            answer = answer["infer_response"]
            self.assertEqual(answer["id"], str(number))
            self.assertEqual(self.values_of(answer), [number] * 16)
        self.assertEqual(text, "")

    def test_error(self):
        ended = tool.run("-plaintext", "-d", json.dumps(infer_request([1, 2])),
                         server.address, f"{SERVICE}/ModelInfer")
        self.assertEqual(ended.returncode, INVALID_ARGUMENT)
        self.assertIn("Expected [-1,16], got [1,2]", ended.stderr)

    def test_no_reflection_unless_asked_for(self):
        with FerryProcess(models=["echo"]) as other:
            for words in (["list"], ["describe", SERVICE],
                          [f"{SERVICE}/ServerLive"]):
                ended = tool.run("-plaintext", other.address, *words)
                self.assertNotEqual(ended.returncode, 0, ended.stdout)
                self.assertIn("does not support the reflection API",
                              ended.stderr)


if __name__ == "__main__":
    unittest.main()
