"""ferryctl units and doctor on synthetic machines: the fake libnvidia-ml.so.1
plays the devices, a folder is the rest. Each machine's answers stand here whole.

The program is $FERRY_CTL, the fake library $FERRY_FAKE_NVML_FILE.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).parents[2]
CTL = os.environ["FERRY_CTL"]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/ctl-answer.schema.json").read_text()))

DRIVER = "driver version=580.95.05\n"
GPU = "GPU-aaaaaaaa-0000-1111-2222-333333333333"
OTHER_GPU = "GPU-bbbbbbbb-0000-1111-2222-333333333333"
H200 = f"gpu uuid={GPU} name=NVIDIA_H200 memory_mib=143771 gpm=yes "


def slices(*profiles, places=None, instances=None):
    """Lines of MIG devices, each (profile, SMs, slices, MiB)."""
    lines = ""
    for i, (profile, sms, count, mib) in enumerate(profiles):
        lines += (f"mig gpu=0 place={places[i] if places else i} "
                  f"uuid=MIG-{i}0000000-aaaa-bbbb-cccc-dddddddddddd "
                  f"name=NVIDIA_H200_MIG_{profile} "
                  f"gi={instances[i] if instances else 7 + i} ci={i} sms={sms} "
                  f"slices={count} memory_mib={mib}\n")
    return lines


SMALL = ("1g.18gb", 16, 1, 16384)
MEDIUM = ("2g.35gb", 32, 2, 33792)
LARGE = ("3g.71gb", 48, 3, 71424)
PART = ("1c.3g.71gb", 16, 3, 71424)
MIXED = (DRIVER + H200 + "mig=on places=7\n" +
         f"gpu uuid={OTHER_GPU} name=NVIDIA_H200 memory_mib=143771 mig=off\n" +
         slices(SMALL, MEDIUM, LARGE, places=(0, 2, 6)))
MACHINES = {
    "seven with holes": DRIVER + H200 + "mig=on places=10\n" + slices(
        *[SMALL] * 7, places=(0, 1, 3, 4, 6, 7, 9)),
    "mixed": MIXED,
    "MIG off": DRIVER + H200 + "mig=off\n",
    "two compute instances": DRIVER + H200 + "mig=on places=7\n" + slices(
        PART, PART, SMALL, instances=(1, 1, 9)),
    # The driver goes while slices are listed, as after an Xid.
    "lost midway": MIXED + "lost after=12\n",
    "one GPU lost": MIXED + "code call=nvmlDeviceGetUUID code=15 gpu=0 of=gpu\n",
    "no GPM": MIXED.replace("gpm=yes", "gpm=no"),
    "permission denied": MIXED + "".join(
        f"code call={call} code=4 {of}\n" for call, of in (
            ("nvmlDeviceGetHandleByIndex_v2", "gpu=1"),
            ("nvmlDeviceGetMemoryInfo_v2", ""), ("nvmlDeviceGetMemoryInfo", ""),
            ("nvmlDeviceGetGpuInstanceId", ""),
            ("nvmlSystemGetDriverVersion", ""))),
}
# What ends `units` and `doctor` without an answer, or `doctor` with one alone.
LOST = MIXED + "lost after=1\n"
DENIED = DRIVER + "code call=nvmlInit_v2 code=4\n"

UNITS = {
    "seven with holes": """\
Servers: 7, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1g.18gb-0.env, 1g.18gb-1.env, 1g.18gb-2.env, 1g.18gb-3.env, 1g.18gb-4.env, 1g.18gb-5.env, 1g.18gb-6.env
to start them: systemctl enable --now ferry@1g.18gb-0 ferry@1g.18gb-1 ferry@1g.18gb-2 ferry@1g.18gb-3 ferry@1g.18gb-4 ferry@1g.18gb-5 ferry@1g.18gb-6 ferry.target

