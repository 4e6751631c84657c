"""How the process starts, and how it says that it cannot."""

import os
import pathlib
import shutil
import signal
import socket
import tempfile
import unittest
from unittest import mock

import grpc
import numpy as np
import tritonclient.grpc as triton

import ferry_process
from ferry_process import FerryProcess, run


class CannotStartTest(unittest.TestCase):

    def assertCannotStart(self, text, *flags):
        ended = run("--metrics-port=0", "--grpc-port=0", *flags)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        last = ended.stderr.strip().splitlines()[-1]
        self.assertIn(text, last)

    def repository(self, config=None):
        folder = ferry_process.write_repository(["echo"])
        self.addCleanup(shutil.rmtree, folder)
        if config is not None:
            with open(os.path.join(folder, "echo", "config.pbtxt"),
                      "w") as file:
                file.write(config)
        return f"--model-repository={folder}"

    def test_check_config(self):
        good = run("--check-config", self.repository())
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertIn("# echo version 1: can be served", good.stdout)
        self.assertIn("max_batch_size: 64", good.stdout)
        self.assertNotIn("parameters", good.stdout, "defaults are not kept")
        bad = run("--check-config", self.repository("no_such_field: 1\n"))
        self.assertEqual(bad.returncode, 1)
        self.assertIn("# echo: cannot be served", bad.stdout)
        self.assertIn("no_such_field", bad.stdout)
        wrong = self.repository("no_such_field: 1\nnor_such: 2\n")
        for line in run("--check-config", wrong).stdout.splitlines():
            self.assertTrue(line.startswith("#") or not line, line)
        none = run("--check-config", "--model-repository=/no/such/folder")
        self.assertEqual(none.returncode, 1)
        self.assertIn("/no/such/folder", none.stdout)

    def test_result_that_cannot_be_written_fails(self):
        for flags in (("--check-config", self.repository()), ("--help",),
                      ("--version",)):
            with open("/dev/full", "w") as full:
                ended = run(*flags, stdout=full)
            self.assertEqual(ended.returncode, 1, flags)
            self.assertEqual(ended.stderr.count(
                "cannot write to standard output: No space left on device"), 1,
                ended.stderr)

    def test_wrong_flag(self):
        self.assertCannotStart("--no-such-flag", "--no-such-flag")
        self.assertCannotStart("--policy", "--policy=best")

    def test_missing_repository(self):
        self.assertCannotStart("/no/such/folder",
                               "--model-repository=/no/such/folder")

    def test_unknown_model(self):
        self.assertCannotStart("'none'", "--load-model=none")
        self.assertCannotStart("none", self.repository(), "--load-model=none")

    def test_config_with_an_unknown_field(self):
        config = ferry_process.MODELS["echo"] + "no_such_field: 1\n"
        self.assertCannotStart("no_such_field", self.repository(config))

    def test_missing_model_file(self):
        config = ferry_process.MODELS["echo"].replace(
            'backend: "ferry_echo"', 'platform: "pytorch_libtorch"')
        self.assertCannotStart("model.pt", self.repository(config))

    def test_busy_grpc_port(self):
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            port = busy.getsockname()[1]
            self.assertCannotStart(f"cannot listen on 127.0.0.1:{port}",
                                   self.repository(), f"--grpc-port={port}")

    def test_port_of_another_server(self):
        with FerryProcess() as server:
            self.assertCannotStart(f"cannot listen on 127.0.0.1:{server.port}",
                                   self.repository(),
                                   f"--grpc-port={server.port}")

    def test_busy_metrics_port(self):
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            port = busy.getsockname()[1]
            self.assertCannotStart(f"cannot listen on 127.0.0.1:{port}",
                                   self.repository(), f"--metrics-port={port}")

    def test_busy_ports_are_found_before_models_are_loaded(self):
        broken = self.repository("no_such_field: 1\n")
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            port = busy.getsockname()[1]
            for flag in ("--grpc-port", "--metrics-port"):
                self.assertCannotStart(f"cannot listen on 127.0.0.1:{port}",
                                       broken, f"{flag}={port}")
        self.assertCannotStart("--metrics-address: expected an IP address",
                               broken, "--metrics-address=localhost",
                               f"--metrics-port={ferry_process.free_port()}")

    def test_one_port_for_both(self):
        port = ferry_process.free_port()
        self.assertCannotStart(f"cannot listen on 127.0.0.1:{port} for metrics",
                               self.repository(), f"--grpc-port={port}",
                               f"--metrics-port={port}")

    def test_address_of_another_machine(self):
        self.assertCannotStart("cannot listen on 192.0.2.1",
                               self.repository(), "--grpc-address=192.0.2.1")


