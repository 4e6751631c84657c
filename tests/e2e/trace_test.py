"""Spans of a real server, as a collector receives them: by OTLP's own messages."""

import base64
import http.server
import itertools
import json
import os
import socket
import tempfile
import threading
import unittest
import urllib.request

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from prometheus_client.openmetrics import parser as openmetrics

import ferry_process
import tools
from ending_test import Client, code_of, one_row, start_first
from ferry_process import FerryProcess, free_port, wait_until

COLLECTOR = tools.Tool("collector")
ROOT = tools.ROOT
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = ("traceparent", f"00-{TRACE}-{SPAN}-01")
NOT_SAMPLED = ("traceparent", f"00-{TRACE}-{SPAN}-00")
PARTS = ["queue", "stage", "compute", "deliver"]


def spans_of(text):
    """Returns the spans of a request to a collector; raises where a field is
    none of OTLP's. Its JSON has ids in hexadecimal, protobuf's in base64."""
    def to_base64(value):
        if isinstance(value, dict):
            return {key: base64.b64encode(bytes.fromhex(one)).decode()
                    if key in ("traceId", "spanId", "parentSpanId")
                    else to_base64(one) for key, one in value.items()}
        if isinstance(value, list):
            return [to_base64(one) for one in value]
        return value

    request = trace_service_pb2.ExportTraceServiceRequest()
    json_format.ParseDict(to_base64(json.loads(text)), request)
    (resource,) = request.resource_spans
    names = {one.key: one.value.string_value
             for one in resource.resource.attributes}
    assert names["service.name"] == "ferry", names
    return list(resource.scope_spans[0].spans)


class Collector:
    """Takes what is posted to /v1/traces; `with` stops it."""

    def __init__(self):
        self.spans = []
        self.texts = []  # all of each post, as it comes
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_POST(self):  # as http.server wants it
                text = self.rfile.read(int(self.headers["Content-Length"]))
                outer.texts += [self.requestline.encode(), bytes(self.headers), text]
                if (self.path, self.headers["Content-Type"]) == (
                        "/v1/traces", "application/json"):
                    outer.spans += spans_of(text)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class OpenTelemetrysCollector(tools.Running):
    """The collector, by the config of deploy/."""

    def __init__(self, folder):
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        config = os.path.join(folder, "collector.yaml")
        text = (ROOT / "deploy/opentelemetry/collector.yaml").read_text()
        with open(config, "w", encoding="utf-8") as file:
            file.write(text.replace(":4318", f":{port}"))
        super().__init__(["bash", COLLECTOR.script, "--config", config])
        assert wait_until(
            lambda: self.has_said("Everything is ready")), self.lines