label      device                                    name         profile  grpc  metrics
1g.18gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8101     8201
1g.18gb-1  MIG-10000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8102     8202
1g.18gb-2  MIG-20000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8103     8203
1g.18gb-3  MIG-30000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8104     8204
1g.18gb-4  MIG-40000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8105     8205
1g.18gb-5  MIG-50000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8106     8206
1g.18gb-6  MIG-60000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8107     8207
""",
    "mixed": """\
Servers: 4, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1g.18gb-0.env, 2g.35gb-1.env, 3g.71gb-2.env, slice-3.env
to start them: systemctl enable --now ferry@1g.18gb-0 ferry@2g.35gb-1 ferry@3g.71gb-2 ferry@slice-3 ferry.target

label      device                                    name         profile  grpc  metrics
1g.18gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8101     8201
2g.35gb-1  MIG-10000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  2g.35gb  8102     8202
3g.71gb-2  MIG-20000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  3g.71gb  8103     8203
slice-3    GPU-bbbbbbbb-0000-1111-2222-333333333333  NVIDIA H200  whole    8104     8204
""",
    "MIG off": """\
Servers: 1, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: slice-0.env
to start them: systemctl enable --now ferry@slice-0 ferry.target

label    device                                    name         profile  grpc  metrics
slice-0  GPU-aaaaaaaa-0000-1111-2222-333333333333  NVIDIA H200  whole    8101     8201
""",
    "two compute instances": """\
Servers: 3, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1c.3g.71gb-0.env, 1c.3g.71gb-1.env, 1g.18gb-2.env
to start them: systemctl enable --now ferry@1c.3g.71gb-0 ferry@1c.3g.71gb-1 ferry@1g.18gb-2 ferry.target

label         device                                    name         profile     grpc  metrics
1c.3g.71gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1c.3g.71gb  8101     8201
1c.3g.71gb-1  MIG-10000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1c.3g.71gb  8102     8202
1g.18gb-2     MIG-20000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb     8103     8203
""",
    "lost midway": """\
Servers: 1, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1g.18gb-0.env
to start them: systemctl enable --now ferry@1g.18gb-0 ferry.target

label      device                                    name         profile  grpc  metrics
1g.18gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8101     8201
warning: GPU 1 cannot be looked at, GPU_IS_LOST: no server
warning: GPU-aaaaaaaa-0000-1111-2222-333333333333 has MIG devices that cannot be looked at, GPU_IS_LOST: no server on those
""",
    "one GPU lost": """\
Servers: 1, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: slice-0.env
to start them: systemctl enable --now ferry@slice-0 ferry.target

label    device                                    name         profile  grpc  metrics
slice-0  GPU-bbbbbbbb-0000-1111-2222-333333333333  NVIDIA H200  whole    8101     8201
warning: GPU 0 cannot be looked at, GPU_IS_LOST: no server
""",
    "no GPM": """\
Servers: 4, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1g.18gb-0.env, 2g.35gb-1.env, 3g.71gb-2.env, slice-3.env
to start them: systemctl enable --now ferry@1g.18gb-0 ferry@2g.35gb-1 ferry@3g.71gb-2 ferry@slice-3 ferry.target

label      device                                    name         profile  grpc  metrics
1g.18gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8101     8201
2g.35gb-1  MIG-10000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  2g.35gb  8102     8202
3g.71gb-2  MIG-20000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  3g.71gb  8103     8203
slice-3    GPU-bbbbbbbb-0000-1111-2222-333333333333  NVIDIA H200  whole    8104     8204
""",
    "permission denied": """\
Servers: 3, one a slice; gRPC at 127.0.0.1, ports from 8101 on; metrics at 127.0.0.1, from 8201 on.

folder: /etc/ferry
written: 1g.18gb-0.env, 2g.35gb-1.env, 3g.71gb-2.env
to start them: systemctl enable --now ferry@1g.18gb-0 ferry@2g.35gb-1 ferry@3g.71gb-2 ferry.target

