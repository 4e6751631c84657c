"""The server on a device: the real LibTorch and libferry_cuda on a CUDA runtime
without a device (tests/cuda_fake)."""

import concurrent.futures
import csv
import os
import re
import signal
import threading
import time
import unittest
from unittest import mock

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

from fake_server import GPU, LINEAR, STOP_S, Fake, ask, has_fake
from ferry_process import wait_until
from raw_http2 import RawClient
from tools import Tool

BF16 = 0.1  # of values up to 15, of which bf16 keeps 8 bits
# The one thread that frees memory which the device reads.
FREES = "cudaFreeHost on ferry-free"
# Kernels and functions that these models may ask for in vain.
HARMLESS = ("stub cuCtxGetCurrent", "stub cuCtxSetCurrent",
            "stub cuDevicePrimaryCtxRetain", FREES)
WITHOUT_GRAPHS = LINEAR + ('parameters { key: "ferry.cuda_graphs" '
                           'value { string_value: "false" } }\n')
ILLEGAL_ADDRESS = 700
MIB = 1 << 20
OUT_OF_MEMORY = 2
CAPTURE_INVALIDATED = 901


UNLESS_THERE = unittest.skipUnless(
    has_fake(), "no fake CUDA was built: scripts/build.sh cuda ferry_cuda_fake")


class FakeCase(unittest.TestCase):

    def fake(self, **scenario):
        fake = Fake(**scenario)
        self.addCleanup(fake.close)
        return fake

    def fake_whose_next_fails(self, call):
        """For want of memory, of those calls: when the file `now` is there."""
        fake = self.fake()
        fake.scenario["fail_when"] = (
            f"{call}:{fake.folder / 'now'}:{OUT_OF_MEMORY}")
        return fake

    def start(self, fake, *flags):
        server = fake.start(*flags)
        self.addCleanup(server.stop)
        client = triton.InferenceServerClient(server.address)
        self.addCleanup(client.close)
        return server, client

    def events(self, server, event, model="linear"):
        return server.metric("ferry_device_events_total", model=model,
                             event=event)

    def assert_stops(self, server):
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(STOP_S), 0, "".join(server.log[-5:]))

    def serve(self, client, model, stop):
        """Asks until it is told to stop; returns the largest error."""
        worst = seed = 0
        while not stop.is_set():
            seed += 1
            worst = max(worst, ask(client, model, seed=seed))
        return worst

    def assert_clean(self, fake):
        """Nothing was done but what the tests' models are known to do."""
        self.assertEqual(
            [line for line in fake.log()
             if line not in HARMLESS and not line.startswith("kernel void")], [])


