"""How scripts install a published tool on first use: they say so, and go on from
where they were stopped."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# A tool of two parts; the second waits for a file where it is asked to.
SCRIPT = """set -euo pipefail
source {library}
part() {{
  echo "part $1" && echo "$1" >>{runs}
}}
second() {{
  part second
  [ ! -e {gate} ] || exec cat {gate}
}}
fill() {{
  if [ ! -e "$1/first" ]; then
    alive "making the first part" part first
    : >"$1/first"
  fi
  alive "making the second part" second
  printf '#!/bin/sh\\necho it runs\\n' >"$1/program"
  chmod +x "$1/program"
}}
install_tool "$tools/thing-1" program fill
exec "$tools/thing-1/program"
"""

# A tool that is a package of Python's.
DOWNLOADING = """set -euo pipefail
source {library}
fill() {{
  download "$1" thing==1
  chmod +x "$1/bin/program"
}}
install_tool "$tools/thing-1" bin/program fill
exec "$tools/thing-1/bin/program"
"""


class ToolInstallTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runs = self.folder / "runs"
        self.gate = self.folder / "gate"
        self.script = self.folder / "thing.sh"
        self.script.write_text(SCRIPT.format(
            library=SCRIPTS / "tool_lib.sh", runs=self.runs, gate=self.gate))

    def start(self, **environment):
        return subprocess.Popen(
            ["bash", self.script], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "FERRY_TOOLS": str(self.folder / "tools"),
                 **environment})

    def test_first_use_is_told_and_the_second_is_quiet(self):
        out, told = self.start().communicate(timeout=60)
        self.assertEqual(out, "it runs\n")
        self.assertIn("thing: first use: installing into", told)
        self.assertIn("thing: making the first part", told)
        out, told = self.start().communicate(timeout=60)
        self.assertEqual((out, told), ("it runs\n", ""))
        self.assertEqual(self.runs.read_text(), "first\nsecond\n")

    def test_stopped_it_goes_on_from_where_it_was(self):
        os.mkfifo(self.gate)
        stopped = self.start()
        # Opens once the second part reads: the first is made.
        with open(self.gate, "w", encoding="utf-8"):
            os.killpg(stopped.pid, signal.SIGTERM)
            out, told = stopped.communicate(timeout=60)
        self.assertNotEqual(stopped.returncode, 0)
        self.assertEqual(out, "")
        self.assertFalse((self.folder / "tools" / "thing-1").exists())
        self.gate.unlink()
        out, told = self.start().communicate(timeout=60)
        self.assertEqual(out, "it runs\n", told)
        self.assertEqual(self.runs.read_text(), "first\nsecond\nsecond\n")

    def offer_package(self, locked=None):
        """Makes an index with the package "thing", and scripts whose lock has it
        with the digest `locked`, or its own; the script to start is one that
        downloads it. Returns the file of the package and what to start with.
        """
        index = self.folder / "index"
        index.mkdir()
        wheel = index / "thing-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("bin/program", "#!/bin/sh\necho it runs\n")
            file.writestr("thing-1.dist-info/METADATA",
                          "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
            file.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\n"
                          "Root-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr("thing-1.dist-info/RECORD", "")
        scripts = self.folder / "scripts"
        scripts.mkdir()
        for name in ("tool_lib.sh", "locked.sh"):
            shutil.copy(SCRIPTS / name, scripts)
        lock = self.folder / "requirements" / "locked" / "tools.txt"
        lock.parent.mkdir(parents=True)
        digest = locked or hashlib.sha256(wheel.read_bytes()).hexdigest()
        lock.write_text(f"thing==1 \\\n    --hash=sha256:{digest}\n")
        self.script.write_text(DOWNLOADING.format(
            library=scripts / "tool_lib.sh"))
        return wheel, {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}

    def test_half_a_package_is_fetched_again(self):
        """As of a run that was stopped while pip copied."""
        wheel, environment = self.offer_package()
        staging = self.folder / "tools" / ".thing-1"
        staging.mkdir(parents=True)
        (staging / wheel.name).write_bytes(wheel.read_bytes()[:100])
        out, told = self.start(**environment).communicate(timeout=60)
        self.assertEqual(out, "it runs\n", told)

    def test_a_package_of_another_digest_is_refused(self):
        started = self.start(**self.offer_package(locked="0" * 64)[1])
        out, told = started.communicate(timeout=60)
        self.assertEqual(out, "")
        self.assertNotEqual(started.returncode, 0)
        self.assertIn("DO NOT MATCH THE HASHES", told)
        self.assertFalse((self.folder / "tools" / "thing-1").exists())

    def test_a_package_that_is_not_locked_is_not_fetched(self):
        environment = self.offer_package()[1]
        lock = self.folder / "requirements" / "locked" / "tools.txt"
        lock.write_text(lock.read_text().replace("thing==1", "thing==2"))
        out, told = self.start(**environment).communicate(timeout=60)
        self.assertEqual(out, "")
        self.assertIn("expected thing==1 in requirements/locked/tools.txt", told)

    def test_half_of_a_removed_tool_is_replaced(self):
        half = self.folder / "tools" / "thing-1"
        half.mkdir(parents=True)
        (half / "first").touch()
        out, told = self.start().communicate(timeout=60)
        self.assertEqual(out, "it runs\n", told)

    def test_half_a_virtual_environment_is_made_anew(self):
        self.script.write_text(
            f"set -euo pipefail\nsource {SCRIPTS}/tool_lib.sh\n"
            'make_venv "$1"\n')
        home = self.folder / "venv"

        def make():
            subprocess.run(["bash", self.script, home], check=True,
                           timeout=100, stderr=subprocess.DEVNULL)

        make()
        whole = home / "whole"
        whole.touch()
        make()
        self.assertTrue(whole.exists(), "it was left alone")
        for half in home.glob("lib/python3*/site-packages/pip/_vendor"):
            shutil.rmtree(half)
        make()
        self.assertFalse(whole.exists())
        subprocess.run([home / "bin/python", "-m", "pip", "install",
                        "--no-index", "pip"], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)

    def test_where_nothing_is_to_be_installed_it_is_said(self):
        ended = self.start(FERRY_INSTALL_TOOLS="no")
        self.assertIn("not installed", ended.communicate(timeout=60)[1])
        self.assertEqual(ended.returncode, 77)


if __name__ == "__main__":
    unittest.main()