label      device                                    name         profile  grpc  metrics
1g.18gb-0  MIG-00000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  1g.18gb  8101     8201
2g.35gb-1  MIG-10000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  2g.35gb  8102     8202
3g.71gb-2  MIG-20000000-aaaa-bbbb-cccc-dddddddddddd  NVIDIA H200  3g.71gb  8103     8203
warning: GPU 1 cannot be looked at, NO_PERMISSION: no server
""",
}
DOCTOR = {
    "seven with holes": """\
Checks: 12, fine 11, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/1g.18gb-1.env, /etc/ferry/1g.18gb-2.env, /etc/ferry/1g.18gb-3.env, /etc/ferry/1g.18gb-4.env, /etc/ferry/1g.18gb-5.env, /etc/ferry/1g.18gb-6.env
limits: those of this process: ask where the servers are to run

check                            found                                                                               verdict
driver                           580.95.05                                                                           fine
GPUs                             1                                                                                   fine
devices of servers               7                                                                                   fine
CUDA_VISIBLE_DEVICES             not set                                                                             nothing to look at
compute instances                one a GPU instance                                                                  fine
MPS                              off                                                                                 fine
/dev/nvidia-uvm                  there                                                                               fine
ports                            8101, 8102, 8103, 8104, 8105, 8106, 8107, 8201, 8202, 8203, 8204, 8205, 8206, 8207  fine
open files                       1048576                                                                             fine
processors of the control group  no quota                                                                            fine
memory of the control group      no limit                                                                            fine
clock source                     tsc                                                                                 fine
exit 0
""",
    "mixed": """\
Checks: 12, fine 11, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/2g.35gb-1.env, /etc/ferry/3g.71gb-2.env, /etc/ferry/slice-3.env
limits: those of this process: ask where the servers are to run

check                            found                                           verdict
driver                           580.95.05                                       fine
GPUs                             2                                               fine
devices of servers               4                                               fine
CUDA_VISIBLE_DEVICES             not set                                         nothing to look at
compute instances                one a GPU instance                              fine
MPS                              off                                             fine
/dev/nvidia-uvm                  there                                           fine
ports                            8101, 8102, 8103, 8104, 8201, 8202, 8203, 8204  fine
open files                       1048576                                         fine
processors of the control group  no quota                                        fine
memory of the control group      no limit                                        fine
clock source                     tsc                                             fine
exit 0
""",
    "MIG off": """\
Checks: 12, fine 10, nothing to look at 2.

servers: /etc/ferry/slice-0.env
limits: those of this process: ask where the servers are to run

check                            found                                     verdict
driver                           580.95.05                                 fine
GPUs                             1                                         fine
devices of servers               GPU-aaaaaaaa-0000-1111-2222-333333333333  fine
CUDA_VISIBLE_DEVICES             not set                                   nothing to look at
compute instances                MIG is off                                nothing to look at
MPS                              off                                       fine
/dev/nvidia-uvm                  there                                     fine
ports                            8101, 8201                                fine
open files                       1048576                                   fine
processors of the control group  no quota                                  fine
memory of the control group      no limit                                  fine
clock source                     tsc                                       fine
exit 0
""",
    "two compute instances": """\
Checks: 12, fine 10, warning 1, nothing to look at 1.

servers: /etc/ferry/1c.3g.71gb-0.env, /etc/ferry/1c.3g.71gb-1.env, /etc/ferry/1g.18gb-2.env
limits: those of this process: ask where the servers are to run

check                            found                               verdict
driver                           580.95.05                           fine
GPUs                             1                                   fine
devices of servers               3                                   fine
CUDA_VISIBLE_DEVICES             not set                             nothing to look at
compute instances                several in one GPU instance         warning
MPS                              off                                 fine
/dev/nvidia-uvm                  there                               fine
ports                            8101, 8102, 8103, 8201, 8202, 8203  fine
open files                       1048576                             fine
processors of the control group  no quota                            fine
memory of the control group      no limit                            fine
clock source                     tsc                                 fine
warning: GPU instance 1 of GPU-aaaaaaaa-0000-1111-2222-333333333333 has 2 compute instances, MIG-00000000-aaaa-bbbb-cccc-dddddddddddd, MIG-10000000-aaaa-bbbb-cccc-dddddddddddd: they share its memory, and each server takes its part at most; make one of each GPU instance (nvidia-smi mig -cgi PROFILE -C) where tenants are to be apart
exit 0
""",
    "lost midway": """\
