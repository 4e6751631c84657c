"""asker asks a server for the results of rows, and again where the reason of a
refusal passes.

What is sent again: UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, and
RESOURCE_EXHAUSTED with a pushback, after that or after waits that grow, for as long
as the server answers now and then. What a request of several rows is refused for,
each half is asked for by itself, until the row at fault is alone.
"""

import asyncio
import random
import time

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from .failures import KEPT, RowError, Stopped, Unable, Wrong
from .model import Model

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
DESCRIBE_S = 10.0  # a call's time, whose answer needs no model
TELL_S = 5.0  # a server is away for so long before it is said
PUSHBACK = "grpc-retry-pushback-ms"
Code = grpc.StatusCode
PASSES = {Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED}
# Codes that tell of one request, not of the server.
OF_ROWS = {Code.INVALID_ARGUMENT, Code.INTERNAL, Code.OUT_OF_RANGE,
           Code.FAILED_PRECONDITION, Code.UNKNOWN, Code.RESOURCE_EXHAUSTED}
OF_FLAGS = {Code.UNAUTHENTICATED, Code.PERMISSION_DENIED, Code.UNIMPLEMENTED}


class Asker:
    """A channel to a server and its model.

    channel: of grpc.aio. metadata: sent with each call. timeout_s: of an
    inference. give_up_s: after so long without an answer calls raise Unable.
    stop: an asyncio.Event, after which nothing is sent again: calls raise Stopped.
    tell: called with the reason, once for each time that the server is away.
    """

    def __init__(self, channel, metadata, timeout_s, give_up_s, stop, tell):
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        self._metadata = metadata
        self._timeout_s = timeout_s
        self._give_up_s = give_up_s
        self._stop = stop
        self._tell = tell
        self._away_since = None  # the first failure since the last answer
        self._is_told = False
        self.retries = 0

    async def described(self, name, version):
        """Returns the Model of that name; version: empty for the newest."""
        try:
            metadata = await self._ask(
                self._stub.ModelMetadata,
                pb.ModelMetadataRequest(name=name, version=version), DESCRIBE_S)
            config = await self._ask(
                self._stub.ModelConfig,
                pb.ModelConfigRequest(name=name, version=version), DESCRIBE_S)
        except grpc.RpcError as error:
            if error.code() == Code.UNIMPLEMENTED:
                raise Wrong("expected a server with ModelMetadata and ModelConfig, "
                            "as Ferry and Triton have them, found: "
                            f"{error.details()}") from None
            raise _failure(error) from None
        return Model.of(metadata, config.config, version)

    async def results(self, model, group, priority):
        """Returns the outputs by name, or a RowError, of each (Row, arrays)."""
        request = model.request([arrays for _, arrays in group], priority)
        try:
            answer = await self._ask(self._stub.ModelInfer, request,
                                     self._timeout_s, len(group) == 1)
            return model.results(answer, len(group))
        except grpc.RpcError as error:
            if error.code() not in OF_ROWS:
                raise _failure(error) from None
            status, text = error.code().name, error.details()
        except ValueError as error:
            status, text = Code.INTERNAL.name, str(error)
        if len(group) > 1:
            if self._stop.is_set():
                raise Stopped()
            middle = len(group) // 2
            return (await self.results(model, group[:middle], priority) +
                    await self.results(model, group[middle:], priority))
        row = group[0][0]
        return [RowError(row.number, row.place, text, status)]

    async def _ask(self, method, request, timeout_s, is_row=False):
        """Returns the answer; raises RpcError for what does not pass. is_row: the
        request is of one row, and INTERNAL may be for another client's row in the
        batch, or for a device that is lost: it is sent once more, after a wait in
        which a server finds that out."""
        wait_s, is_second = FIRST_WAIT_S, False
        while True:
            try:
                answer = await method(request, metadata=self._metadata,
                                      timeout=timeout_s)
                self._answered()
                return answer
            except grpc.RpcError as error:
                pushback_s = _pushback_s(error)
                if error.code() in PASSES:
                    self._away(error)
                else:
                    self._answered()
                    if error.code() == Code.INTERNAL and is_row and not is_second:
                        wait_s, is_second = LONGEST_WAIT_S, True
                    elif (error.code() != Code.RESOURCE_EXHAUSTED or
                          pushback_s is None):
                        raise
            self.retries += 1
            if pushback_s is None:
                await self._pause(wait_s * random.uniform(0.8, 1.2))
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
            else:
                await self._pause(pushback_s)
                wait_s = FIRST_WAIT_S

    def _answered(self):
        self._away_since, self._is_told = None, False

    def _away(self, error):
        """Tells of a server that does not answer; raises Unable at last."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        why = f"{error.code().name}: {error.details()}"
        if now - self._away_since >= self._give_up_s:
            raise Unable(f"expected an answer within {self._give_up_s:g} s, found "
                         f"{why}; {KEPT}") from None
        if now - self._away_since >= TELL_S and not self._is_told:
            self._is_told = True
            self._tell(why)

    async def _pause(self, seconds):
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped()


def _failure(error):
    text = f"{error.code().name}: {error.details()}"
    if error.code() in OF_FLAGS:
        return Wrong(text)
    return Unable(f"{text}; {KEPT}")


def _pushback_s(error):
    for key, value in error.trailing_metadata() or ():
        if key == PUSHBACK and value.isdigit():
            return int(value) / 1000
    return None
