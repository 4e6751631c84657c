"""The client keeps an open loop of inferences going, with the retries that
docs/reliability.md gives to users, and writes each into the ledger."""

import ast
import asyncio
import json
import pathlib
import random
import re
import time

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from ledger import rows_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "reliability.md"
DEADLINE_S = 30
MOST_OUTSTANDING = 2000
WIDTHS = {"sim": 16, "scale": 4}


def documented_policy():
    """Returns the service config that the document shows, as it stands there."""
    found = re.findall(r"```json\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    policies = [text for text in found if "retryPolicy" in text]
    assert len(policies) == 1, f"{GUIDE}: expected one retryPolicy"
    return json.dumps(json.loads(policies[0]))


def documented_options():
    """Returns the options of a channel without a balancer, of the same document."""
    (found,) = re.findall(r"^options = (\[.*?^\])$", GUIDE.read_text("utf-8"),
                          re.S | re.M)
    return ast.literal_eval(found)


def channel_options(retries):
    own = [("grpc.use_local_subchannel_pool", 1)]
    if retries:
        return [*own, ("grpc.service_config", documented_policy())]
    return [*own, ("grpc.enable_retries", 0)]


def expected_rows(model, rows, version):
    """Returns what that version of the model makes of the rows."""
    if model == "sim":
        return rows
    return np.hstack([rows * version, rows * version + 1000])


def connect_to(credentials):
    """Returns what makes channels with TLS to servers of the name localhost."""
    def connect(address, options):
        return grpc.aio.secure_channel(address, credentials, options=[
            *options, ("grpc.ssl_target_name_override", "localhost")])
    return connect


class Client:
    """Sends `rate` requests a second until it is told to stop. `metadata` is asked
    at each; `versions` holds those that may answer for "scale". `connect` makes a
    channel of an address and options, to which `options` are added. A quarter of the
    requests are for "scale" unless `only` names the model of all."""

    def __init__(self, address, ledger, *, rate, seed, retries=True, channels=4,
                 metadata=lambda: None, versions=(1,),
                 connect=grpc.aio.insecure_channel, options=(), only=None,
                 deadline_s=DEADLINE_S):
        self.ledger = ledger
        self.factor = 1  # a burst raises it
        self.seconds = []  # that answers took
        self._rate = rate
        self._random = random.Random(seed)
        self._metadata = metadata
        self._versions = versions
        self._only = only
        self._deadline_s = deadline_s
        self._channels = [connect(address,
                                  options=[*channel_options(retries), *options])
                          for _ in range(channels)]
        self._stubs = [service_pb2_grpc.GRPCInferenceServiceStub(channel)
                       for channel in self._channels]
        self._tasks = set()
        self._next = 0

    async def run(self, is_over):
        """Sends until the event is set, and waits for what is under way."""
        due = time.monotonic()
        while not is_over.is_set():
            due += self._random.expovariate(self._rate * self.factor)
            late = time.monotonic() - due
            if late > 1:  # the machine did not keep up: no burst to catch up
                due += late
            await asyncio.sleep(max(0, -late))
            if len(self._tasks) < MOST_OUTSTANDING:
                self.send()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * self._deadline_s)
        for channel in self._channels:
            await channel.close()

    def send(self):
        number = self._next
        self._next += 1
        self.ledger.ask(number)
        task = asyncio.ensure_future(self._ask(number))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, number):
        model = self._only or ("scale" if number % 4 == 0 else "sim")
        width = WIDTHS[model]
        rows = rows_of(number, 1 + number % 3, width)
        request = pb.ModelInferRequest(model_name=model, id=str(number))
        request.inputs.add(name="input", datatype="FP32", shape=rows.shape)
        request.raw_input_contents.append(rows.tobytes())
        began = time.monotonic()
        try:
            reply = await self._stubs[number % len(self._stubs)].ModelInfer(
                request, timeout=self._deadline_s, metadata=self._metadata())
        except grpc.RpcError as error:
            self.ledger.settle(number, error.code().name, error.details() or "")
            return
        self.seconds.append(time.monotonic() - began)
        version = int(reply.model_version)
        known = model == "sim" or version in self._versions
        got = (np.frombuffer(reply.raw_output_contents[0], np.float32)
               if len(reply.raw_output_contents) == 1 else np.empty(0))
        expected = expected_rows(model, rows, version) if known else np.empty(1)
        self.ledger.answer(number, reply.id, expected.ravel(), got)

    def latency_ms(self):
        """Returns median, 99th percentile and the longest of what was answered."""
        if not self.seconds:
            return {}
        return {name: round(float(np.quantile(self.seconds, share)) * 1e3, 1)
                for name, share in (("p50", 0.5), ("p99", 0.99), ("longest", 1))}
