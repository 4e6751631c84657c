"""scripts/bundle.sh: what it makes is whole, holds no path of this machine, and
serves from another folder with an empty environment. On a system without our
libraries: scripts/check_bundle.sh."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from tools import ROOT

BUILD = pathlib.Path(os.environ["FERRY_SERVER"]).parents[1]
TORCH = os.environ["FERRY_TORCH_LIBRARY"]  # .../torch/lib
GLIBC = (2, 36)


class BundleTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ferry-bundle-")
        cls.addClassCleanup(folder.cleanup)
        made = subprocess.run(
            ["bash", ROOT / "scripts" / "bundle.sh", "--bin", BUILD, "--out",
             folder.name], text=True, capture_output=True, timeout=250,
            check=False)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        (tarball,) = pathlib.Path(folder.name).glob("ferry-*.tar.gz")
        subprocess.run(["tar", "-xzf", tarball, "-C", folder.name], check=True)
        tarball.unlink()
        (cls.home,) = pathlib.Path(folder.name).glob("ferry-*")

    def test_manifest_names_every_file(self):
        subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST.sha256"],
                       cwd=self.home, check=True)
        named = {line.split("  ./")[1] for line in
                 (self.home / "MANIFEST.sha256").read_text().splitlines()}
        there = {str(path.relative_to(self.home))
                 for path in self.home.rglob("*") if path.is_file()}
        self.assertEqual(named, there - {"MANIFEST.sha256"})

    def test_no_path_of_this_machine(self):
        for path in [*(self.home / "libexec").iterdir(),
                     *(self.home / "lib").glob("libferry_*")]:
            self.assertFalse(str(ROOT).encode() in path.read_bytes(), path)

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
            r"lib(c|m|dl|rt|pthread|resolv)\.so|ld-linux|libtorch|libc10")
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

    def test_wrong_torch_is_said(self):
        ended = subprocess.run(
            [self.home / "bin" / "ferry-server", "--torch", "/no/such"],
            text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("expected lib/libtorch_cpu.so in /no/such", ended.stderr)


if __name__ == "__main__":
    unittest.main()
