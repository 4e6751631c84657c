"""HAProxy with the configuration that is shipped, in front of three real
servers: 10,000 requests of ferry-bench while one server drains, and images of
48 KiB while each server is killed, none failed but answers that had begun.

Skipped where scripts/haproxy.sh has not been run.
"""

import contextlib
import http.server
import json
import os
import pathlib
import select
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import ending_test
import ferry_process
import floods
import http2_frames
import proxy_bounds
import proxy_floods
import tools
from ferry_process import accepts, parameter, tensor, wait_until
from launched import Launched, is_alive

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAPROXY = ROOT / "scripts" / "haproxy.sh"
CONFIG = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
BENCH = os.environ["FERRY_BENCH"]
REQUESTS = 10_000
BEFORE_DRAIN = 2_000
# HAProxy looks twice a second.
DRAIN_DELAY_S = 10
LIMIT_S = 120
# It takes 48 KiB and gives a few numbers: an answer that has begun cannot be sent again.
OF_IMAGES = ('backend: "ferry_network"\nmax_batch_size: 16\n' +
             tensor("input", "input", "FP32", [12_288]) +
             tensor("output", "output", "FP32", [4]) + "dynamic_batching {}\n" +
             parameter("ferry.network", "mlp") +
             parameter("ferry.widths", "12288,16,4"))
KILL_AFTER = 500
CONNECTIONS = 512  # of one address
NEW_CONNECTIONS = 1000  # of one address in ten seconds
FEW = 100
FAILED = 200  # connections
# A line for each request that was retried or failed. Of all, some would be lost.
WITH_LOG = [("local0 notice", "local0"), ("  log global\n", "  log global\n"
             "  option httplog\n  option dontlog-normal\n")]
REFUSED_STREAM = 7


def requests_served(server):
    """Returns how many of its requests were answered, by code."""
    with urllib.request.urlopen(f"http://{server['metrics']}/metrics",
                                timeout=10) as reply:
        page = reply.read().decode()
    counts = {}
    for line in page.splitlines():
        if line.startswith("ferry_requests_total{"):
            code = line.split('code="')[1].split('"')[0]
            counts[code] = counts.get(code, 0) + float(line.rsplit(" ", 1)[1])
    return counts


@contextlib.contextmanager
def changed(*changes):
    """Gives a file that is the shipped one but for texts of it."""
    text = CONFIG.read_text()
    for before, after in changes:
        text = tools.replace_once(text, before, after)
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(text)
        file.flush()
        yield file.name


class Proxy(tools.Running):
    """HAProxy on the shipped file, or another."""

    def __init__(self, servers, config=CONFIG):
        self.port = ferry_process.free_port()
        environment = dict(os.environ,
                           FERRY_LISTEN=f"127.0.0.1:{self.port}")
        for i, server in enumerate(servers):
            environment[f"FERRY_SLICE_{i}"] = server["grpc"]
            environment[f"FERRY_CHECK_{i}"] = server["metrics"].split(":")[1]
        super().__init__([HAPROXY, "-db", "-f", config], env=environment)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