@UNLESS_THERE
class ServingTest(FakeCase):

    def test_answers_are_right_and_come_from_graphs(self):
        fake = self.fake()
        fake.add_model("linear")
        server, client = self.start(fake)
        self.assertIn(f"device uuid={GPU}", "".join(server.log))
        self.assertIn("driver=13.0 runtime=13.0", "".join(server.log))
        for rows in range(1, 9):
            self.assertLess(ask(client, rows=rows, seed=rows), BF16)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            errors = list(pool.map(
                lambda seed: ask(client, rows=1 + seed % 3, seed=seed),
                range(400)))
        self.assertLess(max(errors), BF16)
        self.assertGreater(self.events(server, "graph_launched"), 8)
        for event in ("no_graph", "no_graph_of_these_sizes", "graphs_off",
                      "out_of_memory"):
            self.assertEqual(self.events(server, event), 0, event)
        self.assert_stops(server)
        self.assert_clean(fake)

    def test_perf_analyzer_reads_the_device_by_the_names_of_triton(self):
        tool = Tool("perf_analyzer")
        tool.require()
        fake = self.fake()
        fake.add_model("linear")
        server, _ = self.start(fake, "--metrics-compat=triton")
        report = fake.folder / "report.csv"
        ended = tool.run(
            "-m", "linear", "-i", "grpc", "-u", server.address,
            "--concurrency-range", "2", "-p", "500",
            "--stability-percentage", "999", "--max-trials", "3",
            "--collect-metrics", "--metrics-interval", "100", "--metrics-url",
            f"http://127.0.0.1:{server.metrics_port}/metrics",
            "--verbose-csv", "-f", report)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertNotIn("WARNING", ended.stdout + ended.stderr)
        with open(report, encoding="utf-8") as stream:
            (row,) = csv.DictReader(stream)
        for column in ("Avg GPU Utilization", "Avg GPU Power Usage",
                       "Max GPU Memory Usage", "Total GPU Memory"):
            self.assertIn(GPU, row[column], column)

    def test_weights_are_cast_before_they_are_moved(self):
        fake = self.fake()
        fake.add_model("linear")
        server, _ = self.start(fake)
        self.assertIn("serving=bf16 max_error=0.00", "".join(server.log))
        self.assertNotIn("copy_kernel", "\n".join(fake.log()))

    def test_built_in_network_answers_right_by_weights_cast_before(self):
        fake = self.fake()
        fake.add_network("network")
        server, client = self.start(fake)
        for rows in range(1, 9):
            self.assertLess(ask(client, "network", rows=rows, seed=rows,
                                names=("input", "output")), BF16)
        self.assertGreaterEqual(
            self.events(server, "graph_launched", "network"), 8)
        self.assertNotIn("copy_kernel", "\n".join(fake.log()))
        self.assert_clean(fake)

    def test_answers_without_graphs_are_the_same(self):
        fake = self.fake()
        fake.add_model("linear", config=WITHOUT_GRAPHS)
        server, client = self.start(fake)
        for rows in range(1, 9):
            self.assertLess(ask(client, rows=rows), BF16)
        self.assertGreaterEqual(self.events(server, "graphs_off"), 8)
        self.assert_stops(server)
        self.assert_clean(fake)

    def come_and_go_beside_linear(self, client, look=lambda: None):
        """Loads and unloads `other` while `linear` serves; looks when it is
        there."""
        stop = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            served = pool.submit(self.serve, client, "linear", stop)
            try:
                for _ in range(5):
                    client.load_model("other")
                    for rows in (3, 8):
                        self.assertLess(ask(client, "other", rows=rows), BF16)
                    look()
                    client.unload_model("other")
                    self.assertTrue(wait_until(
                        lambda: not client.is_model_ready("other")))
            finally:
                stop.set()
            self.assertLess(served.result(), BF16)

    def test_models_come_and_go_beside_one_that_serves(self):
        fake = self.fake()
        fake.add_model("linear")
        fake.add_model("other")
        server, client = self.start(fake, "--model-control-mode=explicit",
                                    "--load-model=linear")
        self.come_and_go_beside_linear(client)
        self.assertLess(ask(client), BF16)
        self.assert_stops(server)
        self.assert_clean(fake)

    def test_calls_without_memory_halve_the_batch(self):
        # The last is made within the forward, which tells it as a text.
        for file, call in (("linear", "cudaGraphLaunch"),
                           ("linear", "cudaLaunchKernel"),
                           ("waits", "cudaStreamSynchronize")):
            with self.subTest(call=call):
                fake = self.fake_whose_next_fails(call)
                fake.add_model("linear", file)
                server, client = self.start(fake)
                self.assertLess(ask(client, rows=8), BF16)
                (fake.folder / "now").write_text("")
                for seed in range(5):
                    self.assertLess(ask(client, rows=8, seed=seed), BF16)
                self.assertEqual(self.events(server, "out_of_memory"), 1)
                self.assertIn(f"planned error of {call}", fake.log())

    def test_rows_that_depend_on_each_other_are_not_halved(self):
        fake = self.fake_whose_next_fails("cudaLaunchKernel")
        fake.add_model("linear")
        fake.add_model("centered", "centered", LINEAR + (
            'parameters { key: "ferry.precision" '
            'value { string_value: "fp32" } }\n'))
        server, client = self.start(fake)
        (fake.folder / "now").write_text("")
        with self.assertRaisesRegex(
                InferenceServerException,
                "the device has no memory for this batch") as caught:
            ask(client, "centered", rows=8)
        self.assertEqual(caught.exception.status(),
                         "StatusCode.RESOURCE_EXHAUSTED")
        ask(client, "centered", rows=8)
        (fake.folder / "now").write_text("")
        self.assertLess(ask(client, rows=8), BF16)
        self.assertEqual(self.events(server, "out_of_memory"), 1)

    def test_models_loaded_where_others_were_keep_apart(self):
        fake = self.fake()
        names = ("linear", "other")
        for name in names:
            fake.add_model(name)
        server, client = self.start(fake, "--model-control-mode=explicit")
        for name in names:
            client.load_model(name)
        for name in names:
            client.unload_model(name)
        self.assertTrue(wait_until(lambda: {
            (one.state, one.reason)
            for one in client.get_model_repository_index().models} == {
                ("UNAVAILABLE", "unloaded")}))
        client.load_model("linear")
        self.come_and_go_beside_linear(
            client, lambda: self.assertEqual(
                self.events(server, "no_graph", "other"), 0))
        self.assertEqual(self.events(server, "no_graph"), 0)
        self.assert_stops(server)
        self.assert_clean(fake)

    def test_times_of_models_exclude_what_others_compute(self):
        fake = self.fake(kernel_ms=5)
        names = ("linear", "other")
        for name in names:
            fake.add_model(name)
        server, client = self.start(fake)

        def busy():
            return sum(server.metric("ferry_compute_busy_seconds_total",
                                     model=name) for name in names)

        def batches():
            return sum(server.metric("ferry_batches_closed_total", model=name)
                       for name in names)

        busy_before, batches_before = busy(), batches()
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            errors = list(pool.map(
                lambda i: ask(client, names[i % 2], rows=3, seed=i),
                range(240)))
        took = time.monotonic() - begin
        self.assertLess(max(errors), BF16)
        # One device is not busy for longer than there was time.
        self.assertLessEqual(busy() - busy_before, took)
        self.assertGreaterEqual(busy() - busy_before,
                                (batches() - batches_before) * 5e-3)

    def test_driver_that_keeps_not_ready_disturbs_nothing(self):
        fake = self.fake(records_not_ready=1, progresses=1)
        fake.add_model("linear")
        server, client = self.start(fake)
        for rows in range(1, 9):
            self.assertLess(ask(client, rows=rows), BF16)
        self.assert_stops(server)
        self.assert_clean(fake)

    def test_model_draws_random_numbers_while_another_is_recorded(self):
        fake = self.fake()
        fake.add_model("random", "random")
        fake.add_model("linear")
        server, client = self.start(fake, "--model-control-mode=explicit",
                                    "--load-model=random")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            stop = threading.Event()
            served = [pool.submit(self.serve, client, "random", stop)
                      for _ in range(2)]
            try:
                for _ in range(5):
                    client.load_model("linear")
                    self.assertLess(ask(client, rows=3), BF16)
                    client.unload_model("linear")
                    self.assertTrue(wait_until(
                        lambda: not client.is_model_ready("linear")))
            finally:
                stop.set()
            for one in served:
                one.result()  # none has failed
        self.assert_stops(server)


