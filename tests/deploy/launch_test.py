"""ferry-launch with real servers: starts, restarts, signals, status, ends."""

import os
import pathlib
import re
import secrets
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from unittest import mock

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2_grpc

import trust
from canaries import Canaries, process_texts, read, scalar_of
from ending_test import one_row
from ferry_process import full_pipe, wait_until
from launched import LAUNCH, SERVER, Held, Launched, is_alive


def infer(address):
    with triton.InferenceServerClient(address) as client:
        tensor = triton.InferInput("input", [1, 16], "FP32")
        tensor.set_data_from_numpy(np.ones((1, 16), np.float32))
        return client.infer("sim", [tensor]).as_numpy("output").shape


def is_live(metrics):
    """Returns what the page says, which has to answer."""
    try:
        with urllib.request.urlopen(f"http://{metrics}/v2/health/live", timeout=4):
            return True
    except urllib.error.HTTPError:
        return False


def run(*flags):
    return subprocess.run([LAUNCH, *flags], capture_output=True, text=True,
                          timeout=60, check=False)


class CannotLaunchTest(unittest.TestCase):

    def assertRefused(self, text, *flags):
        ended = run(*flags)
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertIn(text, ended.stderr)

    def test_wrong_flags_are_refused(self):
        self.assertRefused("--no-such-flag", "--no-such-flag")
        self.assertRefused("before the --", "--servers=1", "--",
                           "--grpc-port=1")
        self.assertRefused("'/no/such/server'", "--servers=1",
                           "--server=/no/such/server")
        self.assertRefused("--servers 2 starts as many", "--server", "2")
        for number in ("-1", "0"):
            ended = run(f"--server={number}")
            self.assertIn(f"got '{number}'", ended.stderr)
            self.assertNotIn("--servers", ended.stderr)
        self.assertRefused("'/etc', which is no file", "--servers=1",
                           "--server=/etc")
        self.assertRefused("'/etc/passwd', which is not executable",
                           "--servers=1", "--server=/etc/passwd")
        self.assertRefused("--slices: expected MIG-<uuid> or GPU-<uuid>",
                           "--slices=GPU-nonsense")
        self.assertRefused("'--device=cuda:0'", "--servers=2", "--",
                           "--device=cuda:0")

    def test_time_to_end_is_the_servers_own_default(self):
        text = subprocess.run([SERVER, "--help"], capture_output=True, text=True,
                              timeout=60, check=True).stdout
        seconds = re.search(r"--exit-timeout-secs .*; default (\d+)]", text)[1]
        self.assertRefused(f"--exit-timeout-secs, {seconds}, got {seconds};",
                           "--servers=1", f"--hang-timeout-secs={seconds}")

    def test_dry_run_prints_the_commands(self):
        ended = run("--slices=MIG-a,MIG-b", "--server=s", "--dry-run", "--",
                    "--x={uuid}")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = ended.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[1].startswith("CUDA_VISIBLE_DEVICES=MIG-b s "))
        self.assertTrue(lines[1].endswith("--x=MIG-b"))


