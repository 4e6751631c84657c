"""The step of scripts/gpu_check.sh that loses a device, on programs that play it:
what a server must do then, and what is said of one that does something else."""

import os
import pathlib
import sys
import tempfile
import types
import unittest

from tools import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "gpu_check"))
# pylint: disable=wrong-import-position
import lost_device
import steps

# Is not ready once the file `lost` is beside it, and then ends with the code in
# there, if that is any.
SERVER = """
import http.server, os, pathlib, socketserver, sys, threading, time
lost = pathlib.Path(sys.argv[0]).with_name("lost")
flags = dict(word.split("=", 1) for word in sys.argv[1:])
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if lost.exists() else 200)
        self.end_headers()
    def log_message(self, *_):
        pass
def end():
    while not lost.exists() or not lost.read_text():
        time.sleep(0.01)
    time.sleep(0.5)
    print("device is lost", flush=True)
    os._exit(int(lost.read_text()))
threading.Thread(target=end, daemon=True).start()
print("serves", sys.argv[1:], flush=True)
address = ("127.0.0.1", int(flags["--metrics-port"]))
socketserver.TCPServer(address, Ready).serve_forever()
"""
# A load outside loses the device.
BENCH = """
import os, pathlib, sys
if "x:1000000:1000000" not in sys.argv:
    sys.exit(int(os.environ.get("PLAYED_LOAD", "0")))
path = pathlib.Path(sys.argv[0]).with_name("lost")
path.with_name("new").write_text(os.environ["PLAYED_CODE"])
path.with_name("new").rename(path)
sys.exit("no request succeeded")
"""


class LostDeviceTest(unittest.TestCase):

    def lose(self, code, load="0"):
        """Returns the step, of a server that ends with that code."""
        with tempfile.TemporaryDirectory(prefix="ferry-lost-") as folder:
            home = pathlib.Path(folder)
            (home / "bin").mkdir()
            for name, text in (("ferry-server", SERVER), ("ferry-bench", BENCH)):
                path = home / "bin" / name
                path.write_text(f"#!{sys.executable}\n{text}")
                path.chmod(0o755)
            os.environ.update(PLAYED_CODE=code, PLAYED_LOAD=load)
            check = steps.Check(types.SimpleNamespace(
                bundle=home, device="GPU-a", torch=home, seconds=1))
            lost_device.lose(check)
        (step,) = check.steps
        return step

    def test_code_of_a_lost_device_passes(self):
        step = self.lose("3")
        self.assertEqual(step["outcome"], "passed", step)
        self.assertTrue(step["was_not_ready"])
        self.assertGreater(step["seconds_to_end"], 0)
        self.assertIn("--device=GPU-a", step["output"])
        self.assertIn("--load-model=lookup", step["output"])

    def test_another_code_fails(self):
        step = self.lose("1")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("expected exit code 3 of ferry-server, got 1: device is "
                      "lost", step["reason"])

    def test_server_that_goes_on_fails(self):
        bound = lost_device.LOST_S
        self.addCleanup(setattr, lost_device, "LOST_S", bound)
        lost_device.LOST_S = 0.2
        step = self.lose("")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("to end with code 3 in 0.2 s", step["reason"])

    def test_load_before_it_must_succeed(self):
        step = self.lose("3", load="2")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("expected exit code 0 of ferry-bench, got 2",
                      step["reason"])


if __name__ == "__main__":
    unittest.main()
