"""SIGTERMs at seeded moments to single servers under load: with little to do, with
a full queue, with a batch that hangs, and twice. Each request has one outcome, what
the server answered with OK came to its client, and the exit code is the documented
one.

FERRY_SIGTERMS says how many in all; FERRY_SEED what the moments are drawn from.
"""

import asyncio
import collections
import json
import os
import pathlib
import queue
import random
import signal
import sys
import tempfile
import unittest

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e")]
import ferry_process  # pylint: disable=wrong-import-position
from ferry_process import FerryProcess, sim_config, wait_until
from ledger import Ledger, rows_of

COUNT = int(os.environ.get("FERRY_SIGTERMS", "20"))
SEED = int(os.environ.get("FERRY_SEED", "1"))
WIDTH = 16
DEADLINE_S = 60
END_S = 60
MOST_DELAY_S = 0.4  # from the load's start to the signal
# The same signal within 0.1 s is the same wish.
LEAST_GAP_S, MOST_GAP_S = 0.2, 0.5
STUCK_TIMEOUT_S = 0.5
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]

ferry_process.MODELS |= {
    "quick": sim_config(16, alpha_ms=2, beta_ms=0.01),
    "narrow": sim_config(1, alpha_ms=10, beta_ms=0),
}


class Load:
    """Clients in a closed loop, which end where the server takes no more."""

    def __init__(self, address, model, first=0):
        self.ledger = Ledger()
        self.address = address
        self.model = model
        self.numbers = iter(range(first, 1 << 24))
        self.ok = set()

    def connect(self):
        self.channel = grpc.aio.insecure_channel(self.address, options=OPTIONS)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def request(self, number, model=None):
        rows = rows_of(number, 1, WIDTH)
        asked = pb.ModelInferRequest(model_name=model or self.model,
                                     id=str(number))
        asked.inputs.add(name="input", datatype="FP32", shape=rows.shape)
        asked.raw_input_contents.append(rows.tobytes())
        self.ledger.ask(number)
        return asked

    def answer(self, number, reply):
        self.ledger.answer(number, reply.id, rows_of(number, 1, WIDTH).ravel(),
                           np.frombuffer(reply.raw_output_contents[0],
                                         np.float32))
        self.ok.add(number)

    async def ask(self, model=None, timeout=DEADLINE_S):
        """Returns the code of one request."""
        number = next(self.numbers)
        try:
            reply = await self.stub.ModelInfer(self.request(number, model),
                                               timeout=timeout)
        except grpc.RpcError as error:
            self.ledger.settle(number, error.code().name, error.details() or "")
            return error.code().name
        self.answer(number, reply)
        return "OK"

    async def go_on(self):
        while await self.ask() != "UNAVAILABLE":
            pass


class Stream(Load):
    """Asks down a stream, the next when the last is answered. It has a thread: to
    asyncio gRPC reports a write to a stream that has ended as INTERNAL, and not the
    code that the stream ended with."""

    FIRST = 1 << 23

    def __init__(self, address, model):
        super().__init__(address, model, self.FIRST)

    def play(self):
        asked = queue.Queue()
        with grpc.insecure_channel(self.address, options=OPTIONS) as channel:
            replies = service_pb2_grpc.GRPCInferenceServiceStub(
                channel).ModelStreamInfer(iter(asked.get, None),
                                          timeout=DEADLINE_S)
            while True:
                number = next(self.numbers)
                asked.put(self.request(number))
                try:
                    reply = next(replies)
                except grpc.RpcError as error:
                    self.ledger.settle(number, error.code().name, error.details())
                    break
                if reply.error_message:
                    self.ledger.settle(number, "IN STREAM", reply.error_message)
                else:
                    self.answer(number, reply.infer_response)
            asked.put(None)