@unittest.skipUnless("FERRY_FAKE_NVML_FILE" in os.environ, "no fake NVML")
class NvmlSlicesTest(unittest.TestCase):

    def dry_run(self, scenario):
        """ferry-launch where the loader finds the fake library."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(scenario)
            file.flush()
            folder = os.path.dirname(os.environ["FERRY_FAKE_NVML_FILE"])
            return subprocess.run(
                [LAUNCH, "--server=s", "--dry-run"], capture_output=True,
                text=True, timeout=60, check=False,
                env={**os.environ, "LD_LIBRARY_PATH": folder,
                     "FERRY_FAKE_NVML": file.name})

    def test_each_mig_device_and_each_gpu_without_mig_gets_a_server(self):
        ended = self.dry_run(
            "gpu uuid=GPU-a name=G mig=on places=7\n"
            "mig gpu=0 place=0 uuid=MIG-1 name=G_MIG_1g.18gb\n"
            "mig gpu=0 place=4 uuid=MIG-2 name=G_MIG_1g.18gb\n"
            "gpu uuid=GPU-b name=G\n")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(
            [[word for word in line.split() if "MIG-" in word or "GPU-" in word]
             for line in ended.stdout.splitlines()],
            [[f"CUDA_VISIBLE_DEVICES={uuid}", f"--device={uuid}"]
             for uuid in ("MIG-1", "MIG-2", "GPU-b")])

    def test_a_bound_that_is_set_is_not_overstepped(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-a"
        self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
        ended = self.dry_run("gpu uuid=GPU-a name=G\ngpu uuid=GPU-b name=G\n")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("expected --slices", ended.stderr)

    def test_nothing_to_run_on_is_told_with_what_nvml_sees(self):
        ended = self.dry_run("gpu uuid=GPU-a name=G mig=on places=7\n")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("GPU-a", ended.stderr)
        self.assertIn("--servers N", ended.stderr)


class LaunchTest(unittest.TestCase):

    def test_all_serve_and_drain(self):
        with Launched(servers=3) as launched:
            status = launched.wait_until_ready()
            self.assertEqual([one["label"] for one in status],
                             ["cpu-0", "cpu-1", "cpu-2"])
            self.assertEqual(len({one["pid"] for one in status}), 3)
            for one in status:
                self.assertEqual(infer(one["grpc"]), (1, 16))
            launched.signal(signal.SIGUSR1)
            self.assertTrue(wait_until(lambda: sum(
                "cpu-2 ready" in line for line in launched.lines) >= 2))
            for label in ("cpu-0", "cpu-1", "cpu-2"):  # each told its own
                self.assertTrue(wait_until(lambda: any(
                    f"[{label}]" in line and "state: model sim" in line
                    for line in launched.log)))
            for number in (signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE,
                           signal.SIGRTMIN):
                launched.signal(number)
            self.assertEqual(infer(status[0]["grpc"]), (1, 16))
            launched.signal()
            self.assertEqual(launched.wait(), 0, launched.lines)
            for one in launched.status():
                self.assertEqual(one["state"], "stopped")
                self.assertEqual(one["last_end"], "exit code 0 (drained)")
            log = "".join(launched.log)
            for label in ("cpu-0", "cpu-1", "cpu-2"):
                self.assertRegex(log, rf"\[{label}\] .* ready grpc=")
                self.assertRegex(log, rf"\[{label}\] .* drains signal=TERM")

    def test_each_serves_on_a_unix_socket_of_its_own(self):
        with tempfile.TemporaryDirectory(prefix="ferry-sockets-") as folder:
            flags = [f"--grpc-address=unix:{folder}/{{label}}.sock"]
            with Launched(servers=2, flags=flags) as launched:
                for one in launched.wait_until_ready():
                    self.assertEqual(one["grpc"], f"unix:{folder}/{one['label']}.sock")
                    self.assertEqual(infer(one["grpc"]), (1, 16))

    def test_servers_with_tls_and_tokens_are_seen_to_be_ready(self):
        with tempfile.TemporaryDirectory(prefix="ferry-trust-") as folder:
            key, certificate = trust.Authority(folder).sign("server")
            tokens = os.path.join(folder, "tokens")
            trust.write(tokens, trust.token_line("a", "infer", "token"))
            with Launched(f"--tls-key={key}", f"--tls-cert={certificate}",
                          f"--auth-token-file={tokens}", "--open-health",
                          servers=1) as launched:
                launched.wait_until_ready()

    def test_no_secret_is_in_what_it_relays_and_tells(self):
        number = np.float32(73214.586)
        with tempfile.TemporaryDirectory(prefix="ferry-trust-") as folder:
            authority = trust.Authority(folder)
            key, certificate = authority.sign("server")
            tokens = os.path.join(folder, "tokens")
            token = secrets.token_hex(24)
            line = trust.token_line("a", "infer", token)
            trust.write(tokens, line)
            canaries = Canaries({
                "token": token.encode(), "scalar of the key": scalar_of(key),
                "line of the key": read(key).split(b"\n")[1],
                "number": struct.pack("<2f", number, number),
                "digits of the number": b"73214.58"})
            with Launched(f"--tls-key={key}", f"--tls-cert={certificate}",
                          f"--auth-token-file={tokens}", "--open-health",
                          "--log-level=debug", servers=1) as launched:
                (first,) = launched.wait_until_ready()
                with grpc.secure_channel(
                        first["grpc"], trust.credentials(authority)) as channel:
                    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                    request = one_row("sim")
                    request.raw_input_contents[0] = number.tobytes() * 16
                    for shown, code in ((token, "OK"),
                                        (token[:-1], "UNAUTHENTICATED")):
                        call = stub.ModelInfer.future(
                            request, timeout=60, metadata=trust.bearer(shown))
                        self.assertEqual(call.code().name, code)
                trust.write(tokens, f"a infer {token}\n")
                self.assertTrue(wait_until(lambda: any(
                    "tokens stay those before" in line for line in launched.log)))
                trust.write(tokens, line)
                os.kill(first["pid"], signal.SIGSEGV)
                launched.wait_for(lambda all_: all_[0]["restarts"] == 1 and
                                  all_[0]["state"] == "ready")
                places = process_texts(launched.process.pid)
                places["status file"] = read(launched.status_file)
                launched.signal()
                self.assertEqual(launched.wait(), 0)
                places["lines"] = "".join(launched.lines).encode()
                places["log"] = "".join(launched.log).encode()
            for place, said in (
                    ("log", b"model sim version=1 is ready"),
                    ("log", b"crashed: SIGSEGV"), ("lines", b'last_end="SIGSEGV"'),
                    ("status file", b'"last_end": "SIGSEGV"'),
                    ("cmdline", b"--auth-token-file"), ("environ", b"PATH=")):
                self.assertIn(said, places[place], place)
            for place, text in places.items():
                self.assertEqual(canaries.hits(text), [], place)

    def test_output_that_is_never_read_holds_up_nothing(self):
        reader, writer = full_pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        with Launched("--log-level=debug", output=writer) as launched:
            first, other = launched.wait_until_ready()
            os.kill(first["pid"], signal.SIGKILL)
            again, _ = launched.wait_for(
                lambda all_: all_[0]["restarts"] == 1 and
                all_[0]["state"] == "ready")
            for one in (again, other):
                self.assertEqual(infer(one["grpc"]), (1, 16))
            launched.signal()
            self.assertEqual(launched.wait(), 0)

    def test_each_stop_signal_drains(self):
        # A terminal's Ctrl-C and its end: the servers see one SIGTERM, since
        # a second one would end them at once.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with Launched() as launched:
                launched.wait_until_ready()
                launched.signal(number)
                self.assertEqual(launched.wait(), 0, launched.lines)

    def test_killed_server_is_started_again(self):
        with Launched() as launched:
            first, other = launched.wait_until_ready()
            os.kill(first["pid"], signal.SIGKILL)
            again, same = launched.wait_for(
                lambda all_: all_[0]["restarts"] == 1 and
                all_[0]["state"] == "ready")
            self.assertNotEqual(again["pid"], first["pid"])
            self.assertEqual(again["last_end"], "SIGKILL")
            self.assertEqual(same, other)
            self.assertEqual(infer(again["grpc"]), (1, 16))
            waiting = [line for line in launched.lines if " waiting " in line]
            self.assertEqual(len(waiting), 1, launched.lines)
            self.assertIn('cpu-0 waiting', waiting[0])
            self.assertIn('last_end="SIGKILL"', waiting[0])
            launched.signal()
            self.assertEqual(launched.wait(), 0)

    def test_server_that_hangs_is_killed_and_started_again(self):
        with Launched("--exit-timeout-secs=1",
                      flags=["--hang-timeout-secs=2"]) as launched:
            first, other = launched.wait_until_ready()
            os.kill(first["pid"], signal.SIGSTOP)
            again, same = launched.wait_for(
                lambda all_: all_[0]["restarts"] == 1 and
                all_[0]["state"] == "ready")
            self.assertFalse(is_alive(first["pid"]))
            self.assertEqual(again["last_end"], "SIGKILL")
            self.assertEqual(same, other)
            self.assertEqual(infer(again["grpc"]), (1, 16))
            self.assertEqual(
                len([line for line in launched.lines if "cpu-0: hangs" in line]),
                1, launched.lines)

    def test_server_that_says_it_does_not_live_is_killed(self):
        """Its main thread stalls; its pages go on to answer."""
        sign = os.path.join(self.enterContext(tempfile.TemporaryDirectory(
            prefix="ferry-stall-")), "stalls")
        with mock.patch.dict(os.environ, {
                "LD_PRELOAD": os.environ["FERRY_STALL_LIBRARY"],
                "FERRY_STALL_FOLDER": "/proc/self/status",
                "FERRY_STALL_WHILE": sign}):
            launched = self.enterContext(Launched(
                "--exit-timeout-secs=1", servers=1,
                flags=["--hang-timeout-secs=5"]))
        (first,) = launched.wait_until_ready()
        pathlib.Path(sign).touch()
        self.assertTrue(wait_until(lambda: not is_live(first["metrics"]), 60))
        launched.wait_for(lambda _: any(
            "cpu-0: hangs: no answer that says it is live" in line
            for line in launched.lines))
        os.remove(sign)  # too late for the first, in time for the next
        (again,) = launched.wait_for(lambda all_: all_[0]["restarts"] == 1 and
                                     all_[0]["state"] == "ready")
        self.assertEqual(again["last_end"], "SIGKILL")
        self.assertNotEqual(again["pid"], first["pid"])
        self.assertEqual(infer(again["grpc"]), (1, 16))

    def hold(self, pid):
        held = Held(pid)
        if not held.is_held:
            held.__exit__()
            self.skipTest("processes may not be traced here")
        return held

    def hold_one_that_hangs(self, launched, pid):
        # Stopped before it is traced, of which only one thread is. Meanwhile
        # the launcher sees nothing.
        launched.signal(signal.SIGSTOP)
        try:
            os.kill(pid, signal.SIGSTOP)
            return self.hold(pid)
        finally:
            launched.signal(signal.SIGCONT)

    def test_killed_server_that_is_not_gone_is_told_of_and_waited_for(self):
        with Launched("--exit-timeout-secs=0.5",
                      flags=["--hang-timeout-secs=1"]) as launched:
            first, other = launched.wait_until_ready()
            with self.hold_one_that_hangs(launched, first["pid"]):
                stuck, same = launched.wait_for(
                    lambda all_: all_[0]["state"] == "stuck")
                self.assertEqual((stuck["pid"], stuck["restarts"]),
                                 (first["pid"], 0))
                self.assertEqual(same, other)
                self.assertEqual(infer(other["grpc"]), (1, 16))
            again, _ = launched.wait_for(
                lambda all_: all_[0]["restarts"] == 1 and
                all_[0]["state"] == "ready")
            self.assertEqual(infer(again["grpc"]), (1, 16))
            launched.signal()
            self.assertEqual(launched.wait(), 0)
            told = [line for line in launched.lines if "NOT GONE" in line]
            self.assertEqual(len(told), 1, launched.lines)
            self.assertRegex(told[0], rf"cpu-0: NOT GONE: .* pid {first['pid']} "
                             ".*started again when it is gone")

    def test_launcher_ends_though_a_server_is_not_gone(self):
        with Launched("--drain-delay-secs=1000",
                      flags=["--stop-timeout-secs=0.2"]) as launched:
            first, _ = launched.wait_until_ready()
            with self.hold(first["pid"]):
                launched.signal()
                self.assertEqual(launched.wait(), 2, launched.lines)
            self.assertRegex("".join(launched.lines),
                             "cpu-0: NOT GONE: .*it is not waited for")

    def test_launcher_ends_at_once_where_a_server_is_stuck(self):
        with Launched("--exit-timeout-secs=0.5",
                      flags=["--hang-timeout-secs=1"]) as launched:
            first, _ = launched.wait_until_ready()
            with self.hold_one_that_hangs(launched, first["pid"]):
                launched.wait_for(lambda all_: all_[0]["state"] == "stuck")
                launched.signal()
                self.assertEqual(launched.wait(), 2, launched.lines)

    def test_server_that_was_drained_stays_down(self):
        with Launched() as launched:
            first, other = launched.wait_until_ready()
            os.kill(first["pid"], signal.SIGTERM)
            launched.wait_for(lambda all_: all_[0]["state"] == "stopped")
            self.assertIsNone(launched.process.poll())
            os.kill(other["pid"], signal.SIGTERM)
            self.assertEqual(launched.wait(), 0)
            self.assertEqual([one["restarts"] for one in launched.status()],
                             [0, 0])

    def test_wrong_server_flag_backs_off(self):
        with Launched("--no-such-flag", servers=1) as launched:
            launched.wait_for(lambda all_: all_[0]["restarts"] >= 3)
            launched.signal()
            self.assertEqual(launched.wait(), 2)
            log = "".join(launched.log)
            self.assertIn("[cpu-0] ferry-server: ", log)
            self.assertIn("--no-such-flag", log)
            waits = [line.split("restart_in=")[1].strip()
                     for line in launched.lines if "restart_in=" in line]
            # What was left when the line was written: 0.05, 0.1, 0.2 s at most.
            self.assertGreaterEqual(len(waits), 3, launched.lines)
            self.assertIn('last_end="exit code 1 (could not start)"',
                          "".join(launched.lines))

    def test_server_that_never_starts_is_told_of_once(self):
        with Launched("--no-such-flag", servers=1,
                      flags=["--restart-max-delay-secs=0.05"]) as launched:
            launched.wait_for(lambda all_: all_[0]["failed_starts"] >= 8)
            launched.signal()
            self.assertEqual(launched.wait(), 2)
            told = [line for line in launched.lines if "CANNOT START" in line]
            self.assertEqual(len(told), 1, launched.lines)
            self.assertIn("cpu-0: CANNOT START: 5 starts in a row", told[0])
            self.assertIn("--no-such-flag", told[0])

    def test_second_signal_kills(self):
        with Launched("--drain-delay-secs=1000") as launched:
            status = launched.wait_until_ready()
            launched.signal()
            launched.wait_for(lambda all_: all(
                one["state"] == "stopping" for one in all_))
            launched.signal(signal.SIGINT)
            self.assertEqual(launched.wait(), 128 + signal.SIGINT)
            self.assertFalse(any(is_alive(one["pid"]) for one in status))
            self.assertEqual({one["last_end"] for one in launched.status()},
                             {"SIGKILL"})

    def test_same_signal_at_once_is_one_wish(self):
        tries = []
        for _ in range(10):
            with Launched("--drain-delay-secs=1") as launched:
                launched.wait_until_ready()
                start = time.monotonic()
                for _ in range(2):  # as timeout sends it
                    launched.signal()
                    wait_until(lambda: launched.has_taken(signal.SIGTERM))
                took = time.monotonic() - start
                tries.append((took, launched.wait()))
                # Slower, the second is a wish of its own, or finds none alive.
                if took < 1 and tries[-1][1] == 0:
                    return
        self.fail(f"no two signals were one wish: (seconds, code) {tries}")

    def test_stop_timeout_kills(self):
        with Launched("--drain-delay-secs=1000",
                      flags=["--stop-timeout-secs=0.2"]) as launched:
            launched.wait_until_ready()
            launched.signal()
            self.assertEqual(launched.wait(), 2, launched.lines)

    def test_killed_launcher_leaves_no_server(self):
        with Launched() as launched:
            status = launched.wait_until_ready()
            launched.signal(signal.SIGKILL)
            self.assertEqual(launched.wait(), -signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not any(
                is_alive(one["pid"]) for one in status), timeout=60))


if __name__ == "__main__":
    unittest.main()
