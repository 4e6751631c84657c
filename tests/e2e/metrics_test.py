"""What /metrics says: to the unit what clients saw, in both formats, by Triton's
names where asked for, and whatever other connections do."""

import collections
import concurrent.futures
import json
import os
import re
import socket
import unittest
import urllib.request

import tritonclient.grpc as triton
from prometheus_client.openmetrics import parser as open_metrics
from prometheus_client import parser as text_format

import ending_test
import ferry_process
import http2_frames
from ending_test import Client, code_of, start_first
from ferry_process import FerryProcess, sim_config, wait_until
from scheduling_test import one_row

# The code of what was refused, by the reason in ferry_refused_total.
CODE_OF = {"queue_level": "RESOURCE_EXHAUSTED",
           "queue_requests": "RESOURCE_EXHAUSTED",
           "expired": "DEADLINE_EXCEEDED", "would_miss": "RESOURCE_EXHAUSTED",
           "invalid": "INVALID_ARGUMENT", "unknown_model": "NOT_FOUND"}
OPEN_METRICS = "application/openmetrics-text"


def pages(server, accept="text/plain"):
    """Returns the content type and the families of /metrics, whole."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.metrics_port}/metrics",
        headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as reply:
        text, kind = reply.read().decode(), reply.headers["Content-Type"]
    parser = open_metrics if kind.startswith(OPEN_METRICS) else text_format
    return kind, list(parser.text_string_to_metric_families(text))


def counted_by_code(server):
    """Returns how many requests the server says it answered with each code."""
    counts = collections.Counter()
    for family in pages(server)[1]:
        for sample in family.samples:
            if sample.name == "ferry_requests_total":
                counts[sample.labels["code"]] += int(sample.value)
            elif sample.name == "ferry_refused_total" and sample.value:
                counts[CODE_OF[sample.labels["reason"]]] += int(sample.value)
    return +counts


class LedgerTest(unittest.TestCase):
    """The client's ledger and the server's."""

    def setUp(self):
        self.server = FerryProcess(
            "--model-control-mode=explicit", "--load-model=*",
            "--device-instances=1",
            models=["failing", "sim", "slowest", "levels"])
        self.addCleanup(self.server.stop)
        self.ledger = collections.Counter()

    def load_again(self, name):
        """Replaces the version that serves by one of another config."""
        with open(f"{self.server.folder}/{name}/config.pbtxt", "a",
                  encoding="utf-8") as config:
            config.write(ferry_process.parameter(
                f"note{os.fstat(config.fileno()).st_size}", "x"))
        with triton.InferenceServerClient(self.server.address) as client:
            client.load_model(name)

    def ask(self, name):
        """Requests one after the other; returns their codes."""
        with Client(self.server) as client:
            return collections.Counter(
                code_of(client.start(one_row(name, 0))) for _ in range(150))

    def ask_for_errors(self):
        """One of each kind, and several of some."""
        with Client(self.server) as client:
            calls = [start_first(self.server, client, one_row("slowest", 0))]
            queued = [client.start(one_row("slowest", 0)) for _ in range(5)]
            self.assertTrue(wait_until(lambda: self.server.metric(
                "ferry_queue_requests", model="slowest") == 5))
            for call in queued:
                call.cancel()
            calls += queued
            late = one_row("slowest", 0)
            late.parameters["timeout"].int64_param = 1000  # us
            calls.append(client.start(late))
            calls.append(start_first(self.server, client, one_row("levels", 0)))
            calls += [client.start(one_row("levels", 3)) for _ in range(6)]
            wrong = one_row("sim", 0)
            wrong.inputs[0].shape[1] = 3
            calls.append(client.start(wrong))
            calls.append(client.start(one_row("none", 0)))
            return collections.Counter(code_of(call) for call in calls)

    def test_every_request_is_counted_across_versions(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(self.ask, name)
                     for name in ("sim", "sim", "failing", "failing")]
            asked.append(pool.submit(self.ask_for_errors))
            for name in ("sim", "failing", "sim"):
                self.load_again(name)
            for one in asked:
                self.ledger += one.result()
        for code in ("OK", "INTERNAL", "CANCELLED", "RESOURCE_EXHAUSTED",
                     "INVALID_ARGUMENT", "NOT_FOUND"):
            self.assertGreater(self.ledger[code], 0, self.ledger)
        # A reply may be read before it is counted.
        wait_until(lambda: counted_by_code(self.server) == self.ledger)
        self.assertEqual(counted_by_code(self.server), self.ledger)


class FormatTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        ferry_process.MODELS["steady"] = sim_config(alpha_ms=20, beta_ms=0.6)
        cls.server = FerryProcess("--metrics-compat=triton", models=["steady"])
        with Client(cls.server) as client:
            for _ in range(20):
                assert code_of(client.start(one_row("steady", 0))) == "OK"
        # A minute's.
        assert wait_until(
            lambda: cls.server.metric("ferry_load_ratio", model="steady") > 0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_both_formats_say_the_same(self):
        kind, told = pages(self.server)
        self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
        other, told_again = pages(self.server, OPEN_METRICS)
        self.assertTrue(other.startswith(f"{OPEN_METRICS}; version=1.0.0"))

        def names(families):
            # One of the parsers ends counters with _total, whatever they are.
            return sorted(sample.name.removesuffix("_total")
                          for family in families for sample in family.samples)

        self.assertEqual(names(told), names(told_again))

    def test_model_has_few_series(self):
        _, told = pages(self.server)
        series = [sample for family in told for sample in family.samples
                  if sample.labels.get("model") == "steady"]
        self.assertLessEqual(len(series), 400)

    def test_load_and_capacity_are_told_once_known(self):
        # s(b) of the simulated device: 20 ms + 0.6 ms a row.
        carried = 64 / (20e-3 + 64 * 0.6e-3)
        self.assertGreater(self.server.metric("ferry_load_ratio", model="steady"),
                           0)
        told = self.server.metric("ferry_capacity_rows_per_second", model="steady")
        self.assertGreater(told, 0.5 * carried)
        self.assertLess(told, 1.5 * carried)

    def test_names_of_triton_are_there_beside_ours(self):
        metric = self.server.metric
        self.assertEqual(metric("nv_inference_request_success", model="steady"),
                         metric("ferry_requests_total", model="steady", code="OK"))
        self.assertEqual(metric("nv_inference_count", model="steady"), 20)
        # In microseconds.
        self.assertAlmostEqual(
            metric("nv_inference_request_duration_us", model="steady") / 1e6,
            metric("ferry_request_seconds_sum", model="steady"), places=4)

    def test_what_keda_gpu_scaler_reads_is_there(self):
        """It reads this page by itself, as `name{labels} value`, for the profiles
        triton-queue-wait and triton-request-rate (its pkg/triton)."""
        lines = [line for line in self.server.get("/metrics")[1].splitlines()
                 if line.startswith("nv_inference_")]
        sums = collections.Counter()
        for line in lines:
            name, value = re.fullmatch(r"(\w+)\{[^{}]*\} (\S+)", line).groups()
            sums[name] += float(value)
        for name in ("nv_inference_queue_duration_us",
                     "nv_inference_request_success", "nv_inference_count"):
            self.assertGreater(sums[name], 0, name)
        self.assertIn("nv_inference_request_failure", sums)

    def test_what_the_process_has_is_told(self):
        metric = self.server.metric
        self.assertGreater(metric("process_open_fds"), 3)
        self.assertGreater(metric("process_max_fds"),
                           metric("process_open_fds"))
        self.assertGreaterEqual(metric("ferry_connections_accepted_total"), 1)
        self.assertGreater(metric("ferry_grpc_thread_cpu_seconds_total"), 0)
        self.assertGreater(metric("ferry_received_bytes_total"), 20 * 64)
        self.assertGreater(metric("ferry_sent_bytes_total"), 20 * 64)
        with Client(self.server) as client:
            self.assertEqual(code_of(client.start(one_row("steady", 0))), "OK")
            self.assertTrue(wait_until(
                lambda: metric("ferry_connections") == 1))


class ConnectionsTest(unittest.TestCase):

    def test_half_open_connections_and_slow_readers_hold_up_nothing(self):
        """As many as a scanner opens, and one that never reads its pages."""
        with FerryProcess(models=["echo"]) as server:
            def connect():
                return socket.create_connection(
                    ("127.0.0.1", server.metrics_port))

            reader = connect()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
            half_open = []
            for _ in range(200):
                half_open.append(connect())
                half_open[-1].sendall(b"GET /metr")
                self.assertEqual(server.get("/v2/health/live")[0], 200)
            self.assertEqual(server.get("/v2/health/ready")[0], 200)
            self.assertGreater(server.metric("process_open_fds"), 30)
            for one in (reader, *half_open):
                one.close()


class EndpointLoadTest(unittest.TestCase):
    """Whether replies have ORCA's trailer. gRPC's clients keep it from what uses
    them; what Envoy makes of its values: envoy_test in tests/deploy."""

    def tells(self, *flags):
        """Returns whether a reply ever has it, a second after the first one."""
        with FerryProcess(*flags, models=["sim"]) as server:

            def has_trailer():
                # The first on its connection, so that the name is written out.
                with http2_frames.Connection(server.address) as connection:
                    connection.ask(1, ending_test.one_row("sim"))
                    frames = connection.read_until(
                        lambda frame: frame.type == http2_frames.HEADERS and
                        frame.flags & http2_frames.END_STREAM)
                headers = b"".join(frame.body for frame in frames
                                   if frame.type == http2_frames.HEADERS)
                self.assertIn(b"grpc-status", headers)
                return b"endpoint-load-metrics-bin" in headers

            return wait_until(has_trailer, 20 if flags else 2)

    def test_replies_tell_the_load_where_asked_for(self):
        self.assertTrue(self.tells("--endpoint-load-metrics"))
        self.assertFalse(self.tells())


class LogTest(unittest.TestCase):

    def test_json_is_an_object_a_line(self):
        with FerryProcess("--log-format=json", models=["failing"]) as server:
            with Client(server) as client:
                codes = [code_of(client.start(one_row("failing", 0)))
                         for _ in range(20)]
                self.assertIn("INTERNAL", codes)
            server.signal()
            self.assertEqual(server.wait(), 0)
            records = [json.loads(line) for line in server.log]
        self.assertTrue(all(set(record) == {"time", "level", "message"}
                            for record in records))
        self.assertTrue(all(re.match(r"\d{4}-\d\d-\d\dT", record["time"])
                            for record in records))
        self.assertIn("stopped", [record["message"] for record in records])


if __name__ == "__main__":
    unittest.main()
