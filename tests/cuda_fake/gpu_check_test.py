"""The steps of scripts/gpu_check.sh that ask a server on a device, of a real server
on the CUDA without a device: what they ask of a GPU holds here."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import fake_server
import ferry_process

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "gpu_check"))
# pylint: disable=wrong-import-position
import serving
import serving_checks
import steps

SIZE = serving_checks.Size(bound_s=120, rounds=5, cycles=5, bursts=2)
OUT_OF_MEMORY = 2  # of CUDA


@unittest.skipUnless(fake_server.has_fake(), "no fake CUDA was built: "
                     "scripts/build.sh cuda ferry_cuda_fake")
class GpuCheckTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-check-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        programs = pathlib.Path(ferry_process.SERVER).resolve().parent
        (self.home / "bin").symlink_to(programs)
        scripts = self.home / "tests" / "scripts"
        scripts.mkdir(parents=True)
        subprocess.run([os.environ["FERRY_WRITE_SCRIPTS"], scripts], check=True,
                       capture_output=True)

    def outcome(self, name, nvml="", **scenario):
        """Returns the step of a check on a device of 4 GiB. `nvml`: a line of
        its fake's scenario."""
        fake = fake_server.Fake(**scenario)
        self.addCleanup(fake.close)
        (fake.folder / "nvml").write_text(fake_server.SCENARIO + nvml)
        check = steps.Check(types.SimpleNamespace(
            bundle=self.home, device="only", torch=self.home, seconds=0.3))
        # NVML's fake does not know what CUDA's has given out.
        with mock.patch.object(serving.Serving, "device_mib",
                               lambda _: fake.used() / serving.MIB), \
                mock.patch.object(serving_checks, "BUSY_WIDTHS", (64, 64)), \
                mock.patch.dict(os.environ, fake.environment()), \
                serving_checks.Checks(check) as checks:
            checks.run(name, "only", SIZE)
        (step,) = check.steps
        return step

    def test_they_pass(self):
        """But for random numbers, of which the fake draws none, and packages,
        for which nothing is compiled."""
        for name in ("captures", "cycles", "memory", "together", "readers"):
            with self.subTest(name):
                step = self.outcome(name)
                self.assertEqual(step["outcome"], "passed", step)

    def test_graphs_that_were_not_recorded_are_found(self):
        step = self.outcome("captures",
                            fail=[f"cudaStreamBeginCapture:{number}:"
                                  f"{OUT_OF_MEMORY}" for number in range(1, 61)])
        self.assertEqual(step["outcome"], "failed", step)
        self.assertIn("of the event graph_launched of late", step["reason"])

    def test_memory_that_runs_out_where_nvml_refuses_is_memory(self):
        """LibTorch asks NVML for the processes before it says that there is no
        memory. On a MIG device NVML may refuse (here without permission, 4), and
        an assertion is thrown instead."""
        step = self.outcome(
            "memory",
            "code call=nvmlDeviceGetComputeRunningProcesses code=4\n")
        self.assertEqual(step["outcome"], "passed", step)
        self.assertIn("NVML_SUCCESS == r INTERNAL ASSERT FAILED", step["log"])


if __name__ == "__main__":
    unittest.main()
