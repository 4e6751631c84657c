"""scripts/bundle.sh: what it makes is whole, holds no path of this machine, and
serves from another folder with an empty environment. On a system without our
libraries: scripts/check_bundle.sh."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tools import ROOT

BUILD = pathlib.Path(os.environ["FERRY_SERVER"]).parents[1]
TORCH = os.environ["FERRY_TORCH_LIBRARY"]  # .../torch/lib
GLIBC = (2, 36)


IDENTITY = re.compile(rb"ferry-[0-9.]+-torch-[0-9.]+-[0-9a-f]{16}")


def bundle(folder, *flags):
    """scripts/bundle.sh of this build, into the folder."""
    return subprocess.run(
        ["bash", ROOT / "scripts" / "bundle.sh", "--bin", BUILD, "--out",
         folder, *flags], text=True, capture_output=True, timeout=250,
        check=False)


class CudaLibraryTest(unittest.TestCase):
    """libferry_cuda.so of another build than ferry-server."""

    def refusal(self, content):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "lib" / "libferry_cuda.so"
            library.parent.mkdir()
            library.write_bytes(content)
            made = bundle(folder, "--cuda", folder)
            self.assertEqual(made.returncode, 1, made.stdout)
            self.assertEqual(list(pathlib.Path(folder).glob("*.tar.gz")), [])
            self.assertIn(f"{library} was built from other sources than",
                          made.stderr)
            server = pathlib.Path(os.environ["FERRY_SERVER"]).read_bytes()
            expected = IDENTITY.search(server).group().decode()
            self.assertIn(f"expected {expected}, got ", made.stderr)
            return made.stderr

    def test_of_another_build_is_refused(self):
        other = "ferry-0.0.1-torch-2.0.0-0123456789abcdef"
        self.assertIn(f"got {other};",
                      self.refusal(b"\x7fELF\0" + other.encode() + b"\0"))

    def test_that_tells_no_build_is_refused(self):
        self.assertIn("got nothing;", self.refusal(b"\x7fELF\0"))


class BundleTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ferry-bundle-")
        cls.addClassCleanup(folder.cleanup)
        made = bundle(folder.name)
        if "was built from other sources" in made.stderr:  # an old build/cuda
            made = bundle(folder.name, "--cuda", "none")
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        (tarball,) = pathlib.Path(folder.name).glob("ferry-*.tar.gz")
        subprocess.run(["tar", "-xzf", tarball, "-C", folder.name], check=True)
        tarball.unlink()
        (cls.home,) = pathlib.Path(folder.name).glob("ferry-*/")

    def test_manifest_names_every_file(self):
        subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST.sha256"],
                       cwd=self.home, check=True)
        named = {line.split("  ./")[1] for line in
                 (self.home / "MANIFEST.sha256").read_text().splitlines()}
        there = {str(path.relative_to(self.home))
                 for path in self.home.rglob("*") if path.is_file()}
        self.assertEqual(named, there - {"MANIFEST.sha256"})

    def test_it_says_what_it_was_built_from(self):
        server = (self.home / "libexec" / "ferry-server").read_bytes()
        self.assertIn(IDENTITY.search(server).group(),
                      (self.home / "BUNDLE.txt").read_bytes())

    def test_no_path_of_this_machine(self):
        for path in [*(self.home / "libexec").iterdir(),
                     *(self.home / "lib").glob("libferry_*")]:
            self.assertFalse(str(ROOT).encode() in path.read_bytes(), path)

    def test_functions_have_names_to_tell_of_a_crash(self):
        names = subprocess.run(
            ["nm", "--demangle", self.home / "libexec" / "ferry-server"],
            text=True, capture_output=True, check=True).stdout
        self.assertIn(" ferry::CpuInstance::Run(", names)

    def test_glibc_of_debian_12_is_enough(self):
        for path in [*(self.home / "libexec").iterdir(),
                     *(self.home / "lib").iterdir()]:
            symbols = subprocess.run(["objdump", "-T", path], text=True,
                                     capture_output=True, check=True).stdout
            for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols):
                self.assertLessEqual((int(major), int(minor)), GLIBC, path)

    def test_every_library_is_there(self):
        """Or torch's, or glibc's."""
        there = {path.name for path in (self.home / "lib").iterdir()}
        elsewhere = re.compile(
            r"lib(c|m|dl|rt|pthread|resolv)\.so|ld-linux|libtorch|libc10|libcud")
        for path in [*(self.home / "libexec").iterdir(),
                     *(self.home / "lib").iterdir()]:
            header = subprocess.run(["objdump", "-p", path], text=True,
                                    capture_output=True, check=True).stdout
            for name in re.findall(r"NEEDED\s+(\S+)", header):
                if not elsewhere.match(name):
                    self.assertIn(name, there, path)

    def test_serves_from_its_folder(self):
        program = str(self.home / "bin" / "ferry-server")
        wrapped = subprocess.run(
            ["env", "-i", "PATH=/usr/bin:/bin", program, "--torch",
             str(pathlib.Path(TORCH).parent), "--check-config",
             f"--model-repository={self.home / 'models'}"],
            text=True, capture_output=True, timeout=120, check=False)
        self.assertEqual(wrapped.returncode, 0,
                         wrapped.stdout + wrapped.stderr)
        self.assertIn("# linear version 1: can be served", wrapped.stdout)
        self.assertIn("# sim version 1: can be served", wrapped.stdout)

    def test_model_that_loses_a_device_can_be_served(self):
        told = subprocess.run(
            [self.home / "bin" / "ferry-server", "--torch",
             pathlib.Path(TORCH).parent, "--check-config",
             f"--model-repository={self.home / 'tests' / 'models'}"],
            text=True, capture_output=True, timeout=120, check=True).stdout
        self.assertIn("# lookup version 1: can be served", told)

    def test_exporter_is_in_it(self):
        told = subprocess.run(
            [sys.executable, "-B", "-m", "ferry_export", "--help"], text=True,
            capture_output=True, timeout=60, check=True,
            env={"PYTHONPATH": str(self.home / "export")}).stdout
        self.assertIn("--device {cpu,cuda}", told)
        self.assertTrue((self.home / "export/examples/minilm.py").exists())

    def gpu_check(self, *wrapper, flags=("--only",
                                         "programs,lost-device,memcheck")):
        """Runs tests/gpu_check.sh and returns its exit code, its steps, each by
        name and device, and what it measured."""
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                ["env", "-i", f"PATH={os.environ['PATH']}", *wrapper,
                 self.home / "tests" / "gpu_check.sh", "--torch",
                 pathlib.Path(TORCH).parent, "--seconds", "0.5", "--out",
                 folder, *flags], text=True, capture_output=True, timeout=200,
                check=False)
            path = pathlib.Path(folder) / "ferry-gpu-check.json"
            self.assertTrue(path.exists(), ended.stdout + ended.stderr)
            made = json.loads(path.read_text())
            text = path.with_suffix(".txt").read_text()
        self.assertIn(made["commit"], text)
        for step in made["steps"]:
            self.assertIn(step["name"], text)
        return ended.returncode, {(step["name"], step["device"]): step
                                  for step in made["steps"]}, made["measures"]

    def assertServedOnCpu(self, steps):
        for name in ("ferry-server", "ferry-bench run -m linear",
                     "ferry-bench run -m sim", "/metrics", "drain",
                     "ferry-forward"):
            self.assertEqual(steps[name, "cpu"]["outcome"], "passed",
                             steps[name, "cpu"])
        self.assertGreater(steps["ferry-bench run -m linear", "cpu"]
                           ["requests_per_second"], 0)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a device")
    def test_gpu_check_without_a_device_runs_the_rest(self):
        code, steps, _ = self.gpu_check()
        self.assertServedOnCpu(steps)
        for (name, device), step in steps.items():
            if device != "cpu":
                self.assertEqual(step["outcome"], "skipped", step)
        self.assertEqual(steps["ferry-server", "only"]["reason"], "no device")
        self.assertIn("libnvidia-ml.so.1", steps["ferry-nvml", ""]["reason"])
        self.assertEqual(code, 77)

    @unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a device")
    def test_gpu_check_goes_on_after_a_step_that_failed(self):
        """NVML, made up, sees a device, which no CUDA will find."""
        folder = os.path.dirname(os.environ["FERRY_FAKE_NVML_FILE"])
        with tempfile.NamedTemporaryFile("w") as scenario:
            scenario.write("gpu uuid=GPU-a name=G mig=on places=7\n"
                           "mig gpu=0 place=4 uuid=MIG-b\n")
            scenario.flush()
            code, steps, _ = self.gpu_check(
                f"LD_LIBRARY_PATH={folder}",
                f"FERRY_FAKE_NVML={scenario.name}")
        self.assertEqual(steps["ferry-nvml", ""]["outcome"], "passed")
        calls = steps["ferry-nvml --calls", ""]["calls"]
        self.assertIn(("nvmlInit_v2", "SUCCESS"),
                      {(call["call"], call["name"]) for call in calls})
        failed = steps["ferry-server", "only"]
        self.assertEqual(failed["outcome"], "failed", failed)
        self.assertIn(" device uuid=MIG-b", failed["output"])
        self.assertEqual(steps["drain", "only"]["reason"],
                         "no server: see ferry-server")
        self.assertServedOnCpu(steps)
        self.assertEqual(code, 1)

    def test_gpu_check_asks_a_server_on_the_cpu(self):
        _, steps, _ = self.gpu_check(
            flags=["--only", "captures,random,together,readers"])
        on_cpu = {name: step for (name, device), step in steps.items()
                  if device == "cpu"}
        self.assertEqual(len(on_cpu), 4)
        for step in on_cpu.values():
            self.assertEqual(step["outcome"], "passed", step)

    def test_gpu_check_measures_on_the_cpu(self):
        """What is found there, if anything, is not asserted."""
        _, steps, measures = self.gpu_check(flags=[
            "--only-measure", "--measure-on", "cpu", "--network", "mlp:4",
            "--batch", "1,4", "--seconds", "0.1"])
        for (name, _), step in steps.items():
            # This machine's Python may have no torch that it can import, and
            # copies are of a device.
            if (name.startswith("measure ") and "peak" not in name and
                    "rows to the device" not in name):
                self.assertEqual(step["outcome"], "passed", step)
        self.assertIn(steps["measure matmul peak", "cpu"]["outcome"],
                      ("passed", "skipped"))
        self.assertEqual(measures["device"], "cpu")
        of = measures["networks"]["mlp"]
        for mode in ("graphs", "eager"):
            self.assertEqual([one["rows"] for one in of["offline"][mode]],
                             [1, 4])
            one = measures["one_outstanding"]["mlp"][mode]
            self.assertGreater(one["forward"]["compute_ms"], 0)
            self.assertGreater(one["served"]["p50_ms"], 0)
        self.assertEqual(of["in_process"]["limit_ms"], 4)
        self.assertEqual(of["served"]["limit_ms"], 4)
        self.assertEqual(of["served_without_batching"]["max_batch_size"], 1)

    def test_wrong_torch_is_said(self):
        ended = subprocess.run(
            [self.home / "bin" / "ferry-server", "--torch", "/no/such"],
            text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("expected lib/libtorch_cpu.so in /no/such", ended.stderr)


if __name__ == "__main__":
    unittest.main()
