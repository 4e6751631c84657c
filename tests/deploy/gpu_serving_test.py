"""The steps of scripts/gpu_check.sh that ask a server on a device, on a server that
is played: what they take, and that each finds what is wrong."""

import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from tools import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "gpu_check"))
# pylint: disable=wrong-import-position
import client
import programs
import served_models
import serving
import serving_checks
import steps

# A device of 1000 MiB. PLAYED names what is wrong.
SERVER = """
import http.server, os, pathlib, random, signal, sys, threading, time
import base_service
import numpy as np
from tritonclient.grpc import service_pb2 as pb
import grpc
flags = [word.split("=", 1) for word in sys.argv[1:]]
values = dict(flags)
WRONG = os.environ.get("PLAYED", "")
WEIGHT = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
lock = threading.Lock()
loaded, events, leaked = set(), {}, [0]
NAMES = ("graph_launched", "no_graph", "out_of_memory")

def load(name):
    loaded.add(name)
    for event in NAMES:
        events[name, event] = 0
    leaked[0] += 3 if WRONG == "leak" else 0

class Played(base_service.BaseService):
    def RepositoryModelLoad(self, request, context):
        if request.model_name == "heavy" and WRONG != "no limit":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no memory")
        load(request.model_name)
        return pb.RepositoryModelLoadResponse()
    def RepositoryModelUnload(self, request, context):
        if WRONG != "stays":
            loaded.discard(request.model_name)
        return pb.RepositoryModelUnloadResponse()
    def ModelReady(self, request, context):
        return pb.ModelReadyResponse(ready=request.name in loaded)
    def ModelInfer(self, request, context):
        name = request.model_name
        x = np.frombuffer(request.raw_input_contents[0], np.float32).reshape(
            request.inputs[0].shape)
        if name == "takes" and len(x) * x.max() > 900:
            if len(x) == 1 and WRONG != "no refusal":
                events[name, "out_of_memory"] += 1
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no memory")
            if events[name, "out_of_memory"] == 0 and WRONG != "no event":
                events[name, "out_of_memory"] += 1
        draws = name in ("waits", "random") and WRONG != "all graphs"
        with lock:
            events[name, "no_graph" if draws else "graph_launched"] += 1
        y = x if x.shape[1] != 3 else x @ WEIGHT.T
        if name == "random" and WRONG != "drawn once":
            y = y + random.random()
        if name == os.environ.get("PLAYED_MODEL") and WRONG == "answer":
            y = y[::-1] if len(y) > 1 else y + 1
        reply = pb.ModelInferResponse(model_name=name)
        reply.outputs.add(name="y", datatype="FP32", shape=y.shape)
        reply.raw_output_contents.append(y.astype(np.float32).tobytes())
        return reply

unread = [0]
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        lines = [f'ferry_device_memory_bytes{{kind="total"}} {1000 << 20}',
                 f'ferry_device_memory_bytes{{kind="used"}} '
                 f'{(100 + leaked[0]) << 20}',
                 "ferry_replies_dropped_total %d" % (
                     0 if WRONG == "no drop" else time.monotonic() * 1e3),
                 "ferry_unsent_reply_bytes %d" % (
                     1 << 30 if WRONG == "unread" else 0)]
        with lock:
            lines += [f'ferry_device_events_total{{model="{name}",'
                      f'event="{event}"}} {count}'
                      for (name, event), count in events.items()]
        text = "\\n".join(lines).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_):
        pass

for key, value in flags:
    if key == "--load-model":
        load(value)
signal.signal(signal.SIGTERM, lambda *_: os._exit(
    99 if WRONG == "tool" else 0))
address = f"127.0.0.1:{values['--grpc-port']}"
with base_service.serving(Played({}), at=address):
    http.server.ThreadingHTTPServer(
        ("127.0.0.1", int(values["--metrics-port"])), Metrics).serve_forever()
"""
BENCH = """
import json, os, sys
words = sys.argv[1:]
made = {"runs": [{"points": [{"achieved_rate": 250.5}]}]}
json.dump(made, open(words[words.index("--json") + 1], "w"))
sys.exit(os.environ.get("PLAYED") == "bench")
"""
SMALL = serving_checks.Size(bound_s=60, rounds=5, cycles=5, bursts=1)


class GpuServingTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-serving-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "bin").mkdir()
        for name, text in (("ferry-server", SERVER), ("ferry-bench", BENCH)):
            path = self.home / "bin" / name
            path.write_text(f"#!{sys.executable}\n{text}")
            path.chmod(0o755)
        scripts = self.home / "tests" / "scripts"
        scripts.mkdir(parents=True)
        for name in ("linear", "waits", "random", "pixels", "takes", "heavy"):
            (scripts / f"{name}.pt").write_text("")
        self.play(serving, GONE_S=2)
        self.play(serving_checks, WIDTHS=(4, 4), BUSY_WIDTHS=(4, 4))
        # A played server holds no reply: one burst is enough.
        self.play(serving_checks, UNREAD=2)

    def play(self, module, **values):
        patch = mock.patch.multiple(module, **values)
        patch.start()
        self.addCleanup(patch.stop)

    def outcome(self, name, wrong="", model="", size=SMALL, device="GPU-a"):
        """Returns the step of a check, of a server that does that wrong."""
        check = steps.Check(types.SimpleNamespace(
            bundle=self.home, device="GPU-a", torch=self.home, seconds=0.1))
        paths = os.pathsep.join([str(ROOT / "tests" / "e2e"), *sys.path])
        with mock.patch.dict(os.environ, PLAYED=wrong, PLAYED_MODEL=model,
                             PYTHONPATH=paths), mock.patch("builtins.print"), \
                serving_checks.Checks(check) as checks:
            checks.run(name, device, size)
        (step,) = check.steps
        return step

    def assert_fails(self, reason, name, *played, **options):
        step = self.outcome(name, *played, **options)
        self.assertEqual(step["outcome"], "failed", step)
        self.assertRegex(step["reason"], reason)

    def test_a_right_server_passes_all(self):
        for name in serving_checks.TITLES:
            if name == "package":  # what compiles one is not played
                continue
            with self.subTest(name):
                step = self.outcome(name)
                self.assertEqual(step["outcome"], "passed",
                                 step["reason"] + step.get("log", ""))
                self.assertGreater(
                    step["figures"].get("answers of linear beside") or
                    step["figures"]["answers of random beside"], 0)

    def test_figures_are_kept(self):
        figures = self.outcome("cycles")["figures"]
        self.assertEqual(figures["device MiB"], [100] * 5)
        self.assertEqual(len(figures["host MiB"]), 5)
        figures = self.outcome("together")["figures"]
        self.assertEqual(figures["layers alone/s"], 250.5)
        self.assertEqual(figures["layers together/s"], 250.5)

    def test_wrong_answers_fail(self):
        for name, model in (("captures", "waits"), ("captures", "late"),
                            ("captures", "linear"), ("random", "random"),
                            ("random", "late"), ("cycles", "linear"),
                            ("memory", "takes"), ("memory", "linear"),
                            ("together", "linear"), ("readers", "pixels")):
            with self.subTest(name, model=model):
                self.assert_fails("expected .*of " + model, name, "answer",
                                  model)

    def test_a_network_whose_answers_change_fails(self):
        with mock.patch.object(
                served_models.Layers, "remember",
                lambda self, _: self.first.update({
                    seed: served_models.floats([9] * 4)
                    for seed in range(self.SEEDS)})):
            self.assert_fails("expected 9 at place 0 of an answer of layers",
                              "together")

    def test_a_device_whose_memory_does_not_come_back_fails(self):
        for name in ("captures", "cycles"):
            with self.subTest(name):
                self.assert_fails("expected at most 2 MiB more of the device "
                                  "after 2 rounds, got ", name, "leak")

    def test_a_host_whose_memory_does_not_come_back_fails(self):
        read = iter(range(100, 100_000, 20))
        self.play(serving.Serving, host_mib=lambda _: next(read))
        self.assert_fails("expected at most 32 MiB more of the host after 2 "
                          "rounds, got", "cycles")
        self.assert_fails("expected at most 32 MiB more of the host after "
                          "replies that nobody read", "readers",
                          size=serving_checks.Size(bound_s=60, bursts=3))

    def test_models_with_graphs_that_cannot_have_them_fail(self):
        for name in ("captures", "random"):
            with self.subTest(name):
                self.assert_fails(
                    "expected 0 of the event graph_launched of ", name,
                    "all graphs")

    def test_random_numbers_that_are_drawn_once_fail(self):
        self.assert_fails("got the same 8 times", "random", "drawn once")

    def test_a_model_that_does_not_go_fails(self):
        self.assert_fails("expected passing to be gone", "cycles", "stays")

    def test_memory_that_has_no_bound_fails(self):
        for wrong, reason in (
                ("no event", "expected 1 of the event out_of_memory of takes, "
                 "got 0"),
                ("no refusal", "expected a row that is larger than the device "
                 "to be refused"),
                ("no limit", "expected the load of weights that are larger than "
                 "the device to be refused")):
            with self.subTest(wrong):
                self.assert_fails(reason, "memory", wrong)

    def test_replies_that_are_not_bounded_fail(self):
        self.assert_fails("expected replies to be dropped", "readers",
                          "no drop")
        self.assert_fails("expected at most 64 MiB of replies that nobody "
                          "reads, got 1024", "readers", "unread")

    def test_a_load_that_fails_fails(self):
        self.assert_fails("expected exit code 0 of ferry-bench", "together",
                          "bench")

    def test_on_the_processor_no_events_and_no_memory_of_a_device(self):
        step = self.outcome("captures", "all graphs", device="cpu")
        self.assertEqual(step["outcome"], "passed", step)
        self.assertNotIn("device MiB", step["figures"])
        self.assertEqual(self.outcome("memory", device="cpu")["outcome"],
                         "skipped")

    def test_what_takes_too_long_fails_or_is_skipped_under_a_tool(self):
        self.play(serving.Serving, look_at_time=mock.Mock(
            side_effect=serving.Late("not done in 1 s")))
        self.assert_fails("not done in 1 s", "cycles")
        self.play(serving_checks.sanitizer, find_tool=lambda: [
            "env", "TOOL=1"])
        step = self.outcome("cycles", size=serving_checks.SMALL)
        self.assertEqual((step["outcome"], step["reason"]),
                         ("skipped", "not done in 1 s, and no error so far"))

    def test_an_error_that_a_tool_found_fails(self):
        self.play(serving_checks.sanitizer, find_tool=lambda: [
            "env", "TOOL=1"])
        step = self.outcome("captures", size=serving_checks.SMALL)
        self.assertEqual(step["outcome"], "passed", step)
        self.assertTrue(step["name"].startswith("memcheck serving: "))
        self.assert_fails("got 99", "captures", "tool",
                          size=serving_checks.SMALL)


