"""Where the batches of a real server run: on the thread that received them, or on
their lane, told by how often the lane's thread was given a processor."""

import os
import unittest

from ending_test import Client, code_of, one_row
from ferry_process import FerryProcess

REQUESTS = 100


def turns_of_lanes(pid):
    """Returns how often a lane's thread ran, of all lanes."""
    turns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{thread}"
        with open(f"{folder}/comm", encoding="utf-8") as name:
            if name.read().strip() != "ferry-lane":
                continue
        with open(f"{folder}/schedstat", encoding="utf-8") as counts:
            turns += int(counts.read().split()[2])
    return turns


class InlineTest(unittest.TestCase):

    def turns_for(self, model):
        """Returns the turns that lanes had for requests one after the other."""
        with FerryProcess("--grpc-infer-thread-count=1",
                          models=[model]) as server, Client(server) as client:
            # How long a batch takes is not known before the first.
            self.assertEqual(code_of(client.start(one_row(model))), "OK")
            before = turns_of_lanes(server.process.pid)
            for _ in range(REQUESTS):
                self.assertEqual(code_of(client.start(one_row(model))), "OK")
            return turns_of_lanes(server.process.pid) - before

    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"),
                         "the kernel counts no turns of threads")
    def test_short_batches_run_where_they_were_received(self):
        self.assertLess(self.turns_for("inline"), REQUESTS // 4)

    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"),
                         "the kernel counts no turns of threads")
    def test_parameter_turns_it_off(self):
        self.assertGreaterEqual(self.turns_for("not_inline"), REQUESTS // 2)


if __name__ == "__main__":
    unittest.main()
