"""ferry-bench leaves tensors in shared memory, over loopback and a UNIX socket, and leaves
nothing behind."""

import json
import pathlib
import unittest

from bench_runner import BenchRunner
from ferry_process import FerryProcess

ROWS = 8
TENSOR_BYTES = ROWS * 16 * 4
LOAD = ("--outstanding", "4", "--duration-secs", "0.3", "--warm-up-secs", "0", "--requests",
        "8", "--rows", ROWS, "--shared-memory")


def objects():
    return set(pathlib.Path("/dev/shm").glob("ferry-bench-*"))


class BenchSharedMemoryTest(BenchRunner):

    def points_of(self, address, *flags):
        """Returns the points of the run, and the bytes of its messages."""
        path = self.path("result.json")
        self.bench("run", "-u", address, "-m", "echo", *LOAD, "--json", path, *flags)
        (run,) = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["runs"]
        return run["points"], run["request_bytes"]

    def test_tensors_are_in_no_message(self):
        before = objects()
        with FerryProcess("--allow-client-shm") as server:
            for flags in ((), ("--processes", "2"),
                          ("--class", "a:rows=8", "--class", "b:rows=9")):
                with self.subTest(flags):
                    sent = server.metric("ferry_sent_bytes_total")
                    points, request_bytes = self.points_of(server.address, *flags)
                    sent = server.metric("ferry_sent_bytes_total") - sent
                    self.assertFalse(points[0]["errors"])
                    self.assertGreater(points[0]["ok"], 20)
                    self.assertLess(request_bytes, TENSOR_BYTES)
                    self.assertLess(sent, points[0]["ok"] * TENSOR_BYTES)
                    self.assertEqual(server.metric("ferry_shared_memory_regions"), 0)
        self.assertLessEqual(objects(), before)

    def test_over_a_unix_socket(self):
        address = f"unix:{self.path('ferry.sock')}"
        with FerryProcess("--allow-client-shm", f"--grpc-address={address}"):
            points, _ = self.points_of(address)
        self.assertFalse(points[0]["errors"])
        self.assertGreater(points[0]["ok"], 0)

    def test_server_that_does_not_offer_it(self):
        with FerryProcess() as server:
            printed = self.bench("run", "-u", server.address, "-m", "echo", *LOAD, code=1)
        self.assertIn("--shared-memory: ", printed)
        self.assertIn("--allow-client-shm", printed)


if __name__ == "__main__":
    unittest.main()