class TraceTest(unittest.TestCase):

    def assertOneTrace(self, spans):
        """A request's, in its client's trace, with its batch's beside it."""
        (whole,) = [one for one in spans if one.name == "infer"]
        self.assertEqual(whole.trace_id.hex(), TRACE)
        self.assertEqual(whole.parent_span_id.hex(), SPAN)
        begin = whole.start_time_unix_nano
        for name in PARTS:
            (part,) = [one for one in spans if one.name == name]
            self.assertEqual(part.trace_id, whole.trace_id)
            self.assertEqual(part.parent_span_id, whole.span_id)
            self.assertGreaterEqual(part.start_time_unix_nano, begin, name)
            self.assertLessEqual(part.end_time_unix_nano,
                                 whole.end_time_unix_nano)
            begin = part.end_time_unix_nano
        (batch,) = [one for one in spans if one.name == "batch"]
        (link,) = batch.links
        self.assertEqual((link.trace_id, link.span_id),
                         (whole.trace_id, whole.span_id))

    def test_request_is_seen_from_its_client_to_its_reply(self):
        with Collector() as collector, \
                FerryProcess(f"--otlp-endpoint={collector.endpoint}",
                             models=["sim"]) as server, \
                Client(server) as client:
            for metadata in ([SAMPLED], [NOT_SAMPLED], []):
                call = client.start(one_row("sim", "mine"), metadata=metadata)
                self.assertEqual(code_of(call), "OK")
            self.assertTrue(wait_until(lambda: collector.spans))
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertOneTrace(collector.spans)

    def test_request_is_seen_in_opentelemetrys_own_collector(self):
        COLLECTOR.require()
        with tempfile.TemporaryDirectory() as folder, \
                OpenTelemetrysCollector(folder) as collector:
            with FerryProcess(f"--otlp-endpoint={collector.endpoint}",
                              models=["sim"]) as server, \
                    Client(server) as client:
                call = client.start(one_row("sim", "mine"), metadata=[SAMPLED])
                self.assertEqual(code_of(call), "OK")
                self.assertTrue(wait_until(lambda: collector.has_said(TRACE)))
                server.signal()
                self.assertEqual(server.wait(), 0)
            for name in ["infer", "batch", *PARTS]:
                self.assertTrue(
                    wait_until(lambda: collector.has_said(f"Name           : {name}")),
                    "".join(collector.lines))
            for text in (f"Trace ID       : {TRACE}",
                         f"Parent ID      : {SPAN}",
                         "service.name: Str(ferry)",
                         "ferry.request_id: Str(mine)", "-> Trace ID: "):
                self.assertTrue(collector.has_said(text), "".join(collector.lines))

    def test_requests_of_a_stream_are_in_its_trace(self):
        with Collector() as collector, \
                FerryProcess(f"--otlp-endpoint={collector.endpoint}",
                             models=["sim"]) as server, \
                Client(server) as client:
            replies = client.stub.ModelStreamInfer(
                iter([one_row("sim", "a"), one_row("sim", "b")]),
                metadata=[SAMPLED])
            self.assertEqual([reply.error_message for reply in replies],
                             ["", ""])

            def wholes():
                return [one for one in collector.spans if one.name == "infer"]

            self.assertTrue(wait_until(lambda: len(wholes()) == 2))
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertEqual([one.trace_id.hex() for one in wholes()],
                             [TRACE, TRACE])

    def test_malformed_contexts_are_ignored_and_counted(self):
        with Collector() as collector, \
                FerryProcess(f"--otlp-endpoint={collector.endpoint}",
                             models=["sim"]) as server, \
                Client(server) as client:
            for value in (f"00-{TRACE}-{SPAN}", f"00-{TRACE.upper()}-{SPAN}-01",
                          "01", f"ff-{TRACE}-{SPAN}-01"):
                call = client.start(one_row("sim"),
                                    metadata=[("traceparent", value)])
                self.assertEqual(code_of(call), "OK")
            self.assertEqual(
                server.metric("ferry_trace_contexts_malformed_total"), 4)
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertEqual(collector.spans, [])

    def test_file_has_errors_and_the_slowest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spans.jsonl")
            with FerryProcess(f"--trace-file={path}", models=["sim"]) as server, \
                    Client(server) as client:
                wrong = one_row("sim")
                wrong.inputs[0].shape[1] = 3
                self.assertEqual(code_of(client.start(wrong)),
                                 "INVALID_ARGUMENT")
                self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
                server.signal()
                self.assertEqual(server.wait(), 0)
            with open(path, encoding="utf-8") as lines:
                spans = [span for line in lines for span in spans_of(line)]
        codes = [one.value.int_value for span in spans for one in span.attributes
                 if one.key == "rpc.grpc.status_code"]
        self.assertEqual(sorted(codes), [grpc.StatusCode.OK.value[0],
                                         grpc.StatusCode.INVALID_ARGUMENT.value[0]])

    def test_requests_are_told_where_the_process_cannot_wait_for_others(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "access.jsonl")
            with FerryProcess(f"--access-log={path}", "--exit-timeout-secs=0.5",
                              models=["sim", "endless"]) as server, \
                    Client(server) as client:
                start_first(server, client, one_row("endless"))
                self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
                server.signal()
                self.assertNotEqual(server.wait(), 0)
            with open(path, encoding="utf-8") as lines:
                codes = {line["model"]: line["code"]
                         for line in map(json.loads, lines)}
        self.assertEqual(codes["sim"], "OK")

    def test_access_log_has_a_line_for_each_request(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "access.jsonl")
            with FerryProcess(f"--access-log={path}", models=["sim"]) as server, \
                    Client(server) as client:
                codes = [code_of(client.start(one_row(model, "mine")))
                         for model in ("sim", "no such", "sim")]
                server.signal()
                self.assertEqual(server.wait(), 0)
            with open(path, encoding="utf-8") as lines:
                lines = [json.loads(line) for line in lines]
        self.assertEqual([line["code"] for line in lines], codes)
        self.assertEqual(codes, ["OK", "NOT_FOUND", "OK"])
        for line in lines:
            self.assertRegex(line["peer"], r"^ipv4:127\.0\.0\.1:\d+$")
            self.assertEqual(line["request_id"], "mine")
            self.assertGreaterEqual(line["total_us"], line.get("compute_us", 0))
        self.assertEqual([line["model"] for line in lines],
                         ["sim", "no such", "sim"])
        self.assertEqual([line["rows"] for line in lines], [1, 0, 1])

    def test_exemplars_lead_from_a_histogram_to_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spans.jsonl")
            with FerryProcess(f"--trace-file={path}", models=["slow"]) as server, \
                    Client(server) as client:
                call = client.start(one_row("slow"), metadata=[SAMPLED])
                self.assertEqual(code_of(call), "OK")

                def exemplars():
                    request = urllib.request.Request(
                        f"http://127.0.0.1:{server.metrics_port}/metrics",
                        headers={"Accept": "application/openmetrics-text"})
                    with urllib.request.urlopen(request, timeout=5) as reply:
                        text = reply.read().decode()
                    families = openmetrics.text_string_to_metric_families(text)
                    return [(family.name, sample.exemplar)
                            for family in families
                            for sample in family.samples if sample.exemplar]

                self.assertTrue(wait_until(exemplars))
                ((family, exemplar),) = exemplars()
        self.assertEqual(family, "ferry_request_seconds")
        self.assertEqual(exemplar.labels, {"trace_id": TRACE})

    def test_collector_that_is_away_holds_up_nothing(self):
        with FerryProcess(f"--otlp-endpoint=http://127.0.0.1:{free_port()}",
                          "--trace-share=1", models=["sim"]) as server, \
                Client(server) as client:
            for _ in range(20):
                self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
            self.assertTrue(wait_until(
                lambda: server.metric("ferry_trace_spans_failed_total") > 0))
            server.signal()
            self.assertEqual(server.wait(), 0)

    def test_collector_that_does_not_answer_holds_up_no_file_and_no_end(self):
        with tempfile.TemporaryDirectory() as folder, \
                socket.create_server(("127.0.0.1", 0)) as silent:
            path = os.path.join(folder, "access.jsonl")
            port = silent.getsockname()[1]
            with FerryProcess(f"--otlp-endpoint=http://127.0.0.1:{port}",
                              f"--access-log={path}", "--trace-share=1",
                              models=["sim"]) as server, \
                    Client(server) as client:
                for _ in range(20):
                    self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
                server.signal()
                self.assertEqual(server.wait(), 0)
            with open(path, encoding="utf-8") as lines:
                self.assertEqual(len(list(lines)), 20)

    def test_what_waits_for_a_collector_is_bounded(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with FerryProcess(f"--otlp-endpoint=http://127.0.0.1:{port}",
                              "--trace-share=1", models=["sim"]) as server, \
                    Client(server) as client:
                # 8192 wait, and up to as many are being sent, 512 in 2 s.
                for _ in client.stub.ModelStreamInfer(
                        itertools.repeat(one_row("none"), 20_000)):
                    pass
                self.assertGreater(
                    server.metric("ferry_traces_dropped_total"), 0)
                self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
                server.signal()
                self.assertEqual(server.wait(), 0)

    def test_full_disk_holds_up_nothing_and_is_told(self):
        with FerryProcess("--access-log=/dev/full", "--trace-file=/dev/full",
                          "--trace-share=1", models=["sim"]) as server, \
                Client(server) as client:
            for _ in range(20):
                self.assertEqual(code_of(client.start(one_row("sim"))), "OK")
            for metric in ("ferry_access_log_lines_failed_total",
                           "ferry_trace_spans_failed_total"):
                self.assertTrue(wait_until(lambda m=metric: server.metric(m) > 0))
            self.assertTrue(wait_until(lambda: any(
                "tracing: expected its files and its collector to take what is "
                "written" in line for line in server.log)))
            self.assertEqual(server.get("/v2/health/ready")[0], 200)
            server.signal()
            self.assertEqual(server.wait(), 0)

    def test_wrong_flags_end_the_start(self):
        for flags, said in (
                (["--trace-file=/no/such/folder/x"],
                 "--trace-file: cannot open '/no/such/folder/x': "),
                *((["--otlp-endpoint=" + wrong],
                   "--otlp-endpoint: expected http://HOST:PORT, got "
                   f"'{wrong}'")
                  for wrong in ("collector:4318", "ftp://a:1", "http://a",
                                "http://a:4318/v1/traces", "http://:4318",
                                "http://a:99999999999", "http://a:0")),
                (["--trace-share=0.5"], "--trace-share: expected --trace-file "
                 "or --otlp-endpoint beside it"),
                (["--access-log-share=0.5"],
                 "--access-log-share: expected --access-log beside it"),
                (["--access-log=/no/such/folder/x"],
                 "--access-log: cannot open '/no/such/folder/x': ")):
            ended = ferry_process.run("--grpc-port=0", "--metrics-port=0", *flags)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(said, ended.stderr)


if __name__ == "__main__":
    unittest.main()
