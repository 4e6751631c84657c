"""Connections that are cut at any byte, as a network does that fails: each request is
answered with its own rows, by the retries that docs/reliability.md gives and a
caller that asks again where an answer had begun, and the server keeps nothing."""

import concurrent.futures
import pathlib
import sys
import unittest

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from client import channel_options
from cutting_proxy import CuttingProxy
from ferry_process import FerryProcess, wait_until

SEEDS = range(5)
REQUESTS = 300
OUTSTANDING = 8
ROWS = 16
FEWEST_CUTS = 5  # of a seed
CALL_S = 60
TRIES = 20  # of a caller


def request_of(number):
    rows = np.full((ROWS, 16), number, np.float32)
    request = pb.ModelInferRequest(model_name="echo", id=str(number))
    request.inputs.add(name="input", datatype="FP32", shape=rows.shape)
    request.raw_input_contents.append(rows.tobytes())
    return request


def ask(stub, number):
    """Returns the answer, and how often the caller had to ask."""
    for tries in range(1, TRIES + 1):
        try:
            return stub.ModelInfer(request_of(number), timeout=CALL_S,
                                   wait_for_ready=True), tries
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE or tries == TRIES:
                raise
    raise AssertionError("no try is left")


class CutTest(unittest.TestCase):

    def check_seed(self, server, seed):
        with CuttingProxy(server.port, seed) as proxy, grpc.insecure_channel(
                proxy.address, options=channel_options(retries=True)) as channel, \
                concurrent.futures.ThreadPoolExecutor(OUTSTANDING) as threads:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            asked = 0
            for number, (reply, tries) in enumerate(threads.map(
                    lambda number: ask(stub, number), range(REQUESTS))):
                asked += tries
                self.assertEqual(reply.id, str(number))
                self.assertEqual(reply.raw_output_contents[0],
                                 request_of(number).raw_input_contents[0])
            self.assertGreaterEqual(proxy.cuts, FEWEST_CUTS)
            print(f"seed {seed}: {proxy.cuts} cuts, {asked - REQUESTS} of "
                  f"{REQUESTS} asked again", file=sys.stderr)

    def test_requests_are_answered_and_nothing_is_kept(self):
        with FerryProcess(models=["echo"]) as server:
            for seed in SEEDS:
                with self.subTest(seed=seed):
                    self.check_seed(server, seed)
                    for kept in ("ferry_connections", "ferry_queue_requests",
                                 "ferry_running_batches",
                                 "ferry_unsent_reply_bytes"):
                        self.assertTrue(
                            wait_until(lambda: server.metric(kept) == 0), kept)
            self.assertEqual(server.get("/v2/health/ready")[0], 200)


if __name__ == "__main__":
    unittest.main()