@UNLESS_THERE
class MemoryTest(FakeCase):

    def measures(self, server):
        """Returns what is beside LibTorch's allocator, and what that may hold,
        as it was told so far, but of a probe load."""
        return [tuple(map(int, found)) for found in re.findall(
            r"^\d\S+ info cuda memory total_bytes=\d+ beside_bytes=(\d+) "
            r"allowed_bytes=(\d+)", "".join(server.log), re.M)]

    def test_what_is_beside_the_allocator_is_measured_when_a_model_is_warm(self):
        fake = self.fake(memory_mib=4096, context_mib=300, kernel_kib=16 << 10)
        for name in ("linear", "other"):
            fake.add_model(name)
        server, client = self.start(fake, "--model-control-mode=explicit",
                                    "--load-model=linear")
        slack = 128 * MIB
        # Those of the load that was tried in a process of its own, too.
        loaded = len({line for line in fake.log() if line.startswith("kernel ")})
        started, warm = self.measures(server)
        self.assertEqual(started, (300 * MIB, (4096 - 300) * MIB - slack))
        self.assertGreater(loaded, 1)
        beside = (300 + 16 * loaded) * MIB
        self.assertEqual(warm, (beside, 4096 * MIB - beside - slack))
        self.assertLess(ask(client, rows=8), BF16)
        # The same kernels again.
        client.load_model("other")
        self.assertEqual(len(self.measures(server)), 2)
        self.assert_stops(server)

    def test_load_on_a_device_without_memory_for_a_batch_serves_in_halves(self):
        """Eight rows need 128 MiB, four have room; the slack is 64 MiB."""
        fake = self.fake(memory_mib=1024, context_mib=1024 - 64 - 106)
        fake.add_model("needs", "needs", WITHOUT_GRAPHS)
        with mock.patch.dict(os.environ, {"CUBLAS_WORKSPACE_CONFIG": ":16:8",
                                          "CUBLASLT_WORKSPACE_SIZE": "128"}):
            server, client = self.start(fake)
        for rows in (1, 5, 8):
            self.assertLess(ask(client, "needs", rows=rows), BF16)
        self.assertIn("serving=bf16 max_error=0.00", "".join(server.log))
        self.assertEqual(self.events(server, "out_of_memory", "needs"), 1)

    def test_device_that_does_not_tell_its_memory_serves(self):
        fake = self.fake(fail=[f"cudaMemGetInfo:{i}:999" for i in range(1, 9)])
        fake.add_model("linear")
        server, client = self.start(fake)
        self.assertLess(ask(client, rows=3), BF16)
        self.assertEqual(self.measures(server), [(0, (4096 - 128) * MIB)])
        self.assertIn("planned error of cudaMemGetInfo", fake.log())
        self.assert_stops(server)

    def start_with_held_frees(self, *flags):
        """Returns a server of which one thread is in a call that frees pinned
        memory, and does not return before the file is gone that comes with it."""
        fake = self.fake()
        held = fake.folder / "hold"
        fake.scenario["hold_free"] = str(held)
        fake.add_model("spread", "spread", LINEAR.replace(
            "max_batch_size: 8", "max_batch_size: 1").replace("[ 2 ]",
                                                              "[ 4096 ]"))
        fake.add_model("linear")
        server, client = self.start(fake, *flags)
        request = pb.ModelInferRequest(model_name="spread")
        request.inputs.add(name="x", datatype="FP32", shape=[1, 3])
        request.raw_input_contents.append(np.ones(3, np.float32).tobytes())
        reader = RawClient(server.address, window=0)
        self.addCleanup(reader.close)
        # One more than a pool keeps; it is freed when they come back.
        for _ in range(20):
            reader.start("ModelInfer", request.SerializeToString())
        self.assertTrue(wait_until(lambda: server.metric(
            "ferry_requests_total", model="spread", code="OK") >= 20))
        held.write_text("")
        reader.close()
        self.assertTrue(wait_until((fake.folder / "hold.held").exists))
        return fake, server, client, held

    def test_free_that_does_not_return_does_not_keep_the_process(self):
        _, server, _, held = self.start_with_held_frees(
            "--exit-timeout-secs=1")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(STOP_S), 4, "".join(server.log[-5:]))
        self.assertTrue(held.exists())

    def test_free_that_takes_long_holds_up_no_call(self):
        fake, server, client, held = self.start_with_held_frees(
            "--grpc-infer-thread-count=1")
        for seed in range(50):
            self.assertLess(ask(client, seed=seed, client_timeout=30), BF16)
        held.unlink()
        self.assert_stops(server)
        self.assert_clean(fake)


