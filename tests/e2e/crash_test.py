"""Ends that are no drain: a crash says what and where it was and kills the process
by its signal; the reason file has that, and why a process ended otherwise."""

import os
import signal
import subprocess
import tempfile
import unittest
import zipfile

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import SERVER, FerryProcess, full_pipe, run, tensor, wait_until
from scripts_case import ScriptsCase

MAX_REASON_BYTES = 4096
# A frame of a function that is named so, and the line after the frames.
FRAME = r"(?m)^    @ +0x[0-9a-f]+ +\S+  {name}"
SUMMARY = (r"ferry-server crashed: SIG{name}(?: address=0x[0-9a-f]+)? "
           r"thread=\S+ build=ferry-\d\S+{more}")
SENT = r"ferry-server crashed: SIG{name} sent_by_pid=\d+ thread=\S+ build=\S+"
CONFIG = ('backend: "pytorch"\nmax_batch_size: 1\n' +
          tensor("input", "x", "FP32", [3]) + tensor("output", "y", "FP32", [3]))
WRITE_TO_NULL, RECURSE, THROW_ON_A_THREAD = 101, 102, 103


def call_operator(source, target):
    """Copies a script whose clone() is that of the test's library."""
    with (zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new):
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith("code/__torch__.py"):
                assert b"torch.clone(x)" in data, data
                data = data.replace(b"torch.clone(x)", b"ops.ferry_test.crash(x)")
            if not item.filename.endswith("debug_pkl"):
                new.writestr(item.filename, data)


class ReasonCase(unittest.TestCase):

    def setUp(self):
        super().setUp()
        file = tempfile.NamedTemporaryFile(prefix="ferry-reason-")
        self.addCleanup(file.close)
        file.write(b"of the last start")
        file.flush()
        self.path = file.name

    def flag(self):
        return f"--reason-file={self.path}"

    def reason(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(len(text), MAX_REASON_BYTES)
        return text

    def serve(self, *flags, model="echo"):
        server = FerryProcess(self.flag(), *flags, models=[model])
        self.addCleanup(server.stop)
        return server

    def hang(self, *flags):
        """Returns a server with a batch that does not end."""
        server = self.serve(*flags, model="endless")
        client = triton.InferenceServerClient(server.address)
        self.addCleanup(client.close)
        given = triton.InferInput("input", [1, 16], "FP32")
        given.set_data_from_numpy(np.zeros((1, 16), np.float32))
        client.async_infer("endless", [given], lambda *_: None)
        self.assertTrue(wait_until(
            lambda: server.metric("ferry_running_batches") == 1))
        return server


class SignalTest(ReasonCase):

    def test_crash_is_told_and_kills_by_its_signal(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS,
                       signal.SIGILL, signal.SIGFPE):
            with self.subTest(number.name):
                server = self.serve()
                self.assertEqual(self.reason(), "")
                server.signal(number)
                self.assertEqual(server.wait(), -number)
                log = "".join(server.log)
                sent = SENT.format(name=number.name[3:])
                self.assertRegex(log.splitlines()[-1], f"^{sent}$")
                # The signal comes wherever its thread is: in the C library,
                # whose own functions have no names, there may be no others.
                for text in (log, self.reason()):
                    self.assertRegex(text, FRAME.format(name=r"\S"))
                self.assertRegex(self.reason(), rf"^{sent}\n")

    def test_what_was_logged_before_stands_before(self):
        server = self.serve()
        server.signal(signal.SIGSEGV)
        server.wait()
        log = "".join(server.log)
        self.assertLess(log.index(" ready grpc="), log.index("*** SIGSEGV"))

    def test_log_that_is_not_read_holds_up_no_crash(self):
        reader, writer = full_pipe()
        self.addCleanup(os.close, reader)
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [SERVER, self.flag(), "--grpc-port=0", "--metrics-port=0",
                 f"--model-repository={folder}",
                 "--model-control-mode=explicit",
                 f"--grpc-address=unix:{folder}/socket"],
                stdout=writer, stderr=writer)
            self.addCleanup(process.kill)
            os.close(writer)
            self.assertTrue(wait_until(
                lambda: os.path.exists(f"{folder}/socket"), 60))
            process.send_signal(signal.SIGSEGV)
            self.assertEqual(process.wait(15), -signal.SIGSEGV)
        self.assertIn("crashed: SIGSEGV", self.reason())

    def test_drain_leaves_the_file_empty(self):
        server = self.serve()
        server.signal()
        self.assertEqual(server.wait(), 0)
        self.assertEqual(self.reason(), "")


