"""What ferryctl asks of running servers: status, health, set and drain, plain,
over TLS and with tokens; and top, on a terminal."""

import concurrent.futures
import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import unittest

import grpc
import jsonschema

import trust
from ending_test import Client, Ledger, code_of, load, one_row
from ferry_process import FerryProcess, free_port, wait_until

ROOT = pathlib.Path(__file__).parents[2]
CTL = os.environ["FERRY_CTL"]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/ctl-answer.schema.json").read_text()))
LIMIT_S = 60
TOKENS = {scope: f"{scope}-5ca1ab1e-token" for scope in ("infer", "read", "admin")}
# The other screen without a cursor, and back.
BEGIN, END = ("\x1b[?1049h\x1b[?25l\x1b[?7l",
              "\x1b[?7h\x1b[?25h\x1b[?1049l")
NEW_PAGE = "\x1b[H\x1b[J"


def ask(*flags):
    return subprocess.run([CTL, *flags], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


def pages(server):
    return f"--address=127.0.0.1:{server.metrics_port}"


class ServerCase(unittest.TestCase):

    def start(self, *flags, models=("sim",)):
        return self.enterContext(FerryProcess(*flags, models=models))

    def folder(self):
        return self.enterContext(tempfile.TemporaryDirectory(prefix="ferry-ctl-"))

    def answer(self, code, *flags):
        ended = ask(*flags, "--json")
        self.assertEqual(ended.returncode, code, ended)
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        self.assertEqual(answer["command"], flags[0])
        return answer

    def assert_refused(self, code, text, *flags):
        ended = ask(*flags)
        self.assertEqual(ended.returncode, code, ended)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertTrue(ended.stderr.startswith("ferryctl: "), ended.stderr)
        self.assertIn(text, ended.stderr)


class PagesTest(ServerCase):

    def test_status_is_one_page_of_a_server(self):
        server = self.start(models=["sim", "echo"])
        client = self.enterContext(Client(server))
        row = {}

        def has_rate():
            self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
            answer = self.answer(0, "status", pages(server))
            row.update(next(r for r in answer["rows"] if r["model"] == "sim"))
            return row["req/s"] not in ("-", "0.0")

        self.assertTrue(wait_until(has_rate, 40), row)
        self.assertEqual((row["version"], row["state"], row["queue"]),
                         ("1", "READY", "0"))
        self.assertRegex(row["load"], r"^\d\.\d\d$")
        self.assertGreater(float(row["p50 ms"]), 0)
        self.assertGreaterEqual(float(row["p99 ms"]), float(row["p50 ms"]))
        self.assertGreaterEqual(float(row["batch"]), 1)
        # One that names no model that is served is refused.
        self.assertEqual(code_of(client.start(one_row("none"))), "NOT_FOUND")
        text = ask("status", pages(server)).stdout
        self.assertTrue(text.startswith(
            f"127.0.0.1:{server.metrics_port} is ready.\n"), text)
        self.assertRegex(text, r": ferry-server \d+\.\d+\.\d+, ready, up since "
                         r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ; refused since then: "
                         r"unknown_model 1\n")
        self.assertRegex(text, r"(?m)^echo +1 +READY ")

    def test_health_of_a_server_that_is_ready(self):
        server = self.start()
        for flags, word in (((), "ready"), (("--live",), "live")):
            answer = self.answer(0, "health", pages(server), *flags)
            self.assertEqual(answer["answer"],
                             f"127.0.0.1:{server.metrics_port} is {word}.")
            self.assertEqual(answer["findings"], [])

    def test_model_that_is_missing_is_told_with_its_reason(self):
        folder = self.folder()
        for name, config in (("good", 'backend: "ferry_echo"\n'),
                             ("bad", "no_such_field: 1\n")):
            os.makedirs(os.path.join(folder, name, "1"))
            with open(os.path.join(folder, name, "config.pbtxt"), "w") as file:
                file.write(config + 'max_batch_size: 4\n'
                           'input { name: "input" data_type: TYPE_FP32 dims: 16 }\n'
                           'output { name: "output" data_type: TYPE_FP32 dims: 16 }\n')
        server = self.start(f"--model-repository={folder}",
                            "--exit-on-error=false", models=None)
        where = f"127.0.0.1:{server.metrics_port}"
        answer = self.answer(3, "health", pages(server))
        self.assertEqual(answer["findings"], [
            {"severity": "critical", "name": "not_ready",
             "text": f"{where} is not ready: missing=bad"}])
        self.answer(0, "health", pages(server), "--live")
        answer = self.answer(3, "status", pages(server))
        self.assertEqual(answer["findings"][0], {
            "severity": "critical", "name": "not_ready",
            "text": f"{where} is not ready: it serves, but lacks a model of its "
                    "start"})
        self.assertEqual(answer["findings"][1]["severity"], "warning")
        self.assertIn(f"'bad' at {where}, UNAVAILABLE: ",
                      answer["findings"][1]["text"])
        self.assertIn("no_such_field", answer["findings"][1]["text"])
        self.assertEqual({row["model"]: row["state"] for row in answer["rows"]},
                         {"bad": "UNAVAILABLE", "good": "READY"})

    def test_server_that_is_away(self):
        away = f"--address=127.0.0.1:{free_port()}"
        for command in ("status", "health", "top"):
            self.assert_refused(
                2, "expected an answer within 5 s, got none (Connection); is it "
                "there, and is it reached from here? One with TLS needs https:// "
                "or --tls-ca", command, away)
        server = self.start()
        answer = self.answer(3, "status", pages(server), away)
        self.assertEqual(answer["answer"], "1 of 2 servers are ready.")
        self.assertEqual([one["name"] for one in answer["findings"]],
                         ["unreachable"])
        self.assertEqual(answer["rows"][0]["server"],
                         f"127.0.0.1:{server.metrics_port}")
        answer = self.answer(0, "status", pages(server), pages(server))
        self.assertEqual(answer["answer"], "2 of 2 servers are ready.")
        answer = self.answer(3, "status", away, away)
        self.assertEqual(answer["answer"], "0 of 2 servers are ready.")
        self.assertEqual(len(answer["findings"]), 2)
        answer = self.answer(3, "health", pages(server), away)
        self.assertEqual(answer["answer"], "1 of 2 servers are ready.")
        self.assertEqual([one["name"] for one in answer["findings"]],
                         ["unreachable"])

    def test_servers_are_asked_at_once(self):
        # Each answers once all have been asked: one after the other none would.
        everyone = threading.Barrier(3)

        class Waiting(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                everyone.wait(LIMIT_S)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        addresses = []
        for _ in range(everyone.parties):
            one = self.enterContext(
                http.server.ThreadingHTTPServer(("127.0.0.1", 0), Waiting))
            threading.Thread(target=one.serve_forever, daemon=True).start()
            self.addCleanup(one.shutdown)
            addresses.append(f"--address=127.0.0.1:{one.server_port}")
        answer = self.answer(0, "health", *addresses)
        self.assertEqual(answer["answer"], "3 of 3 servers are ready.")

    def test_pages_of_another_server(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                self.send_error(404)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        other = self.enterContext(
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other))
        threading.Thread(target=other.serve_forever, daemon=True).start()
        self.addCleanup(other.shutdown)
        address = f"--address=127.0.0.1:{other.server_port}"
        for command, path in (("status", "/status.json"),
                              ("health", "/v2/health/ready")):
            self.assert_refused(2, f"expected {path} of a ferry-server's metrics "
                                "port, got HTTP code 404", command, address)

    def test_addresses_that_are_none(self):
        self.assert_refused(1, "--address: expected host:port, or a URL of http or "
                            "https without a query, got 'unix:/run/ferry.sock'",
                            "status", "--address=unix:/run/ferry.sock")


class TrustTest(ServerCase):

    def setUp(self):
        self.files = self.folder()
        self.authority = trust.Authority(self.files)
        key, certificate = self.authority.sign("server")
        tokens = os.path.join(self.files, "tokens")
        trust.write(tokens, "".join(
            trust.token_line(f"{scope}-client", scope, token)
            for scope, token in TOKENS.items()) + trust.token_line(
                "ops-client", "read,admin", "ops-token"))
        self.server = self.start(
            f"--tls-key={key}", f"--tls-cert={certificate}", "--admin-rpc",
            f"--tls-client-ca={self.authority.certificate}",
            f"--auth-token-file={tokens}")
        self.ca = f"--tls-ca={self.authority.certificate}"

    def token(self, token):
        path = os.path.join(self.files, f"{token}.token")
        trust.write(path, token + "\n")
        return f"--token-file={path}"

    def pair(self, name):
        key, certificate = self.authority.sign(name)
        return [f"--tls-key={key}", f"--tls-cert={certificate}"]

    def test_pages_need_the_authority_and_a_token_that_may_read(self):
        where = pages(self.server)
        self.assert_refused(2, "One with TLS needs https:// or --tls-ca", "status",
                            where)
        for shown in ((), (self.token("wrong"),)):
            self.assert_refused(
                1, "got none that it knows'; --token-file gives a token", "status",
                where, self.ca, *shown)
        self.assert_refused(
            1, "expected a client with the scope read, got 'infer-client', which "
            "lacks it", "status", where, self.ca, self.token(TOKENS["infer"]))
        self.answer(0, "status", where, self.ca, self.token(TOKENS["read"]))
        self.answer(0, "health", where, self.ca, self.token(TOKENS["infer"]))
        strangers = trust.Authority(self.files, "strangers")
        self.assert_refused(2, "(SSLServerVerification)", "health", where,
                            f"--tls-ca={strangers.certificate}")

    def test_name_of_the_certificate_may_be_another_than_the_address(self):
        read = self.token(TOKENS["read"])
        self.answer(0, "health", pages(self.server), self.ca, read,
                    "--authority=server")
        self.assert_refused(2, "(SSLServerVerification)", "health",
                            pages(self.server), self.ca, read,
                            "--authority=other.example")

    def test_calls_need_certificate_and_the_scope_admin(self):
        where = (f"--address={self.server.address}", "--model=sim", self.ca)
        admin = self.token(TOKENS["admin"])
        self.assert_refused(2, "expected an answer of the server's gRPC port "
                            "within 2 s", "set", *where, admin,
                            "--timeout-secs=2")
        pair = self.pair("client")
        self.assert_refused(1, "got none that it knows; --token-file gives a "
                            "token", "set", *where, *pair)
        self.assert_refused(1, "expected a client with the scope admin, got "
                            "'read-client', which lacks it", "set", *where, *pair,
                            self.token(TOKENS["read"]))
        self.answer(0, "set", *where, *pair, admin)
        other = [*where[:1], "--model=none", self.ca, *pair]
        self.assert_refused(1, "unknown model: 'none' is not found\n", "set",
                            *other, admin)
        self.assert_refused(1, "'none' is not found; it serves 'sim'", "set",
                            *other, self.token("ops-token"))
        self.assert_refused(1, "which lacks it", "drain", where[0], self.ca, *pair,
                            self.token(TOKENS["infer"]))
        self.assertEqual(ask("drain", where[0], self.ca, *pair,
                             admin).returncode, 0)
        self.assertEqual(self.server.wait(), 0)
        told = re.findall(r"admin call (\S+) client='([^']*)' peer=ipv4:127",
                          "".join(self.server.log))
        self.assertEqual(set(told), {
            ("/ferry.v1.Admin/GetRuntimeOptions", "admin-client"),
            ("/ferry.v1.Admin/GetRuntimeOptions", "ops-client"),
            ("/ferry.v1.Admin/Drain", "admin-client")})

    def test_flags_that_need_others(self):
        pair = self.pair("client")
        self.assert_refused(1, "--tls-key", "drain", pair[1], self.ca)
        self.assert_refused(1, "--tls-cert", "drain", pair[0], self.ca)
        self.assert_refused(1, "--tls-ca", "drain", *pair)
        self.assert_refused(2, "--token-file: cannot read", "health",
                            "--token-file=/nowhere/token")


class SetTest(ServerCase):

    def test_options_are_shown_and_set(self):
        server = self.start("--admin-rpc", models=["sim", "echo"])
        where = ("set", f"--address={server.address}", "--model=sim")
        answer = self.answer(0, *where)
        self.assertEqual(answer["answer"], "The runtime options of 'sim'.")
        shown = {row["option"]: row["in force"] for row in answer["rows"]}
        self.assertEqual((shown["policy"], shown["max-batch-size"]),
                         ("eager", "64"))
        answer = self.answer(
            0, *where, "--model-version=1", "--policy=window",
            "--max-batch-size=2", "--max-wait-ms=1.5", "--queue-requests=100",
            "--queue-rows=50", "--queue-bytes=100000")
        self.assertEqual(answer["answer"],
                         "6 runtime options of 'sim' version 1 have changed.")
        self.assertEqual(
            {row["option"]: (row["before"], row["in force"])
             for row in answer["rows"]},
            {option: (shown[option], now) for option, now in (
                ("policy", "window"), ("max-batch-size", "2"),
                ("max-wait-ms", "1.5"), ("queue-requests", "100"),
                ("queue-rows", "50"), ("queue-bytes", "100000"))})
        self.assertEqual(server.metric("ferry_max_batch_size_rows", model="sim"),
                         2)
        answer = self.answer(0, *where, "--max-batch-size=3")
        self.assertEqual(answer["answer"],
                         "1 runtime option of 'sim' has changed.")

    def test_what_is_wrong_is_said_and_changes_nothing(self):
        server = self.start("--admin-rpc", models=["sim", "echo"])
        where = ("set", f"--address={server.address}")
        sim = (*where, "--model=sim")
        before = self.answer(0, *sim)["rows"]
        self.assert_refused(1, "max_batch_size: expected 1 to 64, got 65", *sim,
                            "--max-batch-size=65", "--queue-requests=7")
        self.assert_refused(1, "eager", *sim, "--policy=fast")
        self.assert_refused(1, "--max-batch-size", *sim, "--max-batch-size=0")
        self.assert_refused(1, "unknown model: 'none' is not found; it serves "
                            "'echo', 'sim'", *where, "--model=none")
        self.assert_refused(1, "version 7 is not found", *sim,
                            "--model-version=7")
        self.assert_refused(1, "--model", *where)
        self.assertEqual(self.answer(0, *sim)["rows"], before)

    def test_server_without_the_calls_says_which_flag(self):
        server = self.start()
        for command in (("set", "--model=sim"), ("drain",)):
            self.assert_refused(2, f"{server.address}: the server has no such "
                                "call of ferry.v1.Admin: start ferry-server with "
                                "--admin-rpc, and a newer one", *command,
                                f"--address={server.address}")

    def test_other_port_than_that_of_admin(self):
        admin = f"127.0.0.1:{free_port()}"
        server = self.start("--admin-rpc", f"--admin-address={admin}")
        self.assert_refused(1, "at the server's --admin-address alone", "set",
                            "--model=sim", f"--address={server.address}")
        self.answer(0, "set", "--model=sim", f"--address={admin}")

    def test_server_that_is_away(self):
        for command in (("set", "--model=sim"), ("drain",)):
            self.assert_refused(2, "expected an answer of the server's gRPC port",
                                *command, f"--address=127.0.0.1:{free_port()}",
                                "--timeout-secs=5")


class DrainTest(ServerCase):

    def test_drain_under_load_loses_nothing(self):
        ledger = Ledger()
        stop = threading.Event()
        server = self.start("--admin-rpc", "--drain-delay-secs=1")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for worker in range(32):
                pool.submit(load, server, ledger, worker, stop)
            self.assertTrue(wait_until(lambda: len(ledger.answers) > 400))
            ended = ask("drain", f"--address={server.address}")
            code = server.wait()
            stop.set()
        log = "".join(server.log)
        self.assertEqual(code, 0, log)
        self.assertIn("drains rpc=Drain", log)
        self.assertRegex(log, r"admin call /ferry\.v1\.Admin/Drain client='' "
                         r"peer=\S+:\d+")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertEqual(ended.stderr.splitlines(), [
            f"ferryctl: {server.address} was told to drain",
            f"ferryctl: {server.address} is not ready any more, and answers what "
            "it has"])
        self.assertIn(f"{server.address} has drained, and is gone.", ended.stdout)
        self.assertEqual({len(codes) for codes in ledger.answers.values()}, {1},
                         "not every request has one answer")
        codes = ledger.codes()
        self.assertEqual(set(codes), {"OK", "UNAVAILABLE"}, codes)
        self.assertEqual(codes["UNAVAILABLE"], 32, codes)

    def test_server_on_a_unix_socket(self):
        address = f"unix:{self.folder()}/ferry.sock"
        server = self.start("--admin-rpc", f"--grpc-address={address}")
        answer = self.answer(0, "drain", f"--address={address}")
        self.assertEqual(answer["answer"],
                         f"{address} has drained, and is gone.")
        self.assertEqual(server.wait(), 0)

    def test_server_that_stays_is_a_finding_and_a_signal_after_it_the_first(self):
        server = self.start("--admin-rpc", "--drain-delay-secs=3600")
        self.addCleanup(server.process.kill)
        answer = self.answer(3, "drain", f"--address={server.address}",
                             "--timeout-secs=2")
        self.assertEqual(answer["answer"],
                         f"{server.address} was told to drain, and is still "
                         "there.")
        self.assertEqual([one["name"] for one in answer["findings"]],
                         ["still_there"])
        answer = self.answer(3, "health", pages(server))
        self.assertEqual(answer["findings"][0]["name"], "not_ready")
        self.answer(0, "health", pages(server), "--live")
        self.assertIn("it was told to stop, and answers what it has",
                      ask("status", pages(server)).stdout)

        def is_pending():
            with open(f"/proc/{server.process.pid}/status",
                      encoding="ascii") as status:
                mask = next(line.split()[1] for line in status
                            if line.startswith("ShdPnd"))
            return int(mask, 16) >> (signal.SIGTERM - 1) & 1

        with Client(server) as client:
            server.signal(signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not is_pending()))
            self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait(), 128 + signal.SIGINT)


class OtherServer:
    """A server of health and of ferry.v1.Admin whose watches say what is given:
    first `before`, and `after` once it was told to drain; then it is gone."""

    SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"

    def __init__(self, before, after, has_drain=True):
        self._drained = threading.Event()

        def watch(_, context):
            yield from before
            self._drained.wait(LIMIT_S)
            yield from after
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

        def drain(_, _context):
            self._drained.set()
            return b""

        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([
            grpc.method_handlers_generic_handler(
                "grpc.health.v1.Health",
                {"Watch": grpc.unary_stream_rpc_method_handler(
                    lambda *call: self._watched(watch, *call))}),
            grpc.method_handlers_generic_handler(
                "ferry.v1.Admin",
                {"Drain": grpc.unary_unary_rpc_method_handler(drain)}
                if has_drain else {})])
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        self._watches = 0

    def _watched(self, watch, *call):
        self._watches += 1
        if self._watches > 1:  # it is gone
            call[1].abort(grpc.StatusCode.UNAVAILABLE, "gone")
        yield from watch(*call)

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._drained.set()
        self._server.stop(None).wait()


class DrainWatchTest(ServerCase):

    def drain(self, code, *says, **keywords):
        with OtherServer(*says, **keywords) as server:
            answer = self.answer(code, "drain", f"--address={server.address}",
                                 "--timeout-secs=20")
            return (answer["answer"].removeprefix(server.address),
                    [one["name"] for one in answer["findings"]])

    def test_end_without_a_word_of_it_is_no_drain(self):
        self.assertEqual(self.drain(3, [OtherServer.SERVING], []),
                         (" is gone.", ["not_seen_to_drain"]))

    def test_server_that_drains_is_seen_to(self):
        self.assertEqual(
            self.drain(0, [OtherServer.SERVING], [OtherServer.NOT_SERVING]),
            (" has drained, and is gone.", []))

    def test_another_server_in_its_place(self):
        self.assertEqual(
            self.drain(0, [OtherServer.SERVING],
                       [OtherServer.NOT_SERVING, OtherServer.SERVING]),
            (" has drained, and another server answers there now.", []))

    def test_drain_of_a_server_that_was_not_ready_cannot_be_seen(self):
        for after in ([], [OtherServer.SERVING], [OtherServer.NOT_SERVING]):
            self.assertEqual(self.drain(0, [OtherServer.NOT_SERVING], after),
                             (" is gone.", ["was_not_ready"]), after)

    def test_older_server_cannot(self):
        with OtherServer([OtherServer.SERVING], [], has_drain=False) as server:
            self.assert_refused(2, "no such call of ferry.v1.Admin", "drain",
                                f"--address={server.address}")


