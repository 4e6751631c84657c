"""fake_server serves the protocol on loopback, with answers that a test gives."""

import grpc
import numpy as np
from ferry_batch.model import Model, Tensor
from tritonclient.grpc import model_config_pb2
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

TWICE = Model("twice", "3", (Tensor("x", "FP32", (2,)),),
              (Tensor("y", "FP32", (2,)),), 8, 2, 1)


class Refusal(Exception):
    """An answer that is a code, with what its trailing metadata has."""

    def __init__(self, code, text="no", pushback_ms=None):
        super().__init__(text)
        self.code = code
        self.metadata = (() if pushback_ms is None else
                         (("grpc-retry-pushback-ms", str(pushback_ms)),))


def doubled(request):
    """Returns the answer of TWICE to a request."""
    shape = tuple(request.inputs[0].shape)
    rows = np.frombuffer(request.raw_input_contents[0], np.float32)
    answer = pb.ModelInferResponse(model_name=request.model_name)
    answer.outputs.add(name="y", datatype="FP32", shape=shape)
    answer.raw_output_contents.append((2 * rows).tobytes())
    return answer


class FakeServer(service_pb2_grpc.GRPCInferenceServiceServicer):
    """The model TWICE; `async with` gives a channel to it.

    answer: called with each ModelInferRequest; returns the answer or raises
    Refusal. The requests and their metadata are in `requests`.
    """

    def __init__(self, answer=doubled):
        self.answer = answer
        self.describe = lambda: None  # may raise Refusal
        self.has_config = True
        self.requests = []
        self.metadata = []

    async def __aenter__(self):
        self._server = grpc.aio.server()
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(
            self, self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        return self

    async def __aexit__(self, *_):
        await self.channel.close()
        await self._server.stop(None)

    async def ModelMetadata(self, request, context):
        del request
        try:
            self.describe()
        except Refusal as refusal:
            await context.abort(refusal.code, str(refusal), refusal.metadata)
        answer = pb.ModelMetadataResponse(name="twice", versions=["3", "10", "2"])
        answer.inputs.add(name="x", datatype="FP32", shape=[-1, 2])
        answer.outputs.add(name="y", datatype="FP32", shape=[-1, 2])
        return answer

    async def ModelConfig(self, request, context):
        if not self.has_config:
            return await super().ModelConfig(request, context)
        config = model_config_pb2.ModelConfig(name="twice", max_batch_size=8)
        config.dynamic_batching.priority_levels = 2
        config.input.add(name="x")
        config.instance_group.add(count=2)
        config.instance_group.add(count=1)
        return pb.ModelConfigResponse(config=config)

    async def ModelInfer(self, request, context):
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        try:
            return self.answer(request)
        except Refusal as refusal:
            await context.abort(refusal.code, str(refusal), refusal.metadata)