class ClientTest(unittest.TestCase):

    def test_headers_are_found_in_their_block(self):
        text = "x" * 300
        block = b"\x88\x40\x0bgrpc-status\x018\0\x0cgrpc-message"
        block += bytes([127]) + client.varint(300 - 127) + text.encode()
        self.assertEqual(client.header_value(block, "grpc-status"), "8")
        self.assertEqual(client.header_value(block, "grpc-message"), text)
        self.assertIsNone(client.header_value(block, "other"))

    def test_contents_of_a_field_are_found(self):
        message = (client.field(6, b"a" * 200) + b"\x08\x96\x01" +
                   client.field(6, "b"))
        self.assertEqual(client.contents(message, 6), [b"a" * 200, b"b"])
        self.assertEqual(client.contents(message, 1), [150])

    def test_an_answer_that_is_no_number_is_wrong(self):
        with self.assertRaisesRegex(programs.Wrong, "place 1"):
            served_models.require_near("m", [1.0, float("nan")], [1, 1],
                                        [0.1, 0.1])
        with self.assertRaisesRegex(programs.Wrong, "2 numbers"):
            served_models.require_near("m", [1.0], [1, 1], [0.1, 0.1])

    def test_numbers_that_bf16_holds(self):
        for value in (3, 255, 256.5, 12_233.85, 614.4):
            found = serving_checks.bf16_below(value)
            self.assertLessEqual(found, value)
            self.assertGreater(found, 0.99 * value - 1)
            self.assertLess(len(bin(int(found)).strip("0b")), 9)


if __name__ == "__main__":
    unittest.main()
