"""A client that knows nothing but reflection finds services and messages, and
calls with messages made from what it found."""

import unittest

import grpc
import numpy as np
from google.protobuf import json_format, message_factory

from ferry_process import FerryProcess
from reflected import REFLECTION, Reflection

SERVICE = "inference.GRPCInferenceService"


class ReflectionTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--grpc-reflection", models=["echo"])
        cls.channel = grpc.insecure_channel(cls.server.address)
        cls.reflection = Reflection(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.stop()

    def call(self, name, /, **request):
        method = self.reflection.service(SERVICE).methods_by_name[name]
        sent = json_format.ParseDict(
            request, message_factory.GetMessageClass(method.input_type)())
        send = self.channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=type(sent).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(
                method.output_type).FromString)
        return send(sent)

    def test_services_are_listed(self):
        self.assertEqual(sorted(self.reflection.services()),
                         ["grpc.health.v1.Health", REFLECTION, SERVICE])

    def test_every_method_has_its_messages(self):
        methods = self.reflection.service(SERVICE).methods
        self.assertEqual(len(methods), 20)
        for method in methods:
            for message in (method.input_type, method.output_type):
                self.assertEqual(message.full_name,
                                 f"inference.{message.name}")

    def test_what_was_learned_can_be_called(self):
        self.assertTrue(self.call("ServerLive").live)
        metadata = self.call("ModelMetadata", name="echo")
        self.assertEqual(list(metadata.inputs[0].shape), [-1, 16])
        config = self.call("ModelConfig", name="echo").config
        self.assertEqual(config.max_batch_size, 64)
        answer = self.call("ModelInfer", model_name="echo", inputs=[{
            "name": "input", "datatype": "FP32", "shape": [1, 16],
            "contents": {"fp32_contents": list(range(16))}}])
        np.testing.assert_array_equal(
            np.frombuffer(answer.raw_output_contents[0], np.float32),
            np.arange(16))


if __name__ == "__main__":
    unittest.main()
