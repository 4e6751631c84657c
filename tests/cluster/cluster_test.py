"""Ferry on a Kubernetes of one node, the short of what `scripts/show.sh cluster` does:
manifests are admitted, claims of slices given, and roll-outs fail no request.

Skipped where FERRY_CLUSTER_IMAGE names no image of scripts/image.sh.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCENARIOS = ("manifests", "claims", "start", "roll_out")


def setUpModule():
    if "FERRY_CLUSTER_IMAGE" not in os.environ:
        raise unittest.SkipTest("FERRY_CLUSTER_IMAGE names no image")


class ClusterTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run(
                [HERE.parents[1] / "scripts" / "cluster.sh", "--image",
                 os.environ["FERRY_CLUSTER_IMAGE"], sys.executable,
                 HERE / "scenarios.py", file.name, *SCENARIOS], check=True)
            cls.told = json.load(file)

    def test_manifests_are_admitted(self):
        for name, one in self.told["manifests"].items():
            self.assertTrue(one["admitted"], f"{name}: {one['said']}")

    def test_claims_have_a_slice_each(self):
        self.assertEqual(len(set(self.told["claims"]["given"])), 7)

    def test_roll_outs_fail_no_request(self):
        for run in self.told["roll_out"]:
            self.assertEqual(len(run["clients"]), 2)
            for name, counts in run["clients"].items():
                self.assertGreater(counts["sent"], 0, name)
                self.assertEqual(counts["outcomes"], {"OK": counts["sent"]}, name)


if __name__ == "__main__":
    unittest.main()
