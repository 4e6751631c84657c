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

    def bench(self, *flags, code=0, file_bytes=None):
        """Returns what it printed. code=None: any. `file_bytes`: how large a file
        may become, as on a disk that is full."""
        command = [FERRY_BENCH, *(str(flag) for flag in flags)]
        if file_bytes is not None:
            command = ["prlimit", f"--fsize={file_bytes}", "--", *command]
        done = subprocess.run(command, text=True, capture_output=True,
                              timeout=LIMIT_S, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr
