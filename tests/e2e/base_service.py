"""Servers of the Open Inference Protocol's base service, as OpenVINO Model Server
and KServe have it, in this process: what Triton adds, they answer UNIMPLEMENTED."""

import concurrent.futures
import contextlib
import math
import os
import subprocess

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

FLOAT_BYTES = 4


class BaseService(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers each request with its first input. `inputs`: shapes by name.
    `typed`: in `contents`, not in raw_output_contents."""

    def __init__(self, inputs, typed=False, max_batch_size=None):
        self.inputs = inputs
        self.typed = typed
        self.max_batch_size = max_batch_size
        self.requests = []
        self.headers = []
        self.missing = 0  # elements that replies lack

    def ServerMetadata(self, request, context):
        return pb.ServerMetadataResponse(name="base", version="1")

    def ModelReady(self, request, context):
        return pb.ModelReadyResponse(ready=True)

    def ModelMetadata(self, request, context):
        metadata = pb.ModelMetadataResponse(name=request.name)
        for name, shape in self.inputs.items():
            metadata.inputs.add(name=name, datatype="FP32", shape=shape)
        metadata.outputs.add(name="out", datatype="FP32", shape=[-1])
        return metadata

    def ModelConfig(self, request, context):
        if self.max_batch_size is None:
            return super().ModelConfig(request, context)
        response = pb.ModelConfigResponse()
        response.config.max_batch_size = self.max_batch_size
        return response

    def ModelInfer(self, request, context):
        sizes = [math.prod(one.shape) for one in request.inputs]
        if [len(raw) for raw in request.raw_input_contents] != [
                size * FLOAT_BYTES for size in sizes]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "wrong sizes")
        self.requests.append([list(one.shape) for one in request.inputs])
        self.headers.append(dict(context.invocation_metadata()))
        reply = pb.ModelInferResponse(model_name=request.model_name,
                                      id=request.id)
        output = reply.outputs.add(name="out", datatype="FP32",
                                   shape=request.inputs[0].shape)
        if self.typed:
            output.contents.fp32_contents.extend(
                [0.5] * (sizes[0] - self.missing))
        else:
            reply.raw_output_contents.append(
                bytes((sizes[0] - self.missing) * FLOAT_BYTES))
        return reply


@contextlib.contextmanager
def serving(service, credentials=None, at="127.0.0.1:0"):
    """Yields the address of a server of it, on loopback."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(service, server)
    port = (server.add_insecure_port(at) if credentials is None
            else server.add_secure_port(at, credentials))
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def make_certificate(folder, host):
    """Returns the files of a key and of its certificate, signed by itself."""
    key, certificate = (os.path.join(folder, f"{host}.{kind}")
                        for kind in ("key", "pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", f"/CN={host}", "-addext",
         f"subjectAltName=DNS:{host}"], check=True, capture_output=True)
    return key, certificate


def credentials_of(key, certificate):
    pair = []
    for path in (key, certificate):
        with open(path, "rb") as file:
            pair.append(file.read())
    return grpc.ssl_server_credentials([tuple(pair)])