class ReasonTest(ReasonCase):

    def test_start_that_fails(self):
        ended = run(self.flag(), "--model-repository=/no/such/folder")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(self.reason(),
                         r"^cannot start: .*/no/such/folder.*; exit code 1\n$")

    def test_file_that_cannot_be_written_ends_the_start(self):
        ended = run("--reason-file=/no/such/folder/file")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cannot start: --reason-file: expected a file that can be "
                      "written, cannot open '/no/such/folder/file': No such file",
                      ended.stderr)

    def test_batch_that_hangs(self):
        server = self.hang("--backend-timeout-secs=0.5")
        self.assertEqual(server.wait(), 3)
        self.assertRegex(
            self.reason(),
            "^cannot go on: backend hangs model=endless.*; exit code 3\n$")

    def test_what_is_not_drained_in_time(self):
        server = self.hang("--exit-timeout-secs=0.1")
        server.signal()
        self.assertEqual(server.wait(), 4)
        self.assertRegex(self.reason(), "^not drained: .*; exit code 4\n")

    def test_second_signal(self):
        server = self.serve("--drain-delay-secs=600")
        server.signal()
        self.assertTrue(wait_until(
            lambda: "drains signal" in "".join(server.log)))
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait(), 128 + signal.SIGINT)
        self.assertEqual(self.reason(),
                         "exits at once signal=INT; exit code 130\n")


class ModelCrashTest(ReasonCase, ScriptsCase):

    def setUp(self):
        super().setUp()
        version = self.repository / "crashes" / "1"
        version.mkdir(parents=True)
        (self.repository / "crashes" / "config.pbtxt").write_text(CONFIG)
        call_operator(self.scripts / "pixels.pt", version / "model.pt")

    def infer(self, value):
        given = triton.InferInput("x", [1, 3], "FP32")
        given.set_data_from_numpy(np.full((1, 3), value, np.float32))
        return self.client.infer("crashes", [given]).as_numpy("y")

    def test_model_that_crashes_while_it_serves_is_told(self):
        for value, name, function, more in (
                (WRITE_TO_NULL, "SEGV", "WriteToNull", ""),
                (RECURSE, "SEGV", "RecurseWithoutEnd", ""),
                (THROW_ON_A_THREAD, "ABRT", "std::terminate",
                 " thrown: thrown on a thread")):
            with self.subTest(function):
                self.start(self.flag(), "--op-library=" +
                           os.environ["FERRY_CRASHES_LIBRARY"])
                np.testing.assert_array_equal(self.infer(7), np.full((1, 3), 7))
                with self.assertRaises(InferenceServerException) as raised:
                    self.infer(value)
                self.assertIn("UNAVAILABLE", raised.exception.status())
                self.assertEqual(self.server.wait(),
                                 -getattr(signal, f"SIG{name}"))
                log, reason = "".join(self.server.log), self.reason()
                summary = SUMMARY.format(name=name, more=more)
                self.assertRegex(log.splitlines()[-1], f"^{summary}$")
                self.assertRegex(reason, rf"^{summary}\n")
                for text in (log, reason):
                    self.assertRegex(text, FRAME.format(
                        name=rf".*\b{function}\("))


if __name__ == "__main__":
    unittest.main()