Checks: 12, fine 8, critical 1, unknown 2, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/2g.35gb-1.env, /etc/ferry/3g.71gb-2.env, /etc/ferry/slice-3.env
limits: those of this process: ask where the servers are to run

check                            found                                           verdict
driver                           580.95.05                                       fine
GPUs                             1                                               critical
devices of servers               4                                               unknown
CUDA_VISIBLE_DEVICES             not set                                         nothing to look at
compute instances                -                                               unknown
MPS                              off                                             fine
/dev/nvidia-uvm                  there                                           fine
ports                            8101, 8102, 8103, 8104, 8201, 8202, 8203, 8204  fine
open files                       1048576                                         fine
processors of the control group  no quota                                        fine
memory of the control group      no limit                                        fine
clock source                     tsc                                             fine
critical: GPU 1 cannot be looked at, NVML says GPU_IS_LOST: look for an Xid in `dmesg`, then `nvidia-smi --gpu-reset`, or start the machine anew
critical: a MIG device of GPU-aaaaaaaa-0000-1111-2222-333333333333 cannot be looked at, NVML says GPU_IS_LOST: look for an Xid in `dmesg`, then `nvidia-smi --gpu-reset`, or start the machine anew
warning: /etc/ferry/2g.35gb-1.env: --device: expected a device that NVML sees, got MIG-10000000-aaaa-bbbb-cccc-dddddddddddd; NVML sees: GPU 0 GPU-aaaaaaaa-0000-1111-2222-333333333333 (NVIDIA H200, MIG on): MIG-00000000-aaaa-bbbb-cccc-dddddddddddd; GPU 1 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: /etc/ferry/3g.71gb-2.env: --device: expected a device that NVML sees, got MIG-20000000-aaaa-bbbb-cccc-dddddddddddd; NVML sees: GPU 0 GPU-aaaaaaaa-0000-1111-2222-333333333333 (NVIDIA H200, MIG on): MIG-00000000-aaaa-bbbb-cccc-dddddddddddd; GPU 1 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: /etc/ferry/slice-3.env: --device: expected a device that NVML sees, got GPU-bbbbbbbb-0000-1111-2222-333333333333; NVML sees: GPU 0 GPU-aaaaaaaa-0000-1111-2222-333333333333 (NVIDIA H200, MIG on): MIG-00000000-aaaa-bbbb-cccc-dddddddddddd; GPU 1 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: compute instances: unknown: MIG-00000000-aaaa-bbbb-cccc-dddddddddddd does not tell its GPU instance
exit 3
""",
    "one GPU lost": """\
Checks: 12, fine 8, critical 1, unknown 2, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/2g.35gb-1.env, /etc/ferry/3g.71gb-2.env, /etc/ferry/slice-3.env
limits: those of this process: ask where the servers are to run