class Terminal:
    """ferryctl top on a terminal of its own."""

    def __init__(self, *flags, columns=120, rows=30):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        environment = {name: value for name, value in os.environ.items()
                       if name != "COLUMNS"}
        self.process = subprocess.Popen(
            [CTL, "top", *flags], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env=environment, start_new_session=True)
        self.text = ""

    def read(self, at_most=0.1):
        if select.select([self.master], [], [], at_most)[0]:
            self.text += os.read(self.master, 1 << 16).decode()
        return self.text

    def shows(self, condition):
        return wait_until(lambda: condition(self.read()), 30)

    def pages(self):
        """Returns the lines of each page that was shown whole."""
        return [page.split("\r\n") for page in self.text.split(NEW_PAGE)[1:-1]]

    def end(self):
        """Waits for the end, and returns the exit code."""
        def is_over():
            self.read(0.01)  # or it waits for room
            return self.process.poll() is not None

        assert wait_until(is_over, 30), self.text
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class TopTest(ServerCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess(models=["sim", "echo"])
        cls.addClassCleanup(cls.server.stop)

    def check_given_back(self, terminal):
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)
        self.assertEqual(terminal.text.count(BEGIN), 1)
        self.assertEqual(terminal.text.count(END), 1)

    def test_models_are_drawn_each_second_until_q(self):
        with Terminal(pages(self.server)) as terminal:
            self.assertTrue(terminal.shows(
                lambda _: len(terminal.pages()) > 2), terminal.text)
            self.assertFalse(termios.tcgetattr(terminal.slave)[3] & termios.ECHO)
            for page in terminal.pages():
                self.assertEqual(page[0], "q ends. 127.0.0.1:"
                                 f"{self.server.metrics_port} is ready.")
                self.assertTrue(any(re.match("sim +1 +READY ", line)
                                    for line in page), page)
                self.assertTrue(any(re.match("echo +1 +READY ", line)
                                    for line in page), page)
            os.write(terminal.master, b"xq")
            self.assertEqual(terminal.end(), 0)
            self.check_given_back(terminal)
            self.assertIn(f"127.0.0.1:{self.server.metrics_port} is ready.",
                          terminal.text.partition(END)[2],
                          "the last page stays")

    def test_each_end_gives_the_terminal_back(self):
        ends = {number.name: lambda terminal, number=number:
                terminal.process.send_signal(number)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                               signal.SIGQUIT)}
        ends["Ctrl-C"] = lambda terminal: os.write(terminal.master, b"\x03")
        for name, end in ends.items():
            with self.subTest(name), Terminal(pages(self.server)) as terminal:
                self.assertTrue(terminal.shows(lambda _: terminal.pages()))
                end(terminal)
                self.assertEqual(terminal.end(), 0)
                self.check_given_back(terminal)

    def test_lines_are_cut_on_a_narrow_terminal(self):
        with Terminal(pages(self.server), columns=12, rows=6) as terminal:
            self.assertTrue(terminal.shows(lambda _: terminal.pages()))
            page = terminal.pages()[0]
            self.assertEqual(page[0], "q ends. 127.")
            self.assertEqual(len(page), 6)
            self.assertLessEqual(max(map(len, page)), 12)

    def test_server_that_comes_and_goes_is_shown(self):
        with FerryProcess(models=["sim"]) as other:
            with Terminal(pages(other)) as terminal:
                self.assertTrue(terminal.shows(lambda _: terminal.pages()))
                other.stop()
                self.assertTrue(terminal.shows(
                    lambda text: "critical: http://127.0.0.1" in text), terminal.text)
                os.write(terminal.master, b"q")
                self.assertEqual(terminal.end(), 3)
                self.check_given_back(terminal)

    def test_server_that_is_silent_keeps_no_key_waiting(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with Terminal(f"--address=127.0.0.1:{port}", "--timeout-secs=20",
                          pages(self.server)) as terminal:
                self.assertTrue(terminal.shows(lambda text: BEGIN in text))
                os.write(terminal.master, b"q")
                self.assertTrue(terminal.shows(lambda text: END in text))
                self.assertNotIn(NEW_PAGE, terminal.text)
                self.assertIsNone(terminal.process.poll(), "the look goes on")

    def test_error_gives_the_terminal_back(self):
        with Terminal("--address=http://127.0.0.1:"
                      f"{self.server.metrics_port}/elsewhere") as terminal:
            self.assertEqual(terminal.end(), 2)
            self.assertIn("port, got HTTP code 404",
                          terminal.text.partition(END)[2])
            self.check_given_back(terminal)

    def test_without_a_terminal_it_is_one_page_of_text(self):
        ended = ask("top", pages(self.server))
        self.assertEqual(ended.returncode, 0, ended)
        self.assertNotIn("\x1b", ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^sim +1 +READY ")


if __name__ == "__main__":
    unittest.main()
