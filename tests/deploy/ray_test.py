"""examples/ray under a real Ray Serve: each RPC passes, a server and a replica are
killed, and replicas are counted by load. Skipped where scripts/ray.sh has not
installed Ray."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tools
from tools import Tool, replace_once

SERVING = tools.ROOT / "tests/deploy/ray_serving.py"
TIMEOUT_S = 400


class RayTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        Tool("ray").require()
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root, for a network of its own")
        folder = tempfile.TemporaryDirectory(prefix="ferry-ray-")
        cls.addClassCleanup(folder.cleanup)
        model = pathlib.Path(folder.name) / "sim"
        (model / "1").mkdir(parents=True)
        config = (tools.ROOT / "deploy/bundle/sim.pbtxt").read_text()
        # It carries 400 rows a second.
        for old, new in (('string_value: "2"', 'string_value: "20"'),
                         ('string_value: "0.01"', 'string_value: "0"'),
                         ("max_batch_size: 64", "max_batch_size: 8")):
            config = replace_once(config, old, new)
        (model / "config.pbtxt").write_text(config)
        # Ray listens on the machine's address; here it has none but loopback's.
        command = ("ip link set lo up && exec bash scripts/ray.sh python "
                   f"{SERVING} --server {os.environ['FERRY_SERVER']} "
                   f"--models {folder.name}")
        done = subprocess.run(
            ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child",
             "sh", "-c", command], cwd=tools.ROOT, text=True, capture_output=True,
            timeout=TIMEOUT_S, check=False,
            env=os.environ | {"PYTHONPATH": f"{tools.ROOT}/examples/ray:"
                                            f"{tools.ROOT}/tests/e2e"})
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-4000:])
        cls.told = json.loads(done.stdout[done.stdout.index("{"):])

    def test_rpcs_pass(self):
        self.assertTrue(self.told["live"])
        self.assertEqual(self.told["inputs"], "input")
        self.assertEqual(self.told["unknown_model"], [
            "NOT_FOUND", "Request for unknown model: 'none' is not found"])

    def test_nothing_is_lost_where_a_server_or_a_replica_is_killed(self):
        self.assertEqual(self.told["outcomes"], {"OK": self.told["sent"]})
        for kill in self.told["kills"]:
            self.assertEqual(kill, {"of": 2, "is_whole": True, "replaced": True})
        # Those that were under way in either.
        self.assertLess(self.told["resent"], 40)

    def test_replicas_follow_the_load(self):
        self.assertTrue(self.told["grew"], self.told["replicas"])
        self.assertTrue(self.told["shrank"], self.told["replicas"])
        counts = self.told["replicas"]
        self.assertEqual((counts[0], counts[-1], max(counts)), (2, 1, 3))

    def test_no_server_outlives_its_replica(self):
        self.assertEqual(self.told["servers_left"], 0)


if __name__ == "__main__":
    unittest.main()
