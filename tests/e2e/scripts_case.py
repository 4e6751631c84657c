"""A test case with the scripts of write_scripts, and a server on models of them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tritonclient.grpc as triton

from ferry_process import FerryProcess

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]


class ScriptsCase(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scripts = self.folder / "scripts"
        self.scripts.mkdir()
        subprocess.run([WRITE_SCRIPTS, self.scripts], check=True, timeout=60)
        self.repository = self.folder / "models"
        self.repository.mkdir()

    def start(self, *flags):
        self.server = FerryProcess(
            *flags, "--model-repository", str(self.repository), models=None)
        self.addCleanup(self.server.stop)
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)
