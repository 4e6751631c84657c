"""A test case that runs ferry-bench."""

import os
import subprocess
import tempfile
import unittest

FERRY_BENCH = os.environ["FERRY_BENCH"]
LIMIT_S = 100


class BenchRunner(unittest.TestCase):
    """Has a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def bench(self, *flags, code=0, file_bytes=None, stderr=subprocess.PIPE):
        """Returns what it printed. code=None: any. `file_bytes`: how large a file
        may become, as on a disk that is full. `stderr`: behind stdout, or with it
        in one pipe."""
        command = [FERRY_BENCH, *(str(flag) for flag in flags)]
        if file_bytes is not None:
            command = ["prlimit", f"--fsize={file_bytes}", "--", *command]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                              stderr=stderr, timeout=LIMIT_S, check=False)
        printed = done.stdout + (done.stderr or "")
        if code is not None:
            self.assertEqual(done.returncode, code, printed)
        return printed
