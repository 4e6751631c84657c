"""Envoy carries gRPC with the configuration that is shipped. It weighs three servers of
unequal speed by the load that they tell in their replies: each gets the share of
requests that it carries. Its outlier detection leaves out servers whose connections
break, and none for what it answers. No client harms another.

Skipped where scripts/envoy.sh has not been run.
"""

import base64
import collections
import contextlib
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.request

import grpc
from tritonclient.grpc import service_pb2_grpc

import ferry_process
import floods
import http2_frames
import proxy_bounds
import proxy_floods
from ending_test import one_row
from ferry_process import FerryProcess, free_port, sim_config, wait_until
from launched import Launched
from tools import ROOT, Tool, replace_once, uncomment

BENCH = os.environ["FERRY_BENCH"]
# s(b) = alpha + beta * b: two that carry 1096 rows a second, one half of it.
FAST, SLOW = {"alpha_ms": 20, "beta_ms": 0.6}, {"alpha_ms": 40, "beta_ms": 1.2}
SPEEDS = [FAST, FAST, SLOW]
CAPACITIES = [64 / (one["alpha_ms"] + 64 * one["beta_ms"]) * 1e3
              for one in SPEEDS]
OFFERED = 0.5 * sum(CAPACITIES)
SETTLES_S, MEASURED_S = 8, 8
JSON = ROOT / "deploy" / "envoy" / "json.yaml"
SHIPPED = ROOT / "deploy" / "envoy" / "envoy.yaml"
BOUND = "max_tokens: 20000, tokens_per_fill: 20000,"
FEW = 100
GIVEN_UP = 10_000  # calls, of which Envoy bears 500
INTERNAL_ERROR = 2
# It takes two requests and refuses more.
FULL = sim_config(max_batch_size=1, alpha_ms=500, beta_ms=0).replace(
    "dynamic_batching {}",
    "dynamic_batching { default_queue_policy { max_queue_size: 1 } }")
BURST = 300  # calls at once
OF_EACH_CODE = 200


