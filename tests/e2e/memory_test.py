"""A server that runs short of memory refuses large requests, and past the second
bound answers what it has admitted and ends. In a control group the group's limit
is what bounds it."""

import collections
import os
import pathlib
import tempfile
import time
import unittest
from unittest import mock

import grpc

import ferry_process
from bounds_test import code_of, rows_for, start, stub_of
from ferry_process import FerryProcess, wait_until

# An idle server uses less than a hundredth of that.
LEAST_LIMIT_BYTES = 16 << 30
ROOM_BYTES = 8 << 30
MOST_REQUESTS = 4000  # of a MiB: a hundredth of 400 GiB
AT_ONCE = 32
PAUSE_S = 0.1
GROUPS = pathlib.Path("/sys/fs/cgroup")


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
        self.assertGreater(server.metric("ferry_memory_used_bytes"),
                           server.metric("ferry_memory_limit_bytes") / 200)
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
        for probe in ("ready", "live"):
            self.assertEqual(server.get(f"/v2/health/{probe}")[0], 503)
        codes = [code_of(call) for call in calls]
        self.assertLessEqual(set(codes), {"OK", "UNAVAILABLE"})
        self.assertEqual(codes[:AT_ONCE], ["OK"] * AT_ONCE)
        self.assertEqual(server.wait(), 3)


def make_group(limit_bytes):
    """Makes a control group of that much memory. Returns its folder; None where
    this machine lets none be made."""
    name = f"ferry-memory-{os.getpid()}"
    for parent, file in ((own_group("memory"), "memory.limit_in_bytes"),
                         (GROUPS, "memory.max")):  # of version 2
        folder = parent / name
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            # A group without the controller has no such file.
            with open(folder / file, "r+") as limit:
                limit.write(str(limit_bytes))
            return folder
        except OSError:
            folder.rmdir()
    return None


def own_group(controller):
    """Returns the folder of this process's group of that controller, version 1."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return GROUPS / controller / path.lstrip("/")
    return pathlib.Path("/nonexistent")


class ControlGroupTest(unittest.TestCase):

    LIMIT_BYTES = 1 << 30
    FLOOD = 2000  # requests of a MiB: twice the limit

    def start(self, *flags):
        """Starts a server in a group of its own."""
        group = make_group(self.LIMIT_BYTES)
        if group is None:
            self.skipTest("no control group can be made here")
        self.addCleanup(group.rmdir)
        folder = tempfile.TemporaryDirectory(prefix="ferry-group-")
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "ferry-server"
        program.write_text(f"#!/bin/sh\necho $$ > {group}/cgroup.procs\n"
                           f'exec {os.path.abspath(ferry_process.SERVER)} "$@"\n')
        program.chmod(0o755)
        with mock.patch.object(ferry_process, "SERVER", str(program)):
            server = FerryProcess(*flags, models=["slow_wide", "echo"])
        self.addCleanup(server.stop)
        self.assertEqual(server.metric("ferry_memory_limit_bytes"),
                         self.LIMIT_BYTES)
        return server

    def flood(self, server):
        """Returns how often the requests of a flood ended with each code."""
        stub = stub_of(server.address)
        calls = [start(stub, "slow_wide") for _ in range(self.FLOOD)]
        return collections.Counter(code_of(call) for call in calls)

    def check_serves(self, server):
        stub = stub_of(server.address)
        self.assertEqual(code_of(start(stub, "echo", row_bytes=64)), "OK")
        server.signal()
        self.assertEqual(server.wait(), 0, server.log[-5:])

    def test_bounds_are_of_the_groups_memory(self):
        server = self.start()
        codes = self.flood(server)
        self.assertGreater(codes["OK"], 0)
        self.assertGreater(codes["RESOURCE_EXHAUSTED"], 0)
        self.check_serves(server)

    def test_guard_looks_at_the_groups_memory(self):
        server = self.start(f"--queue-bytes={ROOM_BYTES}",
                            f"--grpc-memory-bytes={ROOM_BYTES}",
                            "--memory-refuse-percent=40")
        codes = self.flood(server)
        self.assertGreater(codes["RESOURCE_EXHAUSTED"], 0)
        self.assertTrue(any("limit_mib=1024" in line for line in server.log))
        self.check_serves(server)


if __name__ == "__main__":
    unittest.main()
