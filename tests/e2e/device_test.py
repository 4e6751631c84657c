"""--device, on the fake libnvidia-ml.so.1 and without any.

The fake lies in $FERRY_FAKE_NVML_FOLDER and plays the file $FERRY_FAKE_NVML.
"""

import ctypes
import os
import tempfile
import unittest
from unittest import mock

from ferry_process import FerryProcess, run

GPU = "GPU-aaaaaaaa-0000-1111-2222-333333333333"
OTHER = "GPU-bbbbbbbb-0000-1111-2222-333333333333"
FIRST = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd"
SECOND = "MIG-22222222-aaaa-bbbb-cccc-dddddddddddd"

WHOLE = (f"gpu uuid={GPU} name=NVIDIA_H100 bus=00000000:1B:00.0 "
         "memory_mib=81559 mig=off\n")
MIG = (f"gpu uuid={GPU} name=NVIDIA_H200 bus=00000000:1B:00.0 "
       "memory_mib=143771 mig=on places=7 gpm=yes\n"
       f"mig gpu=0 place=1 uuid={FIRST} name=NVIDIA_H200_MIG_1g.18gb gi=9 "
       "ci=0 sms=16 slices=1 memory_mib=16384\n"
       f"mig gpu=0 place=4 uuid={SECOND} name=NVIDIA_H200_MIG_2g.35gb gi=5 "
       "ci=0 sms=32 slices=2 memory_mib=33792\n")
NO_CUDA = "cannot start: --device: cannot open libferry_cuda.so: "


class DeviceTest(unittest.TestCase):

    def start(self, device, scenario=None, visible=None):
        """Runs the server to its end and returns the lines of its log."""
        environment = {"LD_LIBRARY_PATH": "/no/such/folder"}
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            if scenario is not None:
                file.write(scenario)
                file.flush()
                environment = {
                    "LD_LIBRARY_PATH": os.environ["FERRY_FAKE_NVML_FOLDER"],
                    "FERRY_FAKE_NVML": file.name}
            if visible is not None:
                environment["CUDA_VISIBLE_DEVICES"] = visible
            with mock.patch.dict(os.environ, environment):
                if visible is None:
                    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                ended = run("--metrics-port=0", "--grpc-port=0",
                            f"--device={device}")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        return ended.stderr.strip().splitlines()

    def assertEnds(self, text, device, *rest):
        last = self.start(device, *rest)[-1]
        self.assertIn(text, last)
        return last

    def test_no_driver(self):
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
            self.skipTest("this machine has the library")
        except OSError:
            pass
        last = self.assertEnds(
            "cannot start: --device: expected libnvidia-ml.so.1, which comes "
            "with NVIDIA's driver", "cuda:0")
        self.assertTrue(last.endswith("; --device=cpu needs no driver"), last)

    def test_driver_that_is_not_loaded(self):
        self.assertEnds("DRIVER_NOT_LOADED", "cuda:0",
                        "code call=nvmlInit_v2 code=9\n")

    def test_no_gpu(self):
        self.assertEnds("got cuda:0; NVML sees: no GPU", "cuda:0",
                        "driver version=1\n")

    def test_whole_gpu_is_found(self):
        log = self.start("cuda:0", WHOLE)
        self.assertIn(NO_CUDA, log[-1])
        found = [line for line in log if f"device uuid={GPU}" in line]
        self.assertEqual(len(found), 1, log)
        self.assertIn("name=NVIDIA_H100", found[0])
        self.assertIn("pci=0000:1b:00.0", found[0])

    def test_slice_is_found_with_its_size(self):
        log = self.start(SECOND, MIG)
        self.assertIn(NO_CUDA, log[-1])
        found = [line for line in log if f"device uuid={SECOND}" in line]
        self.assertEqual(len(found), 1, log)
        self.assertIn(f"parent={GPU}", found[0])
        self.assertIn("profile=2g.35gb multiprocessors=32 "
                      "memory_bytes=35433480192", found[0])

    def test_only_device_is_found(self):
        """As in a container with one slice, whose UUID is written nowhere."""
        one = "".join(line + "\n" for line in MIG.splitlines()
                      if SECOND not in line)
        log = self.start("only", one)
        self.assertIn(f"device uuid={FIRST}", "".join(log))
        log = self.start("only", WHOLE)
        self.assertIn(f"device uuid={GPU}", "".join(log))

    def test_only_where_there_are_several(self):
        last = self.assertEnds("expected one device, a GPU without MIG or a "
                               "MIG device, for only, got 2", "only", MIG)
        self.assertIn(f"{FIRST} 1g.18gb, {SECOND} 2g.35gb", last)

    def test_bare_index_with_mig_on(self):
        last = self.assertEnds("expected MIG-<uuid>, as MIG mode is on, got "
                               "cuda:0", "cuda:0", MIG)
        self.assertIn(f"{FIRST} 1g.18gb, {SECOND} 2g.35gb", last)

    def test_unknown_slice(self):
        last = self.assertEnds("got MIG-99", "MIG-99", MIG)
        self.assertIn(FIRST, last)

    def test_mode_that_is_pending(self):
        log = self.start("cuda:0", WHOLE.replace("mig=off",
                                                 "mig=off pending=on"))
        self.assertTrue(any("warning device: MIG mode" in line
                            for line in log), log)

    def test_visible_devices_are_a_bound(self):
        self.assertEnds("expected one of CUDA_VISIBLE_DEVICES", FIRST, MIG,
                        SECOND)
        self.assertEnds("CUDA_VISIBLE_DEVICES: expected UUIDs", "cuda:0", WHOLE,
                        "0")
        self.assertEnds(NO_CUDA, "cuda:0", MIG, SECOND)

    def test_wrong_text(self):
        self.assertEnds("--device: expected cpu, only, cuda:N, GPU-<uuid> or "
                        "MIG-<uuid>, got 'cuda'", "cuda")

    def test_cpu_needs_no_library(self):
        with mock.patch.dict(os.environ,
                             {"LD_LIBRARY_PATH": "/no/such/folder"}), \
                FerryProcess("--device=cpu") as server:
            self.assertIn("device=cpu", "".join(server.log))
            self.assertNotIn("ferry_device_info", server.get("/metrics")[1])


if __name__ == "__main__":
    unittest.main()
