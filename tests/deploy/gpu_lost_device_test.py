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

# Is not ready once the file `lost` is beside it, or goes on to say that it is, and
# then ends with the code in there, if that is any.
SERVER = """
import http.server, os, pathlib, socketserver, sys, threading, time
lost = pathlib.Path(sys.argv[0]).with_name("lost")
flags = dict(word.split("=", 1) for word in sys.argv[1:])
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_lost = lost.exists() and "PLAYED_READY" not in os.environ
        self.send_response(503 if is_lost else 200)
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
# A load outside loses the device, which the long load beside it notices.
BENCH = """
import os, pathlib, sys
if "x:1000000:1000000" not in sys.argv:
    is_beside = "4" in sys.argv[sys.argv.index("--duration-secs") + 1]
    sys.exit(int(os.environ["PLAYED_BESIDE" if is_beside else "PLAYED_LOAD"]))
path = pathlib.Path(sys.argv[0]).with_name("lost")
path.with_name("new").write_text(os.environ["PLAYED_CODE"])
path.with_name("new").rename(path)
sys.exit("no request succeeded")
"""


class LostDeviceTest(unittest.TestCase):

    def lose(self, code, load="0", beside="1"):
        """Returns the step, of a server that ends with that code."""
        with tempfile.TemporaryDirectory(prefix="ferry-lost-") as folder:
            home = pathlib.Path(folder)
            (home / "bin").mkdir()
            for name, text in (("ferry-server", SERVER), ("ferry-bench", BENCH)):
                path = home / "bin" / name
                path.write_text(f"#!{sys.executable}\n{text}")
                path.chmod(0o755)
            os.environ.update(PLAYED_CODE=code, PLAYED_LOAD=load,
                              PLAYED_BESIDE=beside)
            check = steps.Check(types.SimpleNamespace(
                bundle=home, device="GPU-a", torch=home, seconds=1))
            lost_device.lose(check)
        (step,) = check.steps
        return step

    def test_code_of_a_lost_device_passes(self):
        step = self.lose("3")
        self.assertEqual(step["outcome"], "passed", step)
        self.assertEqual(step["clients"], ["no request succeeded", ""])
        self.assertGreater(step["seconds_to_end"], 0)
        self.assertIn("--device=GPU-a", step["output"])
        self.assertIn("--load-model=lookup", step["output"])

    def test_another_code_fails(self):
        step = self.lose("1")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("expected exit code 3 of ferry-server, got 1: device is "
                      "lost", step["reason"])

    def test_server_that_is_ready_until_it_ends_fails(self):
        os.environ["PLAYED_READY"] = "1"
        self.addCleanup(os.environ.pop, "PLAYED_READY")
        step = self.lose("3")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("expected not to be ready before the end",
                      step["reason"])

    def test_load_that_succeeds_on_a_lost_device_fails(self):
        step = self.lose("3", beside="0")
        self.assertEqual(step["outcome"], "failed")
        self.assertIn("expected errors, in time, of a load on a lost device",
                      step["reason"])

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