check                            found                                           verdict
driver                           580.95.05                                       fine
GPUs                             1                                               critical
devices of servers               4                                               unknown
CUDA_VISIBLE_DEVICES             not set                                         nothing to look at
compute instances                -                                               unknown
MPS                              off                                             fine
/dev/nvidia-uvm                  there                                           fine
ports                            8101, 8102, 8103, 8104, 8201, 8202, 8203, 8204  fine
open files                       1048576                                         fine
processors of the control group  no quota                                        fine
memory of the control group      no limit                                        fine
clock source                     tsc                                             fine
critical: GPU 0 cannot be looked at, NVML says GPU_IS_LOST: look for an Xid in `dmesg`, then `nvidia-smi --gpu-reset`, or start the machine anew
warning: /etc/ferry/1g.18gb-0.env: --device: expected a device that NVML sees, got MIG-00000000-aaaa-bbbb-cccc-dddddddddddd; NVML sees: GPU 1 GPU-bbbbbbbb-0000-1111-2222-333333333333 (NVIDIA H200, MIG off); GPU 0 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: /etc/ferry/2g.35gb-1.env: --device: expected a device that NVML sees, got MIG-10000000-aaaa-bbbb-cccc-dddddddddddd; NVML sees: GPU 1 GPU-bbbbbbbb-0000-1111-2222-333333333333 (NVIDIA H200, MIG off); GPU 0 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: /etc/ferry/3g.71gb-2.env: --device: expected a device that NVML sees, got MIG-20000000-aaaa-bbbb-cccc-dddddddddddd; NVML sees: GPU 1 GPU-bbbbbbbb-0000-1111-2222-333333333333 (NVIDIA H200, MIG off); GPU 0 unread: GPU_IS_LOST; unknown, as not all could be looked at
warning: compute instances: unknown: not all could be looked at
exit 3
""",
    "no GPM": """\
Checks: 12, fine 11, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/2g.35gb-1.env, /etc/ferry/3g.71gb-2.env, /etc/ferry/slice-3.env
limits: those of this process: ask where the servers are to run

check                            found                                           verdict
driver                           580.95.05                                       fine
GPUs                             2                                               fine
devices of servers               4                                               fine
CUDA_VISIBLE_DEVICES             not set                                         nothing to look at
compute instances                one a GPU instance                              fine
MPS                              off                                             fine
/dev/nvidia-uvm                  there                                           fine
ports                            8101, 8102, 8103, 8104, 8201, 8202, 8203, 8204  fine
open files                       1048576                                         fine
processors of the control group  no quota                                        fine
memory of the control group      no limit                                        fine
clock source                     tsc                                             fine
exit 0
""",
    "permission denied": """\
Checks: 12, fine 7, unknown 4, nothing to look at 1.

servers: /etc/ferry/1g.18gb-0.env, /etc/ferry/2g.35gb-1.env, /etc/ferry/3g.71gb-2.env, /etc/ferry/slice-3.env
limits: those of this process: ask where the servers are to run

