"""Wrong requests over the wire: each is refused with its code and with what was
expected and found, and the server answers right the next moment."""

import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ferry_process
import wrong_requests
from ferry_process import FerryProcess, echo_config

ferry_process.MODELS |= {
    name: echo_config([("input", "output", data_type, [3])])
    for name, data_type in (("flags", "BOOL"), ("small", "INT8"),
                            ("half", "FP16"))}
TIMEOUT_S = 30

server = None


def setUpModule():
    global server
    server = FerryProcess(models=["echo", "any_shape", "whole", "flags",
                                  "small", "half"])


def tearDownModule():
    server.stop()


def wrong_calls(stub):
    """What to ask of the other RPCs: (what, call, code, expected, found)."""
    return [
        ("readiness of a version that is no number",
         lambda: stub.ModelReady(
             pb.ModelReadyRequest(name="echo", version="new")),
         "INVALID_ARGUMENT", "version", "'new'"),
        ("metadata of an unknown version",
         lambda: stub.ModelMetadata(
             pb.ModelMetadataRequest(name="echo", version="9")),
         "NOT_FOUND", "unknown model", "version 9"),
        ("config of a version that is no number",
         lambda: stub.ModelConfig(
             pb.ModelConfigRequest(name="echo", version="x")),
         "INVALID_ARGUMENT", "expected a number of at least 0", "got 'x'"),
        ("statistics of an unknown model",
         lambda: stub.ModelStatistics(pb.ModelStatisticsRequest(name="none")),
         "NOT_FOUND", "unknown model", "'none'"),
        ("statistics of a version of no model",
         lambda: stub.ModelStatistics(pb.ModelStatisticsRequest(version="1")),
         "INVALID_ARGUMENT", "expected a model name", "got none"),
        ("index of a repository with a name",
         lambda: stub.RepositoryIndex(
             pb.RepositoryIndexRequest(repository_name="r")),
         "UNIMPLEMENTED", "is not supported", "'repository_name'"),
        ("load where clients may not",
         lambda: stub.RepositoryModelLoad(
             pb.RepositoryModelLoadRequest(model_name="echo")),
         "UNAVAILABLE", "expected --model-control-mode=explicit",
         "failed to load 'echo'"),
    ]


class WrongRequestTest(unittest.TestCase):

    def setUp(self):
        self.channel = grpc.insecure_channel(server.address)
        self.addCleanup(self.channel.close)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def refusal(self, call):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        return caught.exception.code().name, caught.exception.details()

    def assertServesRight(self):
        answer = self.stub.ModelInfer(wrong_requests.right_request(),
                                      timeout=TIMEOUT_S)
        self.assertEqual(list(answer.raw_output_contents),
                         [wrong_requests.ROWS])

    def test_each_wrong_request_is_refused_and_the_next_served(self):
        for wrong in wrong_requests.ALL:
            with self.subTest(wrong.what):
                code, text = self.refusal(lambda w=wrong: self.stub.ModelInfer(
                    w.request(), timeout=TIMEOUT_S))
                self.assertEqual(code, wrong.code, text)
                self.assertTrue(text.startswith("[request id: r] "), text)
                self.assertIn(wrong.expected, text)
                self.assertIn(wrong.found, text)
                self.assertLess(len(text), 1000)
                self.assertServesRight()

    def test_wrong_requests_of_a_stream_leave_the_right_ones_between(self):
        requests = []
        for wrong in wrong_requests.ALL:
            requests += [wrong.request(), wrong_requests.right_request()]
        answers = list(self.stub.ModelStreamInfer(iter(requests),
                                                  timeout=TIMEOUT_S))
        self.assertEqual(len(answers), len(requests))
        for wrong, refused, served in zip(wrong_requests.ALL, answers[::2],
                                          answers[1::2]):
            with self.subTest(wrong.what):
                self.assertIn(wrong.expected, refused.error_message)
                self.assertIn(wrong.found, refused.error_message)
                self.assertEqual(refused.infer_response.id, "r")
                self.assertEqual(served.error_message, "")
                self.assertEqual(served.infer_response.raw_output_contents[0],
                                 wrong_requests.ROWS)

    def test_each_truncation_of_a_request_is_refused(self):
        send = self.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer")
        whole = wrong_requests.right_request().SerializeToString()
        for size in range(len(whole)):
            code, text = self.refusal(
                lambda s=size: send(whole[:s], timeout=TIMEOUT_S))
            self.assertIn(code, ("INVALID_ARGUMENT", "NOT_FOUND"),
                          f"{size} bytes: {text}")
        self.assertServesRight()

    def test_each_wrong_question_is_refused(self):
        for what, call, code, expected, found in wrong_calls(self.stub):
            with self.subTest(what):
                got, text = self.refusal(call)
                self.assertEqual(got, code, text)
                self.assertIn(expected, text)
                self.assertIn(found, text)
                self.assertServesRight()


if __name__ == "__main__":
    unittest.main()