@UNLESS_THERE
class GraphsTest(FakeCase):

    def test_model_that_waits_for_the_device_runs_without_graphs(self):
        fake = self.fake()
        for name in ("waits", "linear"):
            fake.add_model(name, name)
        server, client = self.start(fake, "--model-control-mode=explicit",
                                    "--load-model=waits")
        client.load_model("linear")
        for rows in (1, 3, 8):
            self.assertLess(ask(client, "waits", rows=rows), BF16)
            self.assertLess(ask(client, "linear", rows=rows), BF16)
        self.assertEqual(self.events(server, "graph_launched", "waits"), 0)
        self.assertGreaterEqual(self.events(server, "no_graph", "waits"), 3)
        self.assertGreaterEqual(self.events(server, "graph_launched"), 3)
        self.assert_memory_comes_back(fake, client)

    def assert_memory_comes_back(self, fake, client):
        """Another model comes and goes, and leaves nothing; what one has used
        in warm-up goes back, which LibTorch does not do during a capture."""
        fake.add_model("passing")
        used = []
        for _ in range(4):
            client.load_model("passing")
            self.assertLess(ask(client, "passing", rows=3), BF16)
            client.unload_model("passing")
            self.assertTrue(wait_until(
                lambda: not client.is_model_ready("passing")))
            used.append(fake.used())
        self.assertEqual(used[1:], used[1:2] * 3)
        fake.add_model("needs", "needs", WITHOUT_GRAPHS)
        client.load_model("needs")  # which takes 128 MiB for eight rows
        self.assertLess(fake.used() - used[-1], 64 * MIB)

    def test_captures_that_cannot_be_begun_or_ended_hurt_nothing(self):
        for call in ("cudaStreamBeginCapture", "cudaStreamEndCapture",
                     "cudaGraphInstantiateWithFlags", "cudaGraphGetNodes"):
            for code in (OUT_OF_MEMORY, CAPTURE_INVALIDATED):
                with self.subTest(call=call, code=code):
                    fake = self.fake(fail=[f"{call}:1:{code}",
                                           f"{call}:6:{code}"])
                    fake.add_model("linear")
                    server, client = self.start(
                        fake, "--model-control-mode=explicit",
                        "--load-model=linear")
                    for rows in range(1, 9):
                        self.assertLess(ask(client, rows=rows), BF16)
                    self.assertGreater(self.events(server, "graph_launched"), 0)
                    self.assertGreater(self.events(server, "no_graph"), 0)
                    self.assertIn(f"planned error of {call}", fake.log())
                    self.assert_memory_comes_back(fake, client)
                    self.assert_stops(server)

    def test_capture_that_cannot_be_ended_at_all_ends_the_server(self):
        """Each process ends four for a model; in the server those of the second
        model fail, and what mends them."""
        fake = self.fake(fail=[f"cudaStreamEndCapture:{number}:{OUT_OF_MEMORY}"
                               for number in range(5, 9)])
        for name in ("linear", "other"):
            fake.add_model(name)
        server, client = self.start(fake, "--model-control-mode=explicit",
                                    "--load-model=linear")
        self.assertLess(ask(client), BF16)
        with self.assertRaisesRegex(triton.InferenceServerException,
                                    "the device is lost"):
            client.load_model("other")
        self.assertEqual(server.wait(STOP_S), 3)

    def test_graph_that_gives_other_values_is_not_used(self):
        fake = self.fake(wrong_graph=2)
        fake.add_model("linear")
        server, client = self.start(fake)
        for rows in range(1, 9):
            self.assertLess(ask(client, rows=rows), BF16)
        self.assertGreater(self.events(server, "no_graph"), 0)
        self.assertIn("its graph gives other values than the network",
                      "".join(server.log))

    def test_model_that_writes_to_its_input_has_graphs(self):
        fake = self.fake()
        fake.add_model("writes", "writes")
        server, client = self.start(fake)
        for rows in range(1, 9):
            self.assertLess(ask(client, "writes", rows=rows), BF16)
        self.assertEqual(self.events(server, "no_graph", "writes"), 0)

    def test_model_that_draws_random_numbers_has_no_graphs(self):
        fake = self.fake()
        fake.add_model("random", "random")
        fake.add_model("linear")
        server, client = self.start(fake)
        ask(client, "random", rows=3)  # the fake draws none
        self.assertEqual(self.events(server, "graph_launched", "random"), 0)
        self.assertEqual(self.events(server, "no_graph", "random"), 1)
        self.assertRegex("".join(server.log), "random step=record .*offset")
        self.assertLess(ask(client, rows=3), BF16)
        self.assertEqual(self.events(server, "no_graph"), 0)


