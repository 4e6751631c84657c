"""scripts/gpu_check.sh on bundles of scripts that play the programs: outcomes,
bounds, reasons, exit codes. On a real bundle: bundle_test.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tools import ROOT

SCRIPTS = ROOT / "scripts" / "gpu_check"
sys.path.insert(0, str(SCRIPTS))
import programs  # pylint: disable=wrong-import-position

DEVICES = {"driver_version": "580.1", "nvml_version": "13.0", "gpus": [
    {"index": 0, "name": "G", "uuid": "GPU-a",
     "mig_devices": [{"uuid": "MIG-b", "profile": "1g.18gb"}]}]}
NVML = f"""case ${{1:-}} in
  --calls) echo '| call | of | code | name | times |'
           echo '| --- | --- | --- | --- | --- |'
           echo '| nvmlInit_v2 | - | 0 | SUCCESS | 1 |' ;;
  *) echo '{json.dumps(DEVICES)}' ;;
esac
"""
NO_NVML = "echo 'ferry-nvml: expected libnvidia-ml.so.1' >&2; exit 1"


class ProgramsTest(unittest.TestCase):

    def test_a_program_that_hangs_is_ended_and_said_to_be_late(self):
        ended = programs.run(["sh", "-c", "sleep 1000 & wait"], 0.1)
        self.assertTrue(ended.is_late)
        with self.assertRaisesRegex(programs.Wrong, "sh to end in time"):
            ended.require_success()

    def test_a_code_is_said_with_the_last_line(self):
        ended = programs.run(["sh", "-c", "echo a; echo b >&2; exit 3"], 60)
        with self.assertRaisesRegex(programs.Wrong, "got 3: b"):
            ended.require_success()

    def test_a_server_that_ends_is_told_by_its_log(self):
        with tempfile.TemporaryDirectory() as folder, \
                self.assertRaisesRegex(programs.Wrong, "code 5: cannot start"):
            programs.Server(["sh", "-c", "echo cannot start; exit 5"],
                            pathlib.Path(folder) / "log")


class GpuCheckTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-check-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "BUNDLE.txt").write_text("Ferry 1, x86, of commit abc\n")

    def play(self, path, text):
        """Puts a script there."""
        path = self.home / path
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def run_script(self, *flags):
        path = f"{self.home / 'tools'}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", ROOT / "scripts" / "gpu_check.sh", "--bundle", self.home,
             "--out", self.home / "out", *flags], text=True, timeout=120,
            capture_output=True, check=False, env=os.environ | {"PATH": path})

    def report(self):
        """Returns the JSON, and the steps by name and device."""
        made = json.loads(
            (self.home / "out" / "ferry-gpu-check.json").read_text())
        return made, {(step["name"], step["device"]): step
                      for step in made["steps"]}

    def test_each_step_has_its_outcome_whatever_the_others_have(self):
        self.play("bin/ferry-nvml", NVML)
        self.play("tests/broken_test", "echo it broke; exit 3")
        self.play("tests/good_test", "echo '[  PASSED  ] 12 tests.'")
        self.play("tests/lost_test", "echo no CUDA device")
        self.play("tools/compute-sanitizer",
                  "for last in \"$@\"; do :; done; exec \"$last\"")
        ended = self.run_script()
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        made, steps = self.report()
        self.assertEqual(made["commit"], "abc")
        self.assertEqual(made["driver"], "580.1")
        self.assertEqual(made["devices"], DEVICES["gpus"])
        self.assertEqual(made["outcome"], "failed")
        self.assertEqual(steps["tests/good_test", "only"]["tests"], 12)
        self.assertEqual(
            {name: step["outcome"] for (name, _), step in steps.items()
             if "tests/" in name},
            {"tests/broken_test": "failed", "tests/good_test": "passed",
             "tests/lost_test": "failed",
             "compute-sanitizer tests/broken_test": "failed",
             "compute-sanitizer tests/good_test": "passed",
             "compute-sanitizer tests/lost_test": "failed"})
        self.assertIn("got 3: it broke",
                      steps["tests/broken_test", "only"]["reason"])
        self.assertIn("to find the device",
                      steps["tests/lost_test", "only"]["reason"])
        self.assertEqual(steps["ferry-nvml --calls", ""]["calls"],
                         [{"call": "nvmlInit_v2", "of": "-", "code": "0",
                           "name": "SUCCESS", "times": "1"}])
        self.assertEqual(steps["ferry-server", "only"]["reason"],
                         "the bundle has no ferry-server")
        text = (self.home / "out" / "ferry-gpu-check.txt").read_text()
        self.assertIn("| nvmlInit_v2 | - | 0 | SUCCESS | 1 |", text)
        self.assertIn("GPU 0: G GPU-a: MIG-b 1g.18gb", text)
        self.assertEqual(sum(made["counts"].values()), len(made["steps"]))

    def test_tests_see_the_device_that_is_named(self):
        self.play("bin/ferry-nvml", NVML)
        self.play("tests/good_test", "test $CUDA_VISIBLE_DEVICES = MIG-b && "
                  "echo '[  PASSED  ] 1 test.'")
        self.run_script("--device", "MIG-b")
        _, steps = self.report()
        self.assertEqual(steps["tests/good_test", "MIG-b"]["outcome"], "passed")

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a device")
    def test_without_a_device_what_needs_one_is_skipped(self):
        self.play("bin/ferry-nvml", NO_NVML)
        self.play("tests/good_test", "exit 3")
        ended = self.run_script()
        self.assertEqual(ended.returncode, 77, ended.stdout + ended.stderr)
        made, steps = self.report()
        self.assertEqual(made["outcome"], "skipped")
        self.assertEqual(steps["tests/good_test", "only"]["reason"],
                         "no device")

    def test_a_device_that_was_asked_for_is_no_reason_to_skip(self):
        self.play("bin/ferry-nvml", NO_NVML)
        self.play("tests/broken_test", "exit 3")
        ended = self.run_script("--device", "cuda:0")
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        _, steps = self.report()
        self.assertEqual(steps["ferry-nvml", ""]["outcome"], "failed")
        self.assertEqual(steps["tests/broken_test", "cuda:0"]["outcome"],
                         "failed")

    def test_only_the_parts_that_are_named_run(self):
        self.play("bin/ferry-nvml", NVML)
        self.play("tests/good_test", "exit 3")
        for flag, wanted in (
                ("torches", {"measure the encoder with two torches": 1}),
                ("cycles", {"serving: models that come and go": 2}),
                ("memcheck-random",
                 {"memcheck serving: random numbers beside a capture": 1})):
            self.run_script("--only", flag)
            made, _ = self.report()
            names = [step["name"] for step in made["steps"]]
            self.assertEqual({name: names.count(name) for name in names},
                             {"ferry-nvml": 1, **wanted})
        for flags, devices in ((["--no-control"], 1), ([], 2)):
            self.run_script("--only", "serving,lost-device", *flags)
            made, _ = self.report()
            self.assertEqual(len(made["steps"]), 1 + devices * 7 + 1)

    def test_wrong_arguments_are_refused(self):
        ended = self.run_script()
        self.assertEqual(ended.returncode, 2)
        self.assertIn("expected an unpacked bundle", ended.stderr)
        self.play("bin/ferry-nvml", NVML)
        for flags, said in ((["--seconds", "0"], "expected 0.1 to 600, got 0"),
                            (["--torch", "/no/such"], "libtorch_cpu.so"),
                            (["--device", "cpu"], "expected a device"),
                            (["--only", "serving,no"], "got 'no'"),
                            (["--other-torch", "/no/such"],
                             "expected the folder torch/"),
                            (["--gpu"], "unrecognized arguments")):
            ended = self.run_script(*flags)
            self.assertEqual(ended.returncode, 2, said)
            self.assertIn(said, ended.stderr)


if __name__ == "__main__":
    unittest.main()