class Trial:
    """One server, its load and its signals."""

    def __init__(self, rng, *flags, models, clients):
        self.rng = rng
        self.folder = tempfile.TemporaryDirectory(prefix="ferry-sigterm-")
        self.access_log = os.path.join(self.folder.name, "access")
        self.server = FerryProcess(f"--access-log={self.access_log}", *flags,
                                   models=models)
        self.model, self.clients = models[0], clients

    async def play(self, before=None, after=None):
        """Returns the exit code, the load and the stream. `before` the signal and
        `after` it something may be done."""
        load = Load(self.server.address, self.model)
        load.connect()
        stream = Stream(self.server.address, self.model)
        work = [asyncio.create_task(load.go_on()) for _ in range(self.clients)]
        work.append(asyncio.create_task(asyncio.to_thread(stream.play)))
        if before:
            work += await before(load)
        await asyncio.sleep(self.rng.uniform(0, MOST_DELAY_S))
        self.server.signal(signal.SIGTERM)
        if after:
            await after()
        code = await asyncio.to_thread(self.server.wait, END_S)
        await asyncio.wait_for(asyncio.gather(*work), END_S)
        await load.channel.close()
        return code, load, stream

    def logged(self):
        """Returns how often each request has a line, by number and code."""
        with open(self.access_log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return collections.Counter((int(line["request_id"]), line["code"])
                                   for line in lines)

    def close(self):
        self.server.process.kill()
        self.server.stop()
        self.folder.cleanup()


class SigtermTest(unittest.TestCase):
    # A stream says in an answer that the server takes nothing new.
    CODES = {"OK", "UNAVAILABLE", "IN STREAM"}

    def each(self, name, share, *flags, models, clients, play, expected,
             codes=frozenset(), is_whole=True):
        """Plays a share of the trials; `is_whole`: the log has every answer."""
        rng = random.Random(f"{SEED} {name}")
        totals = collections.Counter()
        for number in range(max(1, COUNT * share // 20)):
            with self.subTest(seed=SEED, number=number):
                trial = Trial(rng, *flags, models=models, clients=clients)
                try:
                    code, *asked = asyncio.run(play(trial))
                    log = "".join(trial.server.log[-5:])
                    self.assertEqual(code, expected, log)
                    for one in asked:
                        self.assertEqual(one.ledger.complaints(0), [],
                                         one.ledger.told)
                        self.assertLessEqual(set(one.ledger.outcomes),
                                             self.CODES | codes, one.ledger.told)
                        totals += one.ledger.outcomes
                    logged = trial.logged()
                    self.assertEqual(set(logged.values()) - {1}, set(),
                                     "a request has two lines")
                    served = {n for n, code in logged if code == "OK"}
                    heard = set.union(*(one.ok for one in asked))
                    self.assertEqual(served - heard, set(),
                                     "answered, and the client never heard")
                    if is_whole:
                        self.assertEqual(heard, served)
                finally:
                    trial.close()
        print(f"{name}: {dict(totals)}")
        self.assertGreater(totals["OK"], 0)
        return totals

    def test_with_little_to_do(self):
        self.each("idle", 5, models=["quick"], clients=2, expected=0,
                  play=lambda trial: trial.play())

    def test_with_a_full_queue(self):
        totals = self.each(
            "full", 5, "--queue-requests=8", models=["narrow"], clients=40,
            expected=0, codes={"RESOURCE_EXHAUSTED"},
            play=lambda trial: trial.play())
        self.assertGreater(totals["RESOURCE_EXHAUSTED"], 0)

    def test_with_a_batch_that_hangs(self):
        def play(trial):
            async def hang(load):
                stuck = asyncio.create_task(load.ask("endless", None))
                self.assertTrue(await asyncio.to_thread(
                    wait_until, lambda: trial.server.metric(
                        "ferry_running_batches", model="endless") == 1))
                return [stuck, asyncio.create_task(load.ask("endless", None))]
            return trial.play(before=hang)
        totals = self.each(
            "stuck", 5, f"--exit-timeout-secs={STUCK_TIMEOUT_S}",
            models=["quick", "endless"], clients=4, expected=4, play=play,
            is_whole=False)
        self.assertGreater(totals["UNAVAILABLE"], 0)

    def test_twice(self):
        def play(trial):
            async def again():
                self.assertTrue(await asyncio.to_thread(
                    wait_until,
                    lambda: "drains signal" in "".join(trial.server.log)))
                await asyncio.sleep(trial.rng.uniform(LEAST_GAP_S, MOST_GAP_S))
                trial.server.signal(signal.SIGTERM)
            return trial.play(after=again)
        self.each("twice", 5, "--drain-delay-secs=30", models=["quick"], clients=8,
                  expected=128 + signal.SIGTERM, play=play, is_whole=False)


if __name__ == "__main__":
    unittest.main()
