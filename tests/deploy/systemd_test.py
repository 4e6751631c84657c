"""The systemd units, by systemd-analyze: they are right, and as closed as they
say. Skipped where systemd-analyze is not installed."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "systemd"
ANALYZE = shutil.which("systemd-analyze")
# The program of each unit.
PROGRAMS = {"ferry@.service": "opt/ferry/bin/ferry-server",
            "ferry-batch@.service": "opt/ferry-batch/bin/ferry-batch",
            "ferry-notice.service": "usr/bin/python3"}
OTHERS = ("ferry.target", "ferry-sleep.target", "ferry-sleep.timer",
          "ferry-wake.timer")
# Exposure in tenths, as systemd 252 counts it; 100 is all open.
MOST_EXPOSED = 25


def setUpModule():
    if not ANALYZE:
        raise unittest.SkipTest("systemd-analyze is not installed")


class SystemdTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-units-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        units = self.root / "etc" / "systemd" / "system"
        units.mkdir(parents=True)
        for unit in UNITS.iterdir():
            if unit.suffix != ".env":
                shutil.copy(unit, units)
        # verify asks whether the programs are there.
        for name in PROGRAMS.values():
            program = self.root / name
            program.parent.mkdir(parents=True)
            shutil.copy("/bin/true", program)

    def analyze(self, *arguments):
        return subprocess.run([ANALYZE, *arguments], text=True, timeout=60,
                              capture_output=True, check=False,
                              env=os.environ | {"SYSTEMD_COLORS": "0"})

    def verify(self):
        """Returns what is said of our units, with the units of this machine."""
        units = self.root / "etc" / "systemd" / "system"
        for unit, program in PROGRAMS.items():
            text = (units / unit).read_text()
            (units / unit).write_text(
                text.replace(f"=/{program} ", f"={self.root}/{program} "))
        ended = self.analyze("verify", "--man=no",
                             *(str(units / name) for name in
                               (*PROGRAMS, *OTHERS)))
        return ended.returncode, ended.stderr

    def test_units_are_right(self):
        code, said = self.verify()
        self.assertEqual(code, 0, said)
        self.assertNotIn("ferry", said)

    def test_a_wrong_unit_would_be_found(self):
        unit = self.root / "etc" / "systemd" / "system" / "ferry@.service"
        unit.write_text(unit.read_text().replace("KillMode=mixed",
                                                 "KillMode=sometimes"))
        _, said = self.verify()
        self.assertIn("Failed to parse kill mode", said)

    def test_exposure_is_low(self):
        for unit in ("ferry@.service", "ferry-batch@.service"):  # the third is root's
            ended = self.analyze("security", "--offline=yes",
                                 f"--threshold={MOST_EXPOSED}",
                                 f"--root={self.root}", unit)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_the_examples_set_all_that_the_units_read(self):
        for unit, example in (("ferry@.service", "slice.env"),
                              ("ferry-batch@.service", "batch.env")):
            read = set(re.findall(r"\$\{?(FERRY_[A-Z_]+)",
                                  (UNITS / unit).read_text()))
            given = set(re.findall(r"^(FERRY_[A-Z_]+)=",
                                   (UNITS / example).read_text(), re.MULTILINE))
            # That one is read by deploy/bundle/run.sh.
            self.assertEqual(read, given - {"FERRY_TORCH"})

    def test_the_deb_has_each_unit_but_that_of_jobs(self):
        text = (UNITS.parents[1] / "cmake" / "packages.cmake").read_text()
        installed = re.findall(r"\$\{units\}/(\S+\.(?:service|target|timer))", text)
        self.assertEqual({*installed, "ferry-batch@.service"}, {*PROGRAMS, *OTHERS})

    def test_no_unit_writes_a_core_file(self):
        for unit in PROGRAMS:
            lines = (UNITS / unit).read_text().splitlines()
            self.assertIn("LimitCORE=0", lines, unit)

    def test_the_server_knows_the_flags(self):
        unit = (UNITS / "ferry@.service").read_text()
        example = (UNITS / "slice.env").read_text()
        given = dict(re.findall(r"^(\w+)=(.*)$", example, re.MULTILINE))
        self.assertTrue(given["FERRY_DEVICE"].startswith("MIG-"))
        given["FERRY_DEVICE"] = "cpu"  # that one is on no machine
        line = re.search(r"^ExecStart=\S+ (.*)$", unit, re.MULTILINE).group(1)
        flags = re.sub(r"\$\{?(\w+)\}?", lambda name: given[name.group(1)],
                       line).split()
        # Past the flags, it fails for want of the models.
        ended = subprocess.run([os.environ["FERRY_SERVER"], *flags], text=True,
                               capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn(given["FERRY_MODELS"], ended.stderr.splitlines()[-1])

    def test_time_to_stop_is_enough(self):
        unit = (UNITS / "ferry@.service").read_text()
        example = (UNITS / "slice.env").read_text()
        least = sum(int(re.search(rf"{name}=(\d+)", example).group(1))
                    for name in ("FERRY_DRAIN_DELAY_SECS",
                                 "FERRY_EXIT_TIMEOUT_SECS"))
        stop = int(re.search(r"TimeoutStopSec=(\d+)s", unit).group(1))
        self.assertGreater(stop, least + 5)
        unit = (UNITS / "ferry-batch@.service").read_text()
        grace = int(re.search(r"--grace=(\d+)s", unit).group(1))
        stop = int(re.search(r"TimeoutStopSec=(\d+)s", unit).group(1))
        self.assertGreater(stop, grace + 5)

    def test_a_batch_job_goes_on_after_code_2_alone(self):
        unit = (UNITS / "ferry-batch@.service").read_text()
        lines = dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
        self.assertEqual(
            [lines[name] for name in ("Restart", "RestartPreventExitStatus",
                                      "SuccessExitStatus")],
            ["on-failure", "1", "75"])
        self.assertNotIn("RestartForceExitStatus", lines)


if __name__ == "__main__":
    unittest.main()
