"""A client that knows nothing but reflection: it finds services and messages as
grpcurl does, and calls with messages made from what it found."""

import unittest

import grpc
import numpy as np
from google.protobuf import (descriptor_pb2, descriptor_pool, json_format,
                             message_factory)

from ferry_process import FerryProcess

REFLECTION = "grpc.reflection.v1alpha.ServerReflection"
SERVICE = "inference.GRPCInferenceService"


def reflection_messages():
    """Returns (request, response) classes: the few fields used here."""
    file = descriptor_pb2.FileDescriptorProto(
        name="reflection.proto", package="reflected", syntax="proto3")

    def message(name, *fields):
        kind = file.message_type.add(name=name)
        for field, number, label, type_name in fields:
            kind.field.add(
                name=field, number=number,
                label=label, type_name=type_name or None,
                type=(descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                      if type_name else
                      descriptor_pb2.FieldDescriptorProto.TYPE_BYTES))
    one = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    many = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    message("Request", ("file_by_filename", 3, one, ""),
            ("file_containing_symbol", 4, one, ""),
            ("list_services", 7, one, ""))
    message("Files", ("files", 1, many, ""))
    message("Service", ("name", 1, one, ""))
    message("Services", ("services", 1, many, ".reflected.Service"))
    message("Response", ("files", 4, one, ".reflected.Files"),
            ("services", 6, one, ".reflected.Services"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"reflected.{name}"))
        for name in ("Request", "Response")]


Request, Response = reflection_messages()


class ReflectionTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--grpc-reflection", models=["echo"])
        cls.channel = grpc.insecure_channel(cls.server.address)
        cls.pool = descriptor_pool.DescriptorPool()

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.stop()

    def reflect(self, **what):
        ask = self.channel.stream_stream(
            f"/{REFLECTION}/ServerReflectionInfo",
            request_serializer=Request.SerializeToString,
            response_deserializer=Response.FromString)
        return next(iter(ask(iter([Request(**what)]))))

    def learn(self, files):
        """Adds these files to the pool, those that they import first."""
        for text in files:
            file = descriptor_pb2.FileDescriptorProto.FromString(text)
            for imported in file.dependency:
                try:
                    self.pool.FindFileByName(imported)
                except KeyError:
                    self.learn(self.reflect(
                        file_by_filename=imported.encode()).files.files)
            self.pool.Add(file)

    def service(self):
        try:
            return self.pool.FindServiceByName(SERVICE)
        except KeyError:
            self.learn(self.reflect(
                file_containing_symbol=SERVICE.encode()).files.files)
            return self.pool.FindServiceByName(SERVICE)

    def call(self, name, /, **request):
        method = self.service().methods_by_name[name]
        sent = json_format.ParseDict(
            request, message_factory.GetMessageClass(method.input_type)())
        send = self.channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=type(sent).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(
                method.output_type).FromString)
        return send(sent)

    def test_services_are_listed(self):
        names = [service.name.decode() for service in
                 self.reflect(list_services=b"*").services.services]
        self.assertEqual(sorted(names), ["grpc.health.v1.Health", REFLECTION,
                                         SERVICE])

    def test_every_method_has_its_messages(self):
        methods = self.service().methods
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