@UNLESS_THERE
class EndingTest(FakeCase):

    def test_lost_device_ends_the_server(self):
        fake = self.fake()
        fake.scenario["lose_when"] = str(fake.folder / "lost")
        fake.add_model("linear")
        server, client = self.start(fake)
        self.assertLess(ask(client), BF16)
        (fake.folder / "lost").write_text("")
        self.assertEqual(server.wait(STOP_S), 3)
        self.assertIn("device is lost", "".join(server.log))

    def test_look_at_the_device_that_has_no_memory_is_no_loss(self):
        fake = self.fake_whose_next_fails("cudaEventRecord")
        fake.add_model("linear")
        server, client = self.start(fake)
        (fake.folder / "now").write_text("")  # no batch records any
        self.assertTrue(wait_until(
            lambda: "planned error of cudaEventRecord" in fake.log()))
        # A loss ends it within about a second.
        self.assertFalse(wait_until(
            lambda: server.process.poll() is not None, timeout=3))
        self.assertLess(ask(client), BF16)
        self.assert_stops(server)

    def test_batch_that_loses_the_device_fails_and_ends_the_server(self):
        fake = self.fake(sticky=f"cudaGraphLaunch:40:{ILLEGAL_ADDRESS}")
        fake.add_model("linear")
        server, client = self.start(fake)
        with self.assertRaises(InferenceServerException) as caught:
            for seed in range(100):
                self.assertLess(ask(client, seed=seed), BF16)
        self.assertRegex(caught.exception.status(), "INTERNAL|UNAVAILABLE")
        self.assertEqual(server.wait(STOP_S), 3)

    def test_kernel_that_never_ends_ends_the_server(self):
        fake = self.fake(endless=300)
        fake.add_model("linear")
        server, client = self.start(fake, "--backend-timeout-secs=1",
                                    "--exit-timeout-secs=2")
        with self.assertRaises(InferenceServerException):
            for seed in range(1000):
                ask(client, seed=seed, client_timeout=20)
        self.assertEqual(server.wait(STOP_S), 3)
        self.assertIn("backend hangs model=linear", "".join(server.log))

    def test_server_drains_while_the_driver_hangs(self):
        fake = self.fake()
        fake.scenario["hang_while"] = f"cudaEventQuery:{fake.folder}/hang"
        fake.add_model("linear")
        server, client = self.start(fake)
        self.assertLess(ask(client), BF16)
        with fake.hang():
            self.assertTrue(
                wait_until(lambda: "hang of cudaEventQuery" in fake.log()))
            self.assertEqual(server.get("/v2/health/ready")[0], 200)
            self.assert_stops(server)
        log = "".join(server.log)
        self.assertIn("drains signal=TERM", log)
        self.assertIn("the device's driver does not answer", log)
        self.assertIn("expected this process to be gone in 1 s", log)

    def test_driver_that_hangs_for_a_while_is_no_loss(self):
        fake = self.fake()
        fake.scenario["hang_while"] = f"cudaEventQuery:{fake.folder}/hang"
        fake.scenario["lose_when"] = str(fake.folder / "lost")
        fake.add_model("linear")
        server, client = self.start(fake)
        with fake.hang():
            self.assertTrue(
                wait_until(lambda: "hang of cudaEventQuery" in fake.log()))
        self.assertLess(ask(client), BF16)
        (fake.folder / "lost").write_text("")
        self.assertEqual(server.wait(STOP_S), 3)
        self.assertIn("expected this process to be gone in 22 s",
                      "".join(server.log))

    def test_batch_in_a_driver_that_hangs_passes_its_clients_deadline(self):
        fake = self.fake()
        fake.scenario["hang_while"] = f"cudaGraphLaunch:{fake.folder}/hang"
        fake.add_model("linear")
        server, client = self.start(fake)
        self.assertLess(ask(client), BF16)
        with fake.hang():
            with self.assertRaises(InferenceServerException) as caught:
                ask(client, client_timeout=1)
            self.assertEqual(caught.exception.status(),
                             "StatusCode.DEADLINE_EXCEEDED")
            self.assertIn("hang of cudaGraphLaunch", fake.log())
        self.assertLess(ask(client), BF16)
        self.assert_stops(server)

    def test_health_is_told_while_nvml_hangs(self):
        fake = self.fake()
        fake.add_nvml(f"hang while={fake.folder}/hang")
        fake.add_model("linear")
        server, client = self.start(fake)
        with fake.hang():
            self.assertTrue(wait_until(
                lambda: "ferry_device_memory_bytes{" not in
                server.get("/metrics")[1]))
            self.assertGreater(
                server.metric("ferry_device_reading_age_seconds"), 5)
            self.assertEqual(server.get("/v2/health/live")[0], 200)
            self.assertLess(ask(client), BF16)
        self.assertTrue(wait_until(lambda: "ferry_device_memory_bytes{" in
                                   server.get("/metrics")[1]))
        self.assert_stops(server)

    def test_driver_that_is_too_old_is_told(self):
        fake = self.fake(driver=12080)
        fake.add_model("linear")
        ended = fake.run(f"--model-repository={fake.models}")
        self.assertEqual(ended.returncode, 1)
        self.assertIn(
            "expected a driver of CUDA 13.0 or newer (580 or newer, or the "
            "package cuda-compat-13-0), got one of CUDA 12.8",
            ended.stderr.splitlines()[-1])

    def test_library_that_is_missing_is_told_at_start(self):
        for library in ("libcuda.so.1", "libnvrtc.so.13", "libcudnn.so.9"):
            with self.subTest(library=library):
                fake = self.fake()
                fake.without = library
                fake.add_model("linear")
                ended = fake.run(f"--model-repository={fake.models}")
                self.assertEqual(ended.returncode, 1)
                self.assertIn(library, ended.stderr.splitlines()[-1])

    def test_drain_answers_what_was_admitted(self):
        fake = self.fake()
        fake.add_model("linear")
        server, client = self.start(fake)
        outcomes = []

        def serve(seed):
            try:
                return ask(client, rows=2, seed=seed)
            except InferenceServerException as error:
                return error.status()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            futures = [pool.submit(serve, seed) for seed in range(3000)]
            wait_until(lambda: sum(one.done() for one in futures) > 50)
            server.signal(signal.SIGTERM)
            self.assertFalse(all(one.done() for one in futures))
            outcomes = [one.result() for one in futures]
        self.assertEqual(server.wait(STOP_S), 0)
        refused = {one for one in outcomes if isinstance(one, str)}
        self.assertLessEqual(refused, {"StatusCode.UNAVAILABLE"})
        answered = [one for one in outcomes if isinstance(one, float)]
        self.assertGreater(len(answered), 50)
        self.assertLess(max(answered), BF16)
        self.assert_clean(fake)


if __name__ == "__main__":
    unittest.main()