class StartTest(unittest.TestCase):

    def test_help_and_version(self):
        for flag, text in (("--help", "--model-repository"),
                           ("--version", "ferry-server ")):
            ended = run(flag)
            self.assertEqual(ended.returncode, 0)
            self.assertIn(text, ended.stdout)

    def test_start_is_told_in_the_log(self):
        with FerryProcess("--max-wait-ms=3") as server:
            log = "".join(server.log)
            self.assertIn("max-wait-ms=3", log)
            self.assertIn("model echo version=1", log)
            self.assertIn("ready grpc=127.0.0.1:", log)

    def test_pod_that_nothing_reaches_is_told_of(self):
        warning = "expected addresses that probes and Services reach"
        with mock.patch.dict(os.environ, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}):
            with FerryProcess() as server:
                self.assertTrue(any(
                    warning in line and "got --grpc-address=127.0.0.1 and "
                    "--metrics-address=127.0.0.1:" in line for line in server.log))
            with FerryProcess("--grpc-address=0.0.0.0",
                              "--metrics-address=0.0.0.0",
                              "--insecure") as server:
                self.assertNotIn(warning, "".join(server.log))
        with FerryProcess() as server:
            self.assertNotIn(warning, "".join(server.log))

    def test_reflection_when_asked_for(self):
        # ServerReflectionRequest{list_services: ""} names the service.
        with FerryProcess("--grpc-reflection") as server:
            with grpc.insecure_channel(server.address) as channel:
                ask = channel.stream_stream(
                    "/grpc.reflection.v1alpha.ServerReflection/"
                    "ServerReflectionInfo")
                reply = next(iter(ask(iter([b"\x3a\x00"]))))
                self.assertIn(b"inference.GRPCInferenceService", reply)

    def test_embedded_model_answers_in_bf16(self):
        with FerryProcess("--load-model=mlp", models=None) as server, \
                triton.InferenceServerClient(server.address) as client:
            values = np.random.default_rng(1).standard_normal(
                (2, 1024)).astype(np.float32)
            both = triton.InferInput("input", [2, 1024], "FP32")
            both.set_data_from_numpy(values)
            one = triton.InferInput("input", [1, 1024], "FP32")
            one.set_data_from_numpy(values[1:])
            whole = client.infer("mlp", [both]).as_numpy("output")
            part = client.infer("mlp", [one]).as_numpy("output")
            self.assertEqual(whole.shape, (2, 1024))
            self.assertTrue(np.isfinite(whole).all())
            np.testing.assert_allclose(whole[1:], part, rtol=0.05, atol=0.05)


class SystemdTest(unittest.TestCase):
    """What a server tells systemd, whose place a socket takes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-notify-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.settimeout(10)
        self.socket.bind(str(path))
        patch = mock.patch.dict(os.environ, {"NOTIFY_SOCKET": str(path)})
        patch.start()
        self.addCleanup(patch.stop)

    def message(self):
        return self.socket.recv(4096).decode().splitlines()

    def serve(self, *flags, **options):
        """Returns a server, with what its first message says."""
        server = FerryProcess(*flags, **options)
        self.addCleanup(server.stop)
        return server, self.message()

    def test_serves_and_turns_and_stops(self):
        server, first = self.serve()
        self.assertEqual(first, ["READY=1", "WATCHDOG=1", "STATUS=ready"])
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        for _ in range(2):
            self.assertEqual(self.message(), first)
        server.signal()
        last = first
        while last == first:
            last = self.message()
        self.assertEqual(last, ["STOPPING=1", "STATUS=drains signal=TERM"])
        self.assertEqual(server.wait(), 0)
        self.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.message)

    def test_a_main_thread_that_hangs_is_silent(self):
        server, first = self.serve()
        server.signal(signal.SIGSTOP)
        self.socket.settimeout(2)
        with self.assertRaises(TimeoutError):
            while True:
                self.message()
        server.signal(signal.SIGCONT)
        self.assertEqual(self.message(), first)

    def test_a_server_that_lacks_a_model_serves_but_is_not_ready(self):
        folder = pathlib.Path(ferry_process.write_repository(["echo"]))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "bad").mkdir()
        (folder / "bad" / "config.pbtxt").write_text("no_such_field: 1\n")
        server, first = self.serve("--exit-on-error=false",
                                   f"--model-repository={folder}", models=None)
        self.assertEqual(first[-1], "STATUS=serves, but is not ready")
        self.assertEqual(server.get("/v2/health/ready")[0], 503)


if __name__ == "__main__":
    unittest.main()
