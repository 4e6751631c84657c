"""HAProxy with the configuration that is shipped, in front of three real
servers: 10,000 requests of ferry-bench while one server drains, and images of
48 KiB while each server is killed, none failed.

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
FEW = 100
FAILED = 200  # connections


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
        class Healthy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as health:
            threading.Thread(target=health.serve_forever, daemon=True).start()
            refusing = [{"grpc": f"127.0.0.1:{ferry_process.free_port()}",
                         "metrics": f"127.0.0.1:{health.server_port}"}] * 3
            with Proxy(refusing) as proxy:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                with http2_frames.Connection(proxy.address) as connection:
                    connection.ask(1, pb.ModelInferRequest(model_name="sim"))
                    answer = connection.read_until(
                        lambda frame: frame.stream == 1 and frame.type in
                        (http2_frames.HEADERS, http2_frames.DATA))[-1]
            health.shutdown()
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

    def test_connections_of_one_address_are_bounded(self):
        with Launched(servers=3, config=ferry_process.sim_config()) as launched, \
                Proxy(launched.wait_until_ready()) as proxy, \
                contextlib.ExitStack() as stack:
            self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
            refused, ended = 0, select.poll()
            for _ in range(2 * CONNECTIONS):
                try:
                    ended.register(stack.enter_context(socket.create_connection(
                        ("127.0.0.1", proxy.port), 30, (proxy_floods.FLOODER, 0))))
                except ConnectionResetError:
                    refused += 1
            self.assertTrue(wait_until(
                lambda: refused + len(ended.poll(0)) >= CONNECTIONS, 10))
            with http2_frames.Connection(proxy.address) as connection:
                connection.ask(1, ending_test.one_row("sim"))
                connection.read_until(
                    lambda frame: frame.type == http2_frames.DATA)

    def test_calls_of_one_address_are_bounded(self):
        text = CONFIG.read_text()
        self.assertEqual(text.count("gt 200000"), 1)
        with Launched(servers=3, config=ferry_process.sim_config()) as launched, \
                tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
            config.write(text.replace("gt 200000", f"gt {FEW}"))
            config.flush()
            with Proxy(launched.wait_until_ready(), config.name) as proxy:
                self.assertTrue(wait_until(lambda: accepts(proxy.port), 30))
                self.assertEqual(proxy_floods.refused(proxy.address, 2 * FEW),
                                 "too many calls of one address")

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
        with Launched(servers=3, config=OF_IMAGES) as launched:
            servers = launched.wait_until_ready()
            with Proxy(servers) as proxy, Load(proxy.address) as load:
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
                text += "".join(line for line in proxy.lines if " 200 " not in line)
            self.assertEqual(point["errors"], {}, text)
            self.assertEqual(point["ok"], point["planned"], text)


if __name__ == "__main__":
    unittest.main()
