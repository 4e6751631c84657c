"""What scripts/gpu_check.sh runs under compute-sanitizer, and what it makes of it:
on a tool and programs that are played."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from tools import ROOT

SCRIPTS = ROOT / "scripts" / "gpu_check"
sys.path.insert(0, str(SCRIPTS))
# pylint: disable=wrong-import-position
import programs
import sanitizer
import steps

# Starts what it is given, tells its own id, and keeps signals to itself, as a
# wrapper may. Ends with 99 where the program says that an error was found.
TOOL = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
words = sys.argv[1:]
command = words[words.index("--report-api-errors") + 2:]
print("========= COMPUTE-SANITIZER", flush=True)
with open(sys.argv[0] + ".log", "a") as log:
    print(" ".join(command), file=log)
code = subprocess.run(command).returncode
sys.exit(99 if code == 42 else code)
"""
# Ends with the code of the file beside it, 0 without one.
SERVER = """
import http.server, os, signal, socketserver, sys
flags = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
path = sys.argv[0] + ".code"
code = int(open(path).read()) if os.path.exists(path) else 0
signal.signal(signal.SIGTERM, lambda *_: sys.exit(code))
address = ("127.0.0.1", int(flags["--metrics-port"]))
socketserver.TCPServer(address, Ready).serve_forever()
"""
BENCH = """
import json, sys
words = sys.argv[1:]
point = {"achieved_rate": 5, "latency": {}}
path = words[words.index("--json") + 1]
json.dump({"runs": [{"points": [point]}]}, open(path, "w"))
"""


class SanitizerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-sanitizer-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "torch" / "lib").mkdir(parents=True)
        (self.home / "torch" / "lib" / "libtorch_cpu.so").write_text("")
        self.play("bin/ferry-nvml", "import sys; sys.exit('none')")
        self.play("tools/compute-sanitizer", TOOL)

    def play(self, path, text):
        path = self.home / path
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def play_server(self):
        self.play("bin/ferry-server", SERVER)
        self.play("bin/ferry-bench", BENCH)

    def run_script(self):
        """Returns the steps under the tool, by what it ran."""
        path = f"{self.home / 'tools'}:{os.environ['PATH']}"
        subprocess.run(
            ["bash", ROOT / "scripts" / "gpu_check.sh", "--bundle", self.home,
             "--out", self.home / "out", "--torch", self.home / "torch",
             "--device", "cuda:0", "--no-measure"], text=True, timeout=120,
            capture_output=True, check=False, env=os.environ | {"PATH": path})
        made = json.loads(
            (self.home / "out" / "ferry-gpu-check.json").read_text())
        return {step["name"].removeprefix("compute-sanitizer "): step
                for step in made["steps"]
                if step["name"].startswith("compute-sanitizer ")}

    def test_models_are_last(self):
        self.play_server()
        for name in ("cuda_model_test", "cuda_kernels_test", "other_test"):
            self.play(f"tests/{name}", "print('[  PASSED  ] 2 tests.')")
        found = self.run_script()
        self.assertEqual(list(found), [
            "tests/cuda_kernels_test", "tests/other_test", "ferry-server",
            "tests/cuda_model_test"])
        self.assertEqual({step["outcome"] for step in found.values()},
                         {"passed"}, found)
        self.assertEqual(found["ferry-server"]["requests_per_second"], 5)
        ran = (self.home / "tools" / "compute-sanitizer.log").read_text()
        self.assertIn(f"{self.home / 'bin' / 'ferry-server'} --device=cuda:0",
                      ran)
        self.assertIn("--load-model=linear", ran)

    def test_an_error_in_a_server_fails_its_step(self):
        self.play_server()
        (self.home / "bin" / "ferry-server.code").write_text("42")
        self.play("tests/cuda_model_test", "import sys; sys.exit(42)")
        found = self.run_script()
        self.assertEqual(found["ferry-server"]["outcome"], "failed")
        self.assertIn("got 99", found["ferry-server"]["reason"])
        self.assertEqual(found["tests/cuda_model_test"]["outcome"], "failed")

    def test_without_programs_or_tool_it_is_skipped(self):
        self.play("tests/cuda_model_test", "")
        self.assertEqual(self.run_script()["ferry-server"]["reason"],
                         "the bundle has no ferry-server")
        self.play_server()
        (self.home / "tools" / "compute-sanitizer").unlink()
        if sanitizer.shutil.which("compute-sanitizer"):
            self.skipTest("this machine has the tool")
        for step in self.run_script().values():
            self.assertEqual(step["outcome"], "skipped")
            self.assertIn("compute-sanitizer is missing", step["reason"])

    def late(self, said):
        return programs.Ended("cuda_model_test", -9, said, "", is_late=True)

    def outcome_of(self, ended):
        """Returns what a test that ended so is called, and why."""
        class Options:
            bundle, device, torch, seconds = self.home, "cuda:0", None, 1
        check = steps.Check(Options)
        with mock.patch.object(sanitizer, "run", lambda *_: ended), \
                mock.patch.object(sanitizer, "find_tool", lambda: []), \
                mock.patch("builtins.print"):
            sanitizer.run_test(check, self.home / "tests" / "cuda_model_test")
        return check.steps[0]["outcome"], check.steps[0]["reason"]

    def test_what_takes_too_long_is_no_failure_without_an_error(self):
        self.assertEqual(
            self.outcome_of(self.late("========= COMPUTE-SANITIZER\nok\n")),
            ("skipped", "not done in 900 s, and no error so far"))
        outcome, reason = self.outcome_of(self.late(
            "========= COMPUTE-SANITIZER\n"
            "========= Invalid __global__ read of size 4 bytes\n"))
        self.assertEqual(outcome, "failed")
        self.assertIn("to end in time", reason)

    def test_a_device_that_the_tool_does_not_know_is_skipped(self):
        self.assertEqual(
            self.outcome_of(programs.Ended("t", 1, "", "Device not supported")),
            ("skipped", "compute-sanitizer does not support this device"))


if __name__ == "__main__":
    unittest.main()
