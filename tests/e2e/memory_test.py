"""A server that runs short of memory refuses large requests, and past the second
bound answers what it has admitted and ends."""

import time
import unittest

import grpc

from bounds_test import code_of, rows_for, start, stub_of
from ferry_process import FerryProcess, wait_until

# An idle server uses less than a hundredth of that.
LEAST_LIMIT_BYTES = 16 << 30
ROOM_BYTES = 8 << 30
MOST_REQUESTS = 4000  # of a MiB: a hundredth of 400 GiB
AT_ONCE = 32
PAUSE_S = 0.1


class MemoryTest(unittest.TestCase):

    def start(self, *flags):
        server = FerryProcess(f"--queue-bytes={ROOM_BYTES}",
                              f"--grpc-memory-bytes={ROOM_BYTES}", *flags,
                              models=["slow_wide", "wide", "echo"])
        self.addCleanup(server.stop)
        if server.metric("ferry_memory_limit_bytes") < LEAST_LIMIT_BYTES:
            self.skipTest("a machine of less than 16 GiB")
        return server

    def fill(self, server, until):
        """Sends requests that wait in the queue; returns their calls."""
        stub = stub_of(server.address)
        calls = []
        while not until() and len(calls) < MOST_REQUESTS:
            calls += [start(stub, "slow_wide") for _ in range(AT_ONCE)]
            time.sleep(PAUSE_S)
        self.assertTrue(until(), server.log)
        return calls

    def test_large_requests_are_refused_until_there_is_room(self):
        server = self.start("--memory-refuse-percent=1", "--memory-end-percent=0")
        stub = stub_of(server.address)
        self.assertEqual(code_of(start(stub, "wide")), "OK")
        calls = self.fill(server, lambda: any(
            "memory: requests larger than 64 KiB are refused" in line
            for line in server.log))
        with self.assertRaises(grpc.RpcError) as refused:
            stub.ModelInfer(rows_for("wide"), timeout=60)
        self.assertEqual(refused.exception.code(),
                         grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("short of memory", refused.exception.details())
        self.assertEqual(code_of(start(stub, "echo", row_bytes=64)), "OK")
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        codes = [code_of(call) for call in calls]
        self.assertLessEqual(set(codes), {"OK", "RESOURCE_EXHAUSTED"})
        self.assertEqual(codes[0], "OK")
        self.assertTrue(wait_until(lambda: any(
            "memory: large requests are taken again" in line
            for line in server.log)))
        self.assertEqual(code_of(start(stub, "wide")), "OK")
        server.signal()
        self.assertEqual(server.wait(), 0)

    def test_what_was_admitted_is_answered_before_the_end(self):
        server = self.start("--memory-refuse-percent=0", "--memory-end-percent=1")
        calls = self.fill(server, lambda: any(
            "cannot go on: memory" in line for line in server.log))
        self.assertEqual(server.get("/v2/health/live")[0], 503)
        codes = [code_of(call) for call in calls]
        self.assertLessEqual(set(codes), {"OK", "UNAVAILABLE"})
        self.assertEqual(codes[:AT_ONCE], ["OK"] * AT_ONCE)
        self.assertEqual(server.wait(), 3)


if __name__ == "__main__":
    unittest.main()