check                            found                                           verdict
driver                           -                                               unknown
GPUs                             1                                               unknown
devices of servers               4                                               unknown
CUDA_VISIBLE_DEVICES             not set                                         nothing to look at
compute instances                -                                               unknown
MPS                              off                                             fine
/dev/nvidia-uvm                  there                                           fine
ports                            8101, 8102, 8103, 8104, 8201, 8202, 8203, 8204  fine
open files                       1048576                                         fine
processors of the control group  no quota                                        fine
memory of the control group      no limit                                        fine
clock source                     tsc                                             fine
warning: driver: unknown: expected nvmlSystemGetDriverVersion to tell the driver's version, got NO_PERMISSION
warning: GPU 1: unknown: NVML says NO_PERMISSION; ask as root
warning: /etc/ferry/slice-3.env: --device: expected a device that NVML sees, got GPU-bbbbbbbb-0000-1111-2222-333333333333; NVML sees: GPU 0 GPU-aaaaaaaa-0000-1111-2222-333333333333 (NVIDIA H200, MIG on): MIG-00000000-aaaa-bbbb-cccc-dddddddddddd 1g.18gb, MIG-10000000-aaaa-bbbb-cccc-dddddddddddd 2g.35gb, MIG-20000000-aaaa-bbbb-cccc-dddddddddddd 3g.71gb; GPU 1 unread: NO_PERMISSION; unknown, as not all could be looked at
warning: compute instances: unknown: MIG-00000000-aaaa-bbbb-cccc-dddddddddddd does not tell its GPU instance
exit 0
""",
}


class Machine(unittest.TestCase):
    """A machine with nothing wrong but what a test changes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-doctor-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in {
                "proc/self/environ": "HOME=/\0",
                "proc/self/limits": "Max open files  1024  1048576  files\n",
                "proc/self/cgroup": "0::/\n",
                "proc/1/cmdline": "/sbin/init\0",
                "proc/net/tcp": "  sl  local_address rem_address   st\n",
                "dev/nvidia-uvm": "",
                "sys/devices/system/clocksource/clocksource0/"
                "current_clocksource": "tsc\n"}.items():
            self.write(name, text)
        self.env = self.root / "etc" / "ferry"
        self.env.mkdir(parents=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ask(self, machine, *flags):
        """Runs ferryctl on the machine; None: the loader finds no NVML."""
        scenario = self.root / "scenario.txt"
        scenario.write_text(machine or "")
        none = self.root / "libnvidia-ml.so.1"
        none.touch()  # in place of this machine's own
        real = pathlib.Path(os.environ["FERRY_FAKE_NVML_FILE"])
        environment = os.environ | {
            "FERRY_FAKE_NVML": str(scenario), "LD_LIBRARY_PATH":
            str((none if machine is None else real).parent)}
        environment.pop("COLUMNS", None)
        return subprocess.run([CTL, *flags], env=environment, text=True,
                              capture_output=True, timeout=60, check=False)

    def units(self, machine, *flags):
        return self.ask(machine, "units", *flags)

    def doctor(self, machine, *flags):
        return self.ask(machine, "doctor", "--root", str(self.root), *flags)

    def said(self, ended):
        return ended.stdout.replace(str(self.root), "")

    def answer(self, ended):
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        return answer

    def found(self, machine, *flags):
        """Returns severity and name of what the doctor finds."""
        answer = self.answer(self.doctor(machine, "--json", *flags))
        return {finding["name"]: finding["severity"]
                for finding in answer["findings"]}

    def assert_refused(self, ended, code, text):
        self.assertEqual(ended.returncode, code, ended)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertIn(text, ended.stderr)


@unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
class GoldenTest(Machine):

    maxDiff = None

    def test_each_machine_has_a_golden(self):
        self.assertEqual(set(UNITS), set(MACHINES))
        self.assertEqual(set(DOCTOR), set(MACHINES))

    def test_units(self):
        for name, machine in MACHINES.items():
            with self.subTest(machine=name):
                for file in self.env.iterdir():
                    file.unlink()
                ended = self.units(machine, "--out", str(self.env))
                self.assertEqual(ended.returncode, 0, ended)
                self.assertEqual(self.said(ended), UNITS[name])
                printed = self.units(machine)
                self.assertEqual(printed.returncode, 0, printed)
                for file in self.env.iterdir():
                    self.assertIn(f"# /etc/ferry/{file.name}\n{file.read_text()}",
                                  printed.stdout)
                answer = self.answer(self.units(machine, "--json"))
                self.assertEqual(answer["artifact"], printed.stdout)

    def test_doctor_of_the_servers_that_units_writes(self):
        for name, machine in MACHINES.items():
            with self.subTest(machine=name):
                for file in self.env.iterdir():
                    file.unlink()
                # Before it lost a GPU, or was asked without permission.
                self.units(MIXED if MIXED in machine else machine, "--out",
                           str(self.env))
                ended = self.doctor(machine)
                self.assertEqual(
                    f"{self.said(ended)}exit {ended.returncode}\n", DOCTOR[name])
                self.assertEqual(ended.stderr, "")
                self.answer(self.doctor(machine, "--json"))


@unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
class UnitsTest(Machine):

    def test_files_have_what_the_unit_reads(self):
        self.units(MACHINES["MIG off"], "--out", str(self.env))
        unit = (ROOT / "deploy/systemd/ferry@.service").read_text()
        example = (ROOT / "deploy/systemd/slice.env").read_text()
        read = set(re.findall(r"\$\{?(FERRY_[A-Z_]+)", unit)) | {"FERRY_TORCH"}
        text = (self.env / "slice-0.env").read_text()
        given = dict(re.findall(r"^(FERRY_[A-Z_]+)=(.*)$", text, re.MULTILINE))
        self.assertEqual(set(given), read)
        # All else is as the example has it.
        self.assertEqual(
            given | {"FERRY_DEVICE": ""},
            dict(re.findall(r"^(FERRY_[A-Z_]+)=(.*)$", example, re.MULTILINE)) |
            {"FERRY_DEVICE": ""})

    def test_other_contents_stay_unless_they_are_to_be_replaced(self):
        out = ("--out", str(self.env))
        self.assertEqual(self.units(MIXED, *out).returncode, 0)
        again = self.units(MIXED, *out)
        self.assertEqual(again.returncode, 0, again)
        self.assertIn("unchanged: 1g.18gb-0.env, 2g.35gb-1.env, 3g.71gb-2.env, "
                      "slice-3.env\n", again.stdout)
        self.assertNotIn("written:", again.stdout)
        mine = self.env / "2g.35gb-1.env"
        mine.write_text("mine\n")
        gone = self.env / "slice-3.env"
        gone.unlink()
        self.assert_refused(self.units(MIXED, *out), 1,
                            "found them in 2g.35gb-1.env; nothing was written")
        self.assertEqual(mine.read_text(), "mine\n")
        self.assertFalse(gone.exists())
        ended = self.units(MIXED, *out, "--replace")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("written: 2g.35gb-1.env, slice-3.env\n", ended.stdout)
        self.assertIn("FERRY_GRPC_PORT=8102", mine.read_text())
        self.assertEqual(len(list(self.env.iterdir())), 4)

    def test_ports_follow_the_first(self):
        ended = self.units(MIXED, "--json", "--grpc-port", "9000",
                           "--metrics-port", "9100")
        self.assertEqual(
            [(row["grpc"], row["metrics"]) for row in self.answer(ended)["rows"]],
            [(str(9000 + i), str(9100 + i)) for i in range(4)])

    def test_what_makes_no_sense_is_refused(self):
        self.assert_refused(self.units(MIXED, "--grpc-port", "8200"), 1,
                            "ports: expected the first ports")
        self.assert_refused(self.units(MIXED, "--grpc-port", "0"), 1,
                            "--grpc-port")
        self.assert_refused(self.units(MIXED, "--replace"), 1, "--out")
        self.assert_refused(self.units(MIXED, "--out", "none"), 1,
                            "--out: expected a folder, got 'none'")

    def test_devices_that_are_not_known(self):
        self.assert_refused(self.units(LOST), 2, "GPU_IS_LOST")
        self.assert_refused(self.units(DENIED), 2, "NO_PERMISSION")
        self.assert_refused(self.units(None), 2, "comes with NVIDIA's driver")
        self.assert_refused(self.units(DRIVER), 2, "NVML sees: no GPU")
        self.assert_refused(
            self.units(DRIVER + H200 + "mig=on places=7\n"), 2, "no MIG device")


@unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
class DoctorTest(Machine):

    def setUp(self):
        super().setUp()
        self.units(MIXED, "--out", str(self.env))

    def test_an_index_where_mig_is_on(self):
        flags = ("--", "--device=cuda:0", "--grpc-port=8101")
        ended = self.doctor(MIXED, *flags)
        self.assertEqual(ended.returncode, 3, ended)
        self.assertIn("the flags behind --: --device: expected MIG-<uuid>, as "
                      "MIG mode is on, got cuda:0; NVML sees: GPU 0",
                      ended.stdout)
        self.assertEqual(self.found(MIXED, *flags),
                         {"index_with_mig": "critical"})
        self.assertEqual(self.found(MACHINES["MIG off"], *flags), {})
        self.write("proc/self/environ", "CUDA_VISIBLE_DEVICES=0\0")
        self.assertEqual(self.found(MIXED), {"index_with_mig": "critical"})

    def test_a_uuid_that_is_not_there(self):
        self.write("etc/ferry/1g.18gb-0.env",
                   "FERRY_DEVICE=MIG-ffff\nFERRY_GRPC_PORT=8101\n"
                   "FERRY_METRICS_PORT=8201\n")
        self.assertEqual(self.found(MIXED), {"no_such_device": "critical"})
        self.assertIn("expected a device that NVML sees, got MIG-ffff; NVML "
                      "sees: GPU 0 GPU-aaaa", self.doctor(MIXED).stdout)

    def test_drivers(self):
        self.assertEqual(self.found(MIXED.replace("=580.95.05", "=570.1")),
                         {"driver_too_old": "critical"})
        self.assertEqual(
            self.found(DRIVER + "code call=nvmlInit_v2 code=9\n"),
            {"driver_does_not_start": "critical"})
        self.assertEqual(self.found(None), {"driver_missing": "critical"})
        self.assertEqual(self.found(None, "--", "--device=cpu"),
                         {"driver_missing": "note"})
        self.assertEqual(self.found(LOST), {
            "driver_is_unknown": "warning", "driver_lost": "critical",
            "devices_are_unknown": "warning",
            "compute_instances_are_unknown": "warning"})

    def test_what_the_system_has_wrong(self):
        self.write("proc/7/cmdline", "nvidia-cuda-mps-control\0-d\0")
        (self.root / "dev/nvidia-uvm").unlink()
        self.write("proc/net/tcp", "0: 0100007F:1FA5 00000000:0000 0A\n")
        self.write("proc/self/limits", "Max open files  256  512  files\n")
        self.write("sys/fs/cgroup/cpu.max", "200000 100000\n")
        self.write("sys/fs/cgroup/memory.max", "1073741824\n")
        self.write("sys/devices/system/clocksource/clocksource0/"
                   "current_clocksource", "acpi_pm\n")
        slice_env = self.env / "slice-3.env"
        slice_env.write_text(slice_env.read_text().replace(
            "FERRY_ARGUMENTS=", "FERRY_ARGUMENTS=--threads=3 "
            "--grpc-memory-bytes=1073741824 --grpc-max-connections=500"))
        self.assertEqual(self.found(MIXED), {
            "mps_with_tenants": "warning", "uvm_missing": "critical",
            "port_in_use": "critical", "open_files_low": "warning",
            "open_files_below_connections": "warning",
            "threads_above_quota": "warning", "memory_is_limited": "note",
            "requests_above_memory": "critical", "clock_is_slow": "warning"})

    def test_what_is_unknown_is_a_warning_and_no_more(self):
        (self.root / "proc/self/limits").unlink()
        self.assertEqual(self.found(MIXED), {"open_files_are_unknown": "warning"})
        self.assertEqual(self.doctor(MIXED).returncode, 0)
        self.assertEqual(self.doctor(MIXED, "--fail-on", "warning").returncode, 3)

    def test_where_nothing_can_be_looked_at_it_cannot_know(self):
        with tempfile.TemporaryDirectory() as empty:
            pathlib.Path(empty, "dev").write_text("no folder")
            self.assert_refused(
                self.ask(DENIED, "doctor", "--root", empty), 2,
                "nothing could be looked at: driver: unknown: expected "
                "nvmlInit_v2 to find NVIDIA's driver, got NO_PERMISSION; ")

    def test_wrong_flags(self):
        self.assert_refused(self.doctor(MIXED, "--", "cuda:0"), 1,
                            "expected flags of ferry-server, got 'cuda:0'")
        self.assert_refused(self.doctor(MIXED, "--device=cpu"), 1, "--device")

    def test_on_this_machine_it_says_something(self):
        ended = self.ask(None, "doctor", "--json", "--", "--device=cpu")
        rows = {row["check"]: row["verdict"]
                for row in self.answer(ended)["rows"]}
        self.assertEqual(len(rows), 12)
        self.assertNotEqual(rows["open files"], "unknown")


if __name__ == "__main__":
    unittest.main()
