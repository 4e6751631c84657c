"""ferry-nvml on the fake libnvidia-ml.so.1: its JSON, its table, its errors.

The program is $FERRY_NVML, the fake library $FERRY_FAKE_NVML_FILE.
"""

import json
import os
import subprocess
import tempfile
import unittest

GPU = "GPU-aaaaaaaa-0000-1111-2222-333333333333"
MIG = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd"
SCENARIO = (
    "driver version=580.95.05\n"
    f"gpu uuid={GPU} name=NVIDIA_H200 bus=00000000:1B:00.0 memory_mib=143771 "
    "mig=on places=7 gpm=yes power_mw=350500\n"
    f"mig gpu=0 place=3 uuid={MIG} name=NVIDIA_H200_MIG_1g.18gb gi=9 ci=0 "
    "sms=16 slices=1 memory_mib=16384 used_mib=100 gpm.2=75\n"
    "gpu uuid=GPU-b name=G\n"
    "code call=nvmlDeviceGetUUID code=15 gpu=1\n")


class FerryNvmlTest(unittest.TestCase):

    def run_it(self, scenario, *flags):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(scenario)
            file.flush()
            return subprocess.run(
                [os.environ["FERRY_NVML"], "--library",
                 os.environ["FERRY_FAKE_NVML_FILE"], *flags],
                env={**os.environ, "FERRY_FAKE_NVML": file.name},
                capture_output=True, text=True, timeout=50, check=False)

    def test_devices_and_readings_as_json(self):
        ended = self.run_it(SCENARIO)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        seen = json.loads(ended.stdout)
        self.assertEqual(seen["driver_version"], "580.95.05")
        gpu, = seen["gpus"]
        self.assertEqual(gpu["uuid"], GPU)
        self.assertEqual(gpu["pci_bus_id"], "0000:1b:00.0")
        self.assertIs(gpu["is_mig_on"], True)
        self.assertEqual(gpu["readings"]["gpu_power_watts"], 350.5)
        mig, = gpu["mig_devices"]
        self.assertEqual((mig["uuid"], mig["place"], mig["profile"]),
                         (MIG, 3, "1g.18gb"))
        self.assertEqual(mig["readings"]["memory_used_bytes"], 100 << 20)
        self.assertEqual(mig["readings"]["gpm_sm_ratio"], 0.75)
        self.assertNotIn("gpm_tensor_ratio", mig["readings"])
        self.assertEqual(seen["unread_gpus"],
                         [{"index": 1, "code": "GPU_IS_LOST"}])

    def test_calls_as_a_table(self):
        ended = self.run_it(SCENARIO, "--calls")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = ended.stdout.splitlines()
        self.assertEqual(lines[0], "| call | of | code | name | times |")
        for row in (
                "| nvmlInit_v2 | system | 0 | SUCCESS | 1 |",
                "| nvmlDeviceGetMigDeviceHandleByIndex | gpu | 6 | NOT_FOUND "
                "| 6 |",
                "| nvmlDeviceGetUUID | gpu | 15 | GPU_IS_LOST | 1 |",
                "| nvmlGpmMetricsGet SM_UTIL | mig | 0 | SUCCESS | 1 |",
                "| nvmlGpmMetricsGet SM_UTIL | gpu | 3 | NOT_SUPPORTED | 1 |"):
            self.assertIn(row, lines)

    def test_calls_of_a_machine_whose_gpus_cannot_be_counted(self):
        ended = self.run_it("code call=nvmlDeviceGetCount_v2 code=4\n",
                            "--calls")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("| nvmlDeviceGetCount_v2 | system | 4 | NO_PERMISSION "
                      "| 1 |", ended.stdout)
        self.assertIn("NO_PERMISSION", ended.stderr)

    def test_driver_that_is_not_loaded(self):
        ended = self.run_it("code call=nvmlInit_v2 code=9\n")
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertIn("DRIVER_NOT_LOADED", ended.stderr)

    def test_wrong_flags_and_help(self):
        for flags in (["--json"], ["--library"]):
            ended = self.run_it("", *flags)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("expected --calls, --library FILE or --help, got '"
                          + flags[0], ended.stderr)
        ended = self.run_it("", "--help")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("--library FILE", ended.stdout)


if __name__ == "__main__":
    unittest.main()