def page(admin_port, name):
    """Returns a page of Envoy's, or "" where there is none now."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/{name}",
                                    timeout=1) as reply:
            return reply.read().decode()
    except OSError:
        return ""


def changed(before, after):
    """Returns what puts one text of a configuration for another."""
    return lambda text: replace_once(text, before, after)


class EnvoyTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.tool = Tool("envoy")
        cls.tool.require()

    def start_servers(self, configs, *flags):
        """Returns a server of each configuration of a model."""
        servers = []
        for config in configs:
            ferry_process.MODELS["sim"] = config
            servers.append(FerryProcess(*flags, models=["sim"]))
            self.addCleanup(servers[-1].stop)
        return servers

    def run_envoy(self, text, admin_port):
        """Starts Envoy with that configuration, until the test ends."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "envoy.yaml")
        path.write_text(text)
        log = open(pathlib.Path(folder.name, "log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        envoy = subprocess.Popen(
            ["bash", self.tool.script, "-c", path, "--concurrency", "1",
             "--disable-hot-restart", "-l", "warning"],
            stdout=log, stderr=log,
            env=os.environ | {"FERRY_INSTALL_TOOLS": "no"})
        self.addCleanup(envoy.wait, 30)
        self.addCleanup(envoy.terminate)
        if not wait_until(lambda: page(admin_port, "ready"), 30):
            log.seek(0)
            self.fail(log.read())

    def put_before(self, ports, change=lambda text: text):
        """Starts Envoy before the servers of three ports, with the shipped
        configuration after `change`; returns its address and its admin port."""
        port, admin_port = free_port(), free_port()
        instead = {8001: port, 9901: admin_port}
        instead |= {8101 + i: server for i, server in enumerate(ports)}
        text = re.sub(r"(?<=port_value: )\d+",
                      lambda found: str(instead[int(found[0])]),
                      change(SHIPPED.read_text()))
        self.run_envoy(text, admin_port)
        self.assertTrue(wait_until(lambda: page(admin_port, "clusters").count(
            "health_flags::healthy") == 3, 30))
        return f"127.0.0.1:{port}", admin_port

    def start_shipped(self, change=lambda text: text):
        """Starts three servers and Envoy; returns the launcher and the address."""
        launched = Launched(servers=3, config=sim_config())
        self.addCleanup(launched.__exit__)
        address, _ = self.put_before(
            [int(server["grpc"].rsplit(":", 1)[1])
             for server in launched.wait_until_ready()], change)
        return launched, address

    def shares(self, *flags):
        """Returns the share of the arriving rows that each server gets."""
        servers = self.start_servers([sim_config(**one) for one in SPEEDS], *flags)
        address, _ = self.put_before(
            [server.port for server in servers],
            lambda text: uncomment(text, "load_balancing_policy"))
        load = subprocess.Popen(
            [BENCH, "run", "-u", address, "-m", "sim",
             "--rates", f"{OFFERED:.0f}", "--warm-up-secs", "0",
             "--duration-secs", str(SETTLES_S + MEASURED_S + 2)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(load.wait, 30)
        self.addCleanup(load.terminate)

        def arrived():
            return [server.metric("ferry_arrived_rows_total")
                    for server in servers]

        time.sleep(SETTLES_S)  # Envoy renews its weights by the clock
        before = arrived()
        time.sleep(MEASURED_S)
        rows = [after - was for after, was in zip(arrived(), before)]
        self.assertGreater(sum(rows), 1000)
        return [one / sum(rows) for one in rows]

    def test_each_gets_what_it_carries(self):
        shares = self.shares("--endpoint-load-metrics")
        carried = [one / sum(CAPACITIES) for one in CAPACITIES]
        for got, expected in zip(shares, carried):
            self.assertAlmostEqual(got, expected, delta=0.05, msg=str(shares))

    def test_without_the_trailer_each_gets_as_much(self):
        for got in self.shares():
            self.assertAlmostEqual(got, 1 / 3, delta=0.05)

    def ejected(self, admin_port):
        """Returns how often Envoy has left out a server."""
        told = page(admin_port, "stats?filter=ejections_enforced_total$")
        return int(told.rsplit(":", 1)[1])

    def test_no_answer_has_a_server_left_out(self):
        """One refuses nearly all, one fails all, one serves."""
        servers = self.start_servers(
            [FULL, sim_config(alpha_ms=1, beta_ms=0, fail_every=1), sim_config()])
        address, admin_port = self.put_before(
            [server.port for server in servers],
            lambda text: uncomment(text, "outlier_detection"))
        codes = collections.Counter()
        with grpc.insecure_channel(address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            while min(codes[code] for code in (
                    grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL,
                    grpc.StatusCode.OK)) < OF_EACH_CODE:
                calls = [stub.ModelInfer.future(one_row("sim"), timeout=30)
                         for _ in range(BURST)]
                codes.update(call.code() for call in calls)
        self.assertEqual(len(codes), 3, codes)
        self.assertEqual(self.ejected(admin_port), 0)
        self.assertEqual(page(admin_port, "clusters").count(
            "health_flags::healthy"), 3)

    def test_connections_that_break_have_a_server_left_out(self):
        """Health checks, too seldom to say so, do not."""
        servers = self.start_servers([sim_config()] * 3)
        address, admin_port = self.put_before(
            [server.port for server in servers],
            lambda text: uncomment(text.replace("interval: 0.5s", "interval: 60s"),
                                   "outlier_detection"))
        servers[0].process.kill()
        self.assertTrue(wait_until(
            lambda: proxy_bounds.serve(address) or self.ejected(admin_port)))
        self.assertIn(f"{servers[0].address}::health_flags::/failed_outlier_check",
                      page(admin_port, "clusters"))

    def test_binary_headers_of_clients_do_not_reach_the_servers(self):
        """The server's gRPC would end the connection, and Envoy ask another one."""
        _, address = self.start_shipped()
        wrong = [("x-bin", "no base64!")]
        with http2_frames.Connection(address) as connection:
            connection.ask(1, one_row("sim"), more=wrong)
            connection.read_until(lambda frame: frame.type == http2_frames.DATA)
            connection.open_call(3)
            connection.send(http2_frames.DATA, 0, 3,
                            http2_frames.in_message(one_row("sim")))
            connection.send(http2_frames.HEADERS, http2_frames.END_HEADERS |
                            http2_frames.END_STREAM, 3, http2_frames.fields(wrong))
            connection.read_until(lambda frame: frame.stream == 3 and
                                  frame.type == http2_frames.DATA)

    def test_floods_harm_no_other_client(self):
        proxy_floods.check_each(self, *self.start_shipped())

    def connect(self, address):
        """Returns a connection of the client that passes bounds."""
        return self.enterContext(
            http2_frames.Connection(address, proxy_floods.FLOODER))

    def test_stream_of_a_killed_server_is_internal(self):
        launched, address = self.start_shipped()
        with grpc.insecure_channel(address) as channel:
            self.assertEqual(proxy_bounds.code_of_a_cut_stream(
                channel, launched.wait_until_ready()), grpc.StatusCode.INTERNAL)

    def test_bound_of_connections_of_all_clients(self):
        _, address = self.start_shipped()
        early = self.enterContext(http2_frames.Connection(address))
        proxy_bounds.ask(early, 1)
        with contextlib.ExitStack() as stack:
            proxy_bounds.fill(stack, address)
            with self.assertRaises(ConnectionError):
                proxy_bounds.serve(address)
            proxy_bounds.ask(early, 3)

        def is_served():
            with contextlib.suppress(ConnectionError):
                proxy_bounds.serve(address)
                return True
        self.assertTrue(wait_until(is_served))

    def test_bound_of_calls_of_one_address(self):
        _, address = self.start_shipped(changed(
            BOUND, f"max_tokens: {FEW}, tokens_per_fill: 1,"))
        self.assertEqual(proxy_floods.refused(address, 2 * FEW),
                         "local_rate_limited")
        proxy_bounds.serve(address, proxy_floods.FLOODER)

    def test_bound_of_calls_that_are_given_up(self):
        _, address = self.start_shipped()
        flooder = self.connect(address)
        head = http2_frames.header_block(http2_frames.MODEL_INFER)
        with self.assertRaises(ConnectionError):
            for call in range(GIVEN_UP):
                flooder.peer.sendall(floods.reset(2 * call + 1, head))
        proxy_bounds.serve(address)

    def test_bound_of_calls_of_one_connection(self):
        """Past it the connection ends, and with it the calls within it."""
        _, address = self.start_shipped()
        flooder = self.connect(address)
        proxy_bounds.open_calls(flooder, proxy_bounds.STREAMS)
        flooder.send(http2_frames.PING, body=bytes(8))
        flooder.read_until(lambda frame: frame.type == http2_frames.PING)
        flooder.open_call(2 * proxy_bounds.STREAMS + 1)
        with self.assertRaises(ConnectionError):
            flooder.read_until(lambda frame: False)
        proxy_bounds.serve(address)

    def test_bound_of_headers(self):
        _, address = self.start_shipped()
        flooder = self.connect(address)
        for stream, more in ((1, proxy_bounds.MANY_FIELDS),
                             (3, [(f"x-{i}", "v" * 16_000) for i in range(4)])):
            flooder.ask(stream, one_row("sim"), more=more)
            self.assertEqual(proxy_bounds.first_reset(flooder),
                             (stream, INTERNAL_ERROR))
        proxy_bounds.serve(address)

    def test_bound_of_headers_that_do_not_end(self):
        _, address = self.start_shipped(changed(
            "request_headers_timeout: 30s", "request_headers_timeout: 1s"))
        flooder = self.connect(address)
        proxy_bounds.ask(flooder)
        proxy_bounds.begin_headers(flooder, 3)
        self.assertEqual(flooder.read_until(
            lambda frame: frame.type == http2_frames.DATA)[-1].body,
                         b"request header timeout")

    def test_bound_of_a_connection_without_a_call(self):
        _, address = self.start_shipped(changed(
            "idle_timeout: 300s", "idle_timeout: 1s"))
        flooder = self.connect(address)
        proxy_bounds.ask(flooder)
        self.assertEqual(flooder.read_all()[-1].type, http2_frames.GOAWAY)

    def test_request_that_is_half_sent_waits_at_the_server(self):
        launched, address = self.start_shipped()
        proxy_bounds.check_half_sent(self, address, launched.wait_until_ready())

    def test_bound_of_a_call_of_which_no_byte_comes(self):
        """The file leaves it at Envoy's own."""
        _, address = self.start_shipped(changed(
            "request_headers_timeout: 30s",
            "request_headers_timeout: 30s\n          stream_idle_timeout: 1s"))
        self.assertEqual(proxy_bounds.code_of_silence(address),
                         grpc.StatusCode.UNKNOWN)

    def test_json_of_curl(self):
        server = FerryProcess(models=["echo"])
        self.addCleanup(server.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        descriptor = pathlib.Path(folder.name) / "inference.pb"
        subprocess.run(["protoc", "--include_imports", f"-I{ROOT}",
                        f"--descriptor_set_out={descriptor}",
                        ROOT / "proto" / "inference.proto"], check=True)
        port, admin_port = free_port(), free_port()
        text = JSON.read_text()
        for old, new in (("port_value: 8080", f"port_value: {port}"),
                         ("port_value: 8001", f"port_value: {server.port}"),
                         ("proto_descriptor: inference.pb",
                          f"proto_descriptor: {descriptor}"),
                         ("static_resources:", "admin: {address: {socket_address: "
                          f"{{address: 127.0.0.1, port_value: {admin_port}}}}}}}\n"
                          "static_resources:")):
            text = replace_once(text, old, new)
        self.run_envoy(text, admin_port)

        def ask(rpc, message):
            told = subprocess.run(
                ["curl", "--silent", "--header", "content-type: application/json",
                 "--data", json.dumps(message), "--max-time", "20",
                 "--write-out", "\n%{http_code}",
                 f"http://127.0.0.1:{port}/inference.GRPCInferenceService/{rpc}"],
                text=True, capture_output=True, check=True).stdout
            body, code = told.rsplit("\n", 1)
            return int(code), body

        code, body = ask("ServerLive", {})
        self.assertEqual((code, json.loads(body)), (200, {"live": True}))
        rows = [float(i) for i in range(16)]
        code, body = ask("ModelInfer", {"modelName": "echo", "inputs": [
            {"name": "input", "datatype": "FP32", "shape": [1, 16],
             "contents": {"fp32Contents": rows}}]})
        self.assertEqual(code, 200, body)
        raw = base64.b64decode(json.loads(body)["rawOutputContents"][0])
        self.assertEqual(list(struct.unpack("<16f", raw)), rows)
        code, body = ask("ModelMetadata", {"name": "none"})
        answer = json.loads(body)
        self.assertEqual((code, answer["code"], answer["message"]), (
            404, 5, "Request for unknown model: 'none' is not found"))
        code, body = ask("ModelInfer", {"inputs": 1})
        self.assertEqual(code, 400, body)
        self.assertIn("inputs", body)


if __name__ == "__main__":
    unittest.main()