class Healthy(http.server.BaseHTTPRequestHandler):
    """Is ready, whatever becomes of calls."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class CutAnswer(socketserver.StreamRequestHandler):
    """Begins to answer a call, and ends the connection."""

    def handle(self):
        self.rfile.read(len(http2_frames.PREFACE))
        self.wfile.write(floods.frame(http2_frames.SETTINGS, 0, 0))
        while True:
            head = self.rfile.read(9)
            self.rfile.read(int.from_bytes(head[:3], "big"))
            if head[3:5] == bytes([http2_frames.DATA, http2_frames.END_STREAM]):
                break
        self.wfile.write(floods.frame(
            http2_frames.HEADERS, http2_frames.END_HEADERS,
            int.from_bytes(head[5:], "big"), http2_frames.fields(
                [(":status", "200"), ("content-type", "application/grpc")])))


@contextlib.contextmanager
def answering(kind, handler):
    """Gives the address of a server that answers so."""
    with kind(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Load:
    """ferry-bench in a closed loop until it is told to stop."""

    def __init__(self, address, outstanding=32):
        self.folder = tempfile.TemporaryDirectory(prefix="ferry-deploy-")
        self.json = os.path.join(self.folder.name, "result.json")
        self.process = subprocess.Popen(
            [BENCH, "run", "-u", address, "-m", "sim", "--warm-up-secs=0",
             f"--outstanding={outstanding}", f"--duration-secs={LIMIT_S}",
             f"--json={self.json}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def has_ended(self):
        return self.process.poll() is not None

    def said(self):
        """Returns the lines that it printed, if it has ended by itself."""
        return self.process.stdout.readlines() if self.has_ended() else []

    def finish(self):
        """Returns the measured point and what was printed."""
        self.process.send_signal(signal.SIGINT)
        text = self.process.communicate(timeout=LIMIT_S)[0]
        with open(self.json, encoding="utf-8") as file:
            return json.load(file)["runs"][0]["points"][0], text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.has_ended():
            self.process.kill()
            self.process.communicate()
        self.folder.cleanup()


def setUpModule():
    there = subprocess.run([HAPROXY, "-v"], capture_output=True, timeout=60,
                           env={**os.environ, "FERRY_INSTALL_TOOLS": "no"},
                           check=False)
    if there.returncode == 77:
        raise unittest.SkipTest("scripts/haproxy.sh has not been run")


class HaproxyTest(unittest.TestCase):

    def test_configuration_is_valid(self):
        checked = subprocess.run([HAPROXY, "-c", "-f", CONFIG], text=True,
                                 capture_output=True, timeout=60, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("WARNING", checked.stderr)

    def test_no_server_is_unavailable(self):
        closed = [{"grpc": f"127.0.0.1:{ferry_process.free_port()}",
                   "metrics": f"127.0.0.1:{ferry_process.free_port()}"}] * 3
        with Proxy(closed) as proxy:
            self.assertTrue(wait_until(
                lambda: proxy.has_said("has no server available"), 30))
            with grpc.insecure_channel(proxy.address) as channel:
                stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                with self.assertRaises(grpc.RpcError) as caught:
                    stub.ServerReady(pb.ServerReadyRequest(), timeout=30,
                                     wait_for_ready=True)
            self.assertEqual(caught.exception.code(),
                             grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(caught.exception.details(), "no server is ready")

    def test_refused_call_is_answered_by_headers_alone(self):
        """HAProxy takes servers for ready that refuse each call. After an answer
        with a body a gRPC client may take the call for begun, and not retry."""
        with answering(http.server.ThreadingHTTPServer, Healthy) as health:
            refusing = [{"grpc": f"127.0.0.1:{ferry_process.free_port()}",
                         "metrics": health}] * 3
            with Proxy(refusing) as proxy:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                with http2_frames.Connection(proxy.address) as connection:
                    connection.ask(1, pb.ModelInferRequest(model_name="sim"))
                    answer = connection.read_until(
                        lambda frame: frame.stream == 1 and frame.type in
                        (http2_frames.HEADERS, http2_frames.DATA))[-1]
        self.assertEqual((answer.type, answer.flags),
                         (http2_frames.HEADERS,
                          http2_frames.END_HEADERS | http2_frames.END_STREAM))
        for text in (b"grpc-status\x0214", b"application/grpc",
                     b"no server answered (HTTP 503)"):
            self.assertIn(text, answer.body)

    def test_binary_headers_of_clients_do_not_reach_the_servers(self):
        """The server's gRPC would end the connection, with the client's other calls."""
        with Launched(servers=3, config=ferry_process.sim_config()) as launched:
            with Proxy(launched.wait_until_ready()) as proxy:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                with http2_frames.Connection(proxy.address) as connection:
                    connection.ask(1, ending_test.one_row("sim"),
                                   more=[("x-bin", "no base64!")])
                    connection.read_until(
                        lambda frame: frame.type == http2_frames.DATA)

    def test_floods_harm_no_other_client(self):
        with Launched(servers=3, config=ferry_process.sim_config()) as launched:
            with Proxy(launched.wait_until_ready()) as proxy:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                proxy_floods.check_each(self, launched, proxy.address)

    def test_connections_that_fail_take_no_server_down(self):
        """Floods of eight addresses, each within its bounds, have the servers end
        many connections; the servers answer their checks."""
        with Launched(servers=3, config=ferry_process.sim_config()) as launched, \
                Proxy(launched.wait_until_ready()) as proxy, \
                contextlib.ExitStack() as stack:
            self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
            channel = stack.enter_context(grpc.insecure_channel(proxy.address))
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            stub.ModelInfer(ending_test.one_row("sim"), timeout=20)
            sent = [stack.enter_context(
                floods.Flood(proxy.address, floods.wrong_trailers, 8,
                             source=f"127.0.1.{number}")) for number in range(1, 9)]

            def failed():
                self.assertFalse(proxy.has_said(" is DOWN"))
                stub.ModelInfer(ending_test.one_row("sim"), timeout=20)
                return sum(flood.ended for flood in sent) >= FAILED

            self.assertTrue(wait_until(failed, 60))

    def test_draining_server_leaves_without_a_failed_request(self):
        with Launched(f"--drain-delay-secs={DRAIN_DELAY_S}", servers=3,
                      config=ferry_process.sim_config(
                          alpha_ms=4, beta_ms=0.01)) as launched:
            servers = launched.wait_until_ready()
            with Proxy(servers) as proxy, Load(proxy.address) as load:
                def served(among):
                    return sum(requests_served(server).get("OK", 0)
                               for server in among)

                leaver, stayers = servers[1], [servers[0], servers[2]]
                began = wait_until(
                    lambda: served(servers) >= BEFORE_DRAIN or load.has_ended(),
                    LIMIT_S)
                self.assertFalse(load.has_ended(), "".join(load.said()) +
                                 f"HAProxy: {proxy.lines}")
                self.assertTrue(began, proxy.lines)
                shares = [served([server]) for server in servers]
                os.kill(leaver["pid"], signal.SIGTERM)
                self.assertTrue(wait_until(
                    lambda: proxy.has_said("slices/slice-1 is DOWN"), 60))
                self.assertTrue(is_alive(leaver["pid"]),
                                "it was to serve until HAProxy had seen it")
                self.assertTrue(wait_until(
                    lambda: not is_alive(leaver["pid"]), LIMIT_S))
                at_leave = served(stayers)
                self.assertTrue(wait_until(
                    lambda: served(stayers) >= max(REQUESTS, at_leave + 1000),
                    LIMIT_S))
                point, text = load.finish()
                left = next(one for one in launched.status()
                            if one["label"] == leaver["label"])
                self.assertEqual(left["last_end"], "exit code 0 (drained)")
            self.assertGreater(min(shares), BEFORE_DRAIN / 10, shares)
            for server in stayers:
                self.assertEqual(set(
                    code for code, count in requests_served(server).items()
                    if count), {"OK"})
            self.assertGreaterEqual(point["ok"], REQUESTS, text)
            self.assertEqual(point["errors"], {}, text)
            self.assertEqual(point["ok"], point["planned"], text)

    def test_killed_servers_cost_no_request_of_an_image(self):
        with Launched(servers=3, config=OF_IMAGES) as launched, \
                changed(*WITH_LOG) as config:
            servers = launched.wait_until_ready()
            with Proxy(servers, config) as proxy, Load(proxy.address) as load:
                def has_served(server):
                    return load.has_ended() or requests_served(server).get(
                        "OK", 0) >= KILL_AFTER

                for i, server in enumerate(servers):
                    self.assertTrue(wait_until(
                        lambda: has_served(server), LIMIT_S), proxy.lines)
                    os.kill(server["pid"], signal.SIGKILL)
                    launched.wait_for(
                        lambda all_: all_[i]["restarts"] == 1 and
                        all_[i]["state"] == "ready")
                    self.assertTrue(wait_until(
                        lambda: has_served(server), LIMIT_S), proxy.lines)
                    self.assertFalse(load.has_ended(), "".join(load.said()))
                point, text = load.finish()
            # "----": its end was in order, after a retry.
            text += "".join(line for line in proxy.lines if " ---- " not in line)
            # "SD": the server was gone when its answer had begun, once in some
            # hundred kills; the test below has what the client sees of that.
            cut = sum(" SD-- " in line for line in proxy.lines)
            self.assertLessEqual(cut, len(servers), text)
            self.assertEqual(point["errors"], {"UNKNOWN": cut} if cut else {}, text)
            self.assertEqual(point["ok"], point["planned"] - cut, text)

    def test_answer_that_is_cut_is_unknown(self):
        """HAProxy 2.6 ends it as if it were whole, without a status."""
        with answering(socketserver.ThreadingTCPServer, CutAnswer) as cutting, \
                answering(http.server.ThreadingHTTPServer, Healthy) as health, \
                Proxy([{"grpc": cutting, "metrics": health}] * 3) as proxy, \
                grpc.insecure_channel(proxy.address) as channel:
            self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
            with self.assertRaises(grpc.RpcError) as cut:
                service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                    ending_test.one_row("sim"), timeout=20)
        self.assertEqual(cut.exception.code(), grpc.StatusCode.UNKNOWN)

    def test_stream_of_a_killed_server_is_cancelled(self):
        with Launched(servers=3, config=ferry_process.sim_config()) as launched:
            servers = launched.wait_until_ready()
            with Proxy(servers) as proxy, \
                    grpc.insecure_channel(proxy.address) as channel:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                self.assertEqual(proxy_bounds.code_of_a_cut_stream(channel, servers),
                                 grpc.StatusCode.CANCELLED)


class BoundsTest(unittest.TestCase):
    """One client passes a bound, and another is answered."""

    @classmethod
    def setUpClass(cls):
        launched = cls.enterClassContext(
            Launched(servers=3, config=ferry_process.sim_config()))
        cls.servers = launched.wait_until_ready()

    def start(self, *changes):
        """Returns the address of the proxy, which knows no client yet."""
        config = self.enterContext(changed(*changes))
        proxy = self.enterContext(Proxy(self.servers, config))
        self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
        return proxy.address

    def connect(self, address):
        """Returns a connection of the client that passes bounds."""
        return self.enterContext(
            http2_frames.Connection(address, proxy_floods.FLOODER))

    def test_connections_of_one_address(self):
        address = self.start()
        host, port = address.rsplit(":", 1)
        refused, ended = 0, select.poll()
        for _ in range(2 * CONNECTIONS):
            try:
                ended.register(self.enterContext(socket.create_connection(
                    (host, int(port)), 30, (proxy_floods.FLOODER, 0))), select.POLLIN)
            except ConnectionResetError:
                refused += 1
        self.assertTrue(wait_until(
            lambda: refused + len(ended.poll(0)) >= CONNECTIONS, 10))
        proxy_bounds.serve(address)

    def test_new_connections_of_one_address(self):
        address = self.start()

        def is_taken():
            try:
                with http2_frames.Connection(address, proxy_floods.FLOODER) as one:
                    return one.read() is not None
            except ConnectionError:
                return False
        taken = next(count for count in range(4 * NEW_CONNECTIONS) if not is_taken())
        self.assertGreaterEqual(taken, NEW_CONNECTIONS)
        proxy_bounds.serve(address)

    def test_connections_of_all_clients(self):
        """One more waits until another ends."""
        address = self.start()
        early = self.enterContext(http2_frames.Connection(address))
        proxy_bounds.ask(early, 1)
        with contextlib.ExitStack() as stack:
            proxy_bounds.fill(stack, address)
            late = self.enterContext(http2_frames.Connection(address))
            proxy_bounds.ask(early, 3)
            answers = select.poll()
            answers.register(late.peer, select.POLLIN)
            self.assertEqual(answers.poll(500), [])
        proxy_bounds.ask(late)

    def test_calls_of_one_address(self):
        address = self.start(("gt 200000", f"gt {FEW}"))
        self.assertEqual(proxy_floods.refused(address, 2 * FEW),
                         "too many calls of one address")
        proxy_bounds.serve(address, proxy_floods.FLOODER)

    def test_calls_of_one_address_that_are_not_answered(self):
        address = self.start(("gt 3000", f"gt {FEW}"))
        flooder = self.connect(address)
        proxy_bounds.open_calls(flooder, 2 * FEW)
        self.assertIn(b"too many calls of one address", flooder.read_until(
            lambda frame: frame.type == http2_frames.HEADERS)[-1].body)
        proxy_bounds.serve(address)

    def test_calls_of_one_connection(self):
        """Clients send again what is refused so."""
        address = self.start()
        flooder = self.connect(address)
        proxy_bounds.open_calls(flooder, proxy_bounds.STREAMS + 1)
        self.assertEqual(proxy_bounds.first_reset(flooder),
                         (2 * proxy_bounds.STREAMS + 1, REFUSED_STREAM))
        proxy_bounds.serve(address)

    def test_headers(self):
        address = self.start()
        flooder = self.connect(address)
        flooder.ask(1, ending_test.one_row("sim"), more=proxy_bounds.MANY_FIELDS)
        self.assertEqual(proxy_bounds.first_reset(flooder), (1, REFUSED_STREAM))
        with self.assertRaises(ConnectionError):
            proxy_bounds.ask(flooder, 3, [(f"x-{i}", "v" * 16_000)
                                          for i in range(17)])
        proxy_bounds.serve(address)

    def test_headers_that_do_not_end(self):
        address = self.start(("timeout http-request 30s", "timeout http-request 1s"))
        flooder = self.connect(address)
        proxy_bounds.ask(flooder)
        proxy_bounds.begin_headers(flooder, 3)
        self.assertEqual(flooder.read_all()[-1].type, http2_frames.GOAWAY)

    def test_connection_without_a_call(self):
        address = self.start(
            ("timeout http-keep-alive 300s", "timeout http-keep-alive 1s"))
        flooder = self.connect(address)
        proxy_bounds.ask(flooder)
        self.assertEqual(flooder.read_all()[-1].type, http2_frames.GOAWAY)

    def test_request_that_does_not_come(self):
        """Its client is told as gRPC does."""
        address = self.start(("wait-for-body time 30s", "wait-for-body time 1s"))
        flooder = self.connect(address)
        proxy_bounds.open_calls(flooder, 1)
        answer = flooder.read_until(lambda frame: frame.type in (
            http2_frames.HEADERS, http2_frames.DATA))[-1]
        self.assertEqual((answer.type, answer.flags),
                         (http2_frames.HEADERS,
                          http2_frames.END_HEADERS | http2_frames.END_STREAM))
        for text in (b"grpc-status\x014", b"application/grpc",
                     b"the request has not come (HTTP 408)"):
            self.assertIn(text, answer.body)

    def test_request_that_is_half_sent_waits_at_the_server(self):
        """It does not fit the buffer: the bound of a request's body is not for it."""
        proxy_bounds.check_half_sent(
            self, self.start(("wait-for-body time 30s", "wait-for-body time 1s")),
            self.servers)

    def test_bound_of_a_call_of_which_no_byte_comes(self):
        """HAProxy resets it behind the answer: gRPC's client heeds the reset."""
        address = self.start(("timeout server 300s", "timeout server 1s"))
        flooder = self.connect(address)
        flooder.open_call(1, floods.STREAM_INFER)
        frames = flooder.read_until(
            lambda frame: frame.type == http2_frames.RST_STREAM)
        for text in (b"grpc-status\x0214", b"no server answered (HTTP 504)"):
            self.assertIn(text, frames[-2].body)
        self.assertEqual(proxy_bounds.code_of_silence(address),
                         grpc.StatusCode.CANCELLED)


if __name__ == "__main__":
    unittest.main()
