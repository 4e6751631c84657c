"""A server whose standard output and standard error are never read, or are read
late: it serves, drains and ends all the same, and says what it dropped."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import ferry_process
from ferry_process import SERVER, full_pipe, sim_config, tensor, wait_until

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]
END_S = 60


def script_config(dims):
    return ('backend: "pytorch"\nmax_batch_size: 8\ndynamic_batching {}\n' +
            tensor("input", "x", "FP32", dims) +
            tensor("output", "y", "FP32", dims))


class UnreadServer:
    """A server whose streams have no room and no reader, until read()."""

    def __init__(self, repository, *flags):
        self.grpc_port, self.metrics_port = (ferry_process.free_port()
                                             for _ in range(2))
        self.reader, writer = full_pipe()
        self.process = subprocess.Popen(
            [SERVER, f"--grpc-port={self.grpc_port}",
             f"--metrics-port={self.metrics_port}",
             f"--model-repository={repository}", *flags],
            stdout=writer, stderr=writer)
        os.close(writer)

    def get(self, path):
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.metrics_port}{path}",
                    timeout=10) as reply:
                return reply.status, reply.read().decode()
        except OSError:
            return 0, ""

    def is_ready(self):
        return self.get("/v2/health/ready")[0] == 200

    def dropped(self):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith("ferry_log_lines_dropped_total "):
                return float(line.split()[1])
        return None

    def read_until(self, text):
        """Reads what it writes until that stands there, and returns it."""
        read = b""
        while text not in read.decode(errors="replace"):
            more = os.read(self.reader, 1 << 16)
            if not more:
                break
            read += more
        return read.decode()

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(END_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(END_S)
        os.close(self.reader)


class UnreadLogTest(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.repository = self.folder / "models"
        self.write("sim", sim_config(alpha_ms=1, beta_ms=0))

    def write(self, name, config, script=None):
        version = self.repository / name / "1"
        version.mkdir(parents=True)
        (self.repository / name / "config.pbtxt").write_text(config)
        if script is not None:
            scripts = self.folder / "scripts"
            if not scripts.exists():
                scripts.mkdir()
                subprocess.run([WRITE_SCRIPTS, scripts], check=True,
                               timeout=60)
            shutil.copy(scripts / f"{script}.pt", version / "model.pt")

    def start(self, *flags):
        server = UnreadServer(self.repository, *flags)
        self.addCleanup(server.__exit__)
        self.assertTrue(wait_until(server.is_ready, END_S))
        return server

    def infer(self, server, model, name="x", width=3, value=1):
        with triton.InferenceServerClient(
                f"127.0.0.1:{server.grpc_port}") as client:
            given = triton.InferInput(name, [1, width], "FP32")
            given.set_data_from_numpy(np.full((1, width), value, np.float32))
            return client.infer(model, [given], client_timeout=END_S)

    def test_server_serves_and_drains(self):
        server = self.start("--log-level=debug")
        self.infer(server, "sim", "input", 16)
        server.signal()
        self.assertEqual(server.wait(), 0)

    def test_what_is_not_done_in_time_ends_by_its_deadline(self):
        self.write("endless", sim_config(alpha_ms=60_000, beta_ms=0))
        server = self.start("--exit-timeout-secs=0.1")
        with triton.InferenceServerClient(
                f"127.0.0.1:{server.grpc_port}") as client:
            given = triton.InferInput("input", [1, 16], "FP32")
            given.set_data_from_numpy(np.ones((1, 16), np.float32))
            client.async_infer("endless", [given], lambda *_: None)
            self.assertTrue(wait_until(lambda: any(
                line.startswith("ferry_running_batches") and
                'model="endless"' in line and line.endswith(" 1")
                for line in server.get("/metrics")[1].splitlines())))
            server.signal()
            self.assertEqual(server.wait(), 4)

    def test_second_signal_ends_at_once(self):
        server = self.start("--drain-delay-secs=600")
        server.signal()
        self.assertTrue(wait_until(lambda: not server.is_ready()))
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait(), 128 + signal.SIGINT)

    def test_failing_batches_of_one_model_leave_the_others_alone(self):
        self.write("poison", script_config([3]), "poison")
        server = self.start()
        for _ in range(20):
            with self.assertRaises(InferenceServerException):
                self.infer(server, "poison", value=101)
            self.infer(server, "sim", "input", 16)
        server.signal()
        self.assertEqual(server.wait(), 0)

    def test_what_a_model_prints_is_dropped_counted_and_said(self):
        self.write("loud", script_config([3]), "loud")
        server = self.start()
        for _ in range(100):  # 1.6 MB
            self.infer(server, "loud")
        self.assertTrue(wait_until(lambda: server.dropped() > 0))
        log = server.read_until("the log dropped lines")
        log += server.read_until("a library wrote: ")
        log += server.read_until("xxx")
        self.assertIn("a library wrote: \\x1b[2Jxxx", log)
        self.assertNotIn("\x1b", log)
        server.signal()
        log += server.read_until("stopped")
        self.assertRegex(log, r"the log dropped lines, as standard error was "
                              r"not read count=[1-9]")
        self.assertIn("drains signal=TERM", log)
        self.assertEqual(server.wait(), 0)

    def test_start_that_fails_ends(self):
        reader, writer = full_pipe()
        self.addCleanup(os.close, reader)
        ended = subprocess.run(
            [SERVER, "--model-repository=/no/such/folder"], stdout=writer,
            stderr=writer, timeout=END_S, check=False)
        os.close(writer)
        self.assertEqual(ended.returncode, 1)

    def test_abort_ends_it_with_that_signal(self):
        server = self.start()
        server.signal(signal.SIGABRT)
        self.assertEqual(server.wait(), -signal.SIGABRT)

    def test_closed_streams_are_no_files_of_another_kind(self):
        port = ferry_process.free_port()
        process = subprocess.Popen(
            ["sh", "-c", f'exec "{SERVER}" --grpc-port=0 '
             f'--metrics-port={port} --model-repository="{self.repository}" '
             "<&- >&- 2>&-"])
        self.addCleanup(process.kill)

        def is_ready():
            try:
                with urllib.request.urlopen(
                        f"http://127.0.0.1:{port}/v2/health/ready") as reply:
                    return reply.status == 200
            except OSError:
                return False

        self.assertTrue(wait_until(is_ready, END_S))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(END_S), 0)


if __name__ == "__main__":
    unittest.main()
