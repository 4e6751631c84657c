"""Asking a server one request, right or wrong, and what it answers."""

import contextlib
import dataclasses

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import answer_models

TIMEOUT_S = 10  # seconds after which there is no answer
SERVICE = "/inference.GRPCInferenceService/"
CHANNEL = [("grpc.max_send_message_length", -1),
           ("grpc.max_receive_message_length", -1),
           ("grpc.max_reconnect_backoff_ms", 200)]


@dataclasses.dataclass(frozen=True)
class Case:
    """A wrong request, and what is deliberate about the answers."""
    what: str
    rpc: str
    # A message; bytes, sent as they are; a list of them for a stream.
    request: object
    # Why Ferry's code is not Triton's. Nothing: they must be the same.
    why: str = ""
    # Asked rightly afterwards, and has to be loaded before.
    model: str = "echo"
    mode: str = "explicit"  # of model control
    crowd: int = 1          # so many at once; the first error is the answer
    # The call has these: timeout, metadata, compression.
    options: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Answer:
    code: str
    message: str = ""


class Asker:
    """A connection to one server."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=CHANNEL)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def is_ready(self):
        with contextlib.suppress(grpc.RpcError):
            return self.stub.ServerReady(pb.ServerReadyRequest(),
                                         timeout=TIMEOUT_S).ready
        return False

    def ask(self, case):
        """Returns the server's Answer."""
        if isinstance(case.request, list):
            return self._ask_stream(case)
        method = self._method(case)
        options = {"timeout": TIMEOUT_S, **case.options}
        calls = [method.future(case.request, **options)
                 for _ in range(case.crowd)]
        answers = [answer_of(call, case.options) for call in calls]
        errors = [answer for answer in answers if answer.code != "OK"]
        return (errors or answers)[0]

    def _method(self, case):
        if isinstance(case.request, bytes):
            path = case.rpc if "/" in case.rpc else SERVICE + case.rpc
            return self.channel.unary_unary(path)
        return getattr(self.stub, case.rpc)

    def _ask_stream(self, case):
        """The code names the stream's end and what was in it."""
        texts, kinds = [], []
        call = self.stub.ModelStreamInfer(iter(case.request), timeout=TIMEOUT_S,
                                          **case.options)
        try:
            for response in call:
                kinds.append("error" if response.error_message else "answer")
                texts.append(response.error_message)
            code = "OK"
        except grpc.RpcError as error:
            code = error.code().name
            texts.append(error.details())
        return Answer(f"{code} after {', '.join(kinds) or 'nothing'}",
                      " / ".join(text for text in texts if text))

    def answers_rightly(self, model):
        """Returns whether the model still answers with its inputs."""
        request = answer_models.right(model)
        try:
            reply = self.stub.ModelInfer(request, timeout=TIMEOUT_S)
        except grpc.RpcError:
            return False
        return list(reply.raw_output_contents) == list(
            request.raw_input_contents)


def answer_of(call, options):
    """Waits for the call."""
    error = call.exception()
    if error is None:
        return Answer("OK", shown(call.result()))
    code, own_timeout = call.code(), "timeout" in options
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and not own_timeout:
        return Answer("no answer", f"after {TIMEOUT_S} s")
    return Answer(code.name, call.details() or "")


def shown(response):
    """Returns what is told of a response that should have been an error."""
    if isinstance(response, pb.ModelReadyResponse):
        return f"ready={str(response.ready).lower()}"
    if not isinstance(response, pb.ModelInferResponse):
        return ""
    return ", ".join(f"{output.name} {list(output.shape)}"
                     for output in response.outputs)
