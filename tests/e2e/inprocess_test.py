"""ferry-inprocess, with real models on the processor: what it measures, writes and
finds, and what it says where it cannot. Devices are those of a fake NVML."""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from bench_device_test import GPU, WHOLE, fake_nvml
from bench_results_test import RESULT
from ferry_process import parameter, run as run_server, sim_config, tensor

PROGRAM = os.environ["FERRY_INPROCESS"]
LIMIT_S = 100
MLP = ('backend: "ferry_network"\nmax_batch_size: 16\n' +
       tensor("input", "input", "FP32", [16]) +
       tensor("output", "output", "FP32", [4]) + "dynamic_batching {}\n" +
       parameter("ferry.network", "mlp") +
       parameter("ferry.widths", "16,64,4"))
SHORT = ("--warm-up-secs", 0, "--duration-secs", 0.3)


def blocks(pid, number):
    """Whether the process takes that signal itself by now."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    mask = re.search(r"SigBlk:\s*(\w+)", status)
    return bool(mask and int(mask.group(1), 16) >> (number - 1) & 1)


class InProcessTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-inprocess-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.models = self.home / "models"
        for name, config in (("small", MLP),
                             ("sim", sim_config(8, alpha_ms=2, beta_ms=0.1)),
                             ("failing", sim_config(8, fail_every=1))):
            (self.models / name / "1").mkdir(parents=True)
            (self.models / name / "config.pbtxt").write_text(config)

    def measure(self, *flags, code=0, model="small", models=None):
        """Returns the document, None without one, and what was printed; code
        None: any."""
        path = self.home / "result.json"
        path.unlink(missing_ok=True)
        ended = subprocess.run(
            [PROGRAM, "--model-repository", models or self.models, "-m", model,
             *map(str, SHORT), "--json", path, *map(str, flags)], text=True,
            capture_output=True, timeout=LIMIT_S, check=False)
        text = ended.stdout + ended.stderr
        if code is not None:
            self.assertEqual(ended.returncode, code, text)
        if not path.exists():
            return None, text
        document = json.loads(path.read_text())
        RESULT.validate(document)
        return document["runs"][0], text

    def refusal(self, *flags, **how):
        """Returns the one line that is said."""
        _, text = self.measure(*flags, "--outstanding", 1, code=1, **how)
        self.assertEqual(len(text.strip().splitlines()), 1, text)
        self.assertTrue(text.startswith("ferry-inprocess: "), text)
        return text

    def test_loads_on_a_network(self):
        run, _ = self.measure("--outstanding", "1,16", "--rates", 200,
                              "--slo-ms", 1000)
        self.assertEqual(run["model"]["name"], "small")
        self.assertEqual(run["model"]["platform"], "ferry_network")
        self.assertEqual(run["model"]["max_batch_size"], 16)
        self.assertFalse(run["model"]["simulated"])
        self.assertEqual(run["server"]["name"], "in this process")
        self.assertEqual(run["request_bytes"], 16 * 4)
        self.assertEqual([point["loop"] for point in run["points"]],
                         ["closed", "closed", "open"])
        for point in run["points"]:
            self.assertEqual(point["errors"], {})
            self.assertGreater(point["ok"], 0)
            self.assertGreaterEqual(point["mean_rows"], 1)
            self.assertGreater(point["server"]["compute_infer_us"], 0)
            self.assertGreater(sum(point["server"]["batches"].values()), 0)
        self.assertGreater(run["points"][2]["goodput_rate"], 0)

    def test_real_inputs_are_sent(self):
        data = self.home / "data"
        data.mkdir()
        (data / "input").write_bytes(struct.pack("48f", *range(48)))
        run, _ = self.measure("--outstanding", 1, "--data", data)
        self.assertEqual(run["data"], str(data))
        self.assertEqual(run["points"][0]["errors"], {})
        (data / "input").write_bytes(b"123")
        self.assertIn("input", self.refusal("--data", data))

    def test_query_of_a_scenario_has_whole_batches(self):
        run, _ = self.measure("--scenario", "offline:320")
        (point,) = run["points"]
        self.assertEqual(point["loop"], "offline")
        self.assertEqual(point["query_rows"], 320)
        self.assertEqual(set(point["server"]["batches"]), {"16"})

    def test_search_of_a_simulated_device(self):
        """Whether it finds one is a matter of how busy it is here."""
        run, text = self.measure(
            "--search", "--slo-ms", 20, "--precision", 0.5, "--confirmations",
            1, "--first-rate", 500, model="sim", code=None)
        self.assertTrue(run["model"]["simulated"])
        self.assertEqual(run["search"]["slo_ms"], 20)
        self.assertTrue(all(point["purpose"] for point in run["points"]))
        found = run["search"]["found_rate"]
        self.assertIn("requests/s with p99 <= 20 ms" if found else
                      "no rate was found with p99 <= 20 ms", text)

    def test_overrides_are_those_of_the_server(self):
        run, _ = self.measure("--outstanding", 16, "--max-batch-size", 2)
        self.assertEqual(run["model"]["max_batch_size"], 2)
        batches = run["points"][0]["server"]["batches"]
        self.assertLessEqual(set(batches), {"1", "2"})
        self.assertIn("max_batch_size", self.refusal("--max-batch-size", 64))

    def test_embedded_network(self):
        ended = subprocess.run(
            [PROGRAM, "-m", "mlp", *map(str, SHORT), "--outstanding", "2"],
            text=True, timeout=LIMIT_S, capture_output=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_what_is_not_there_is_said(self):
        said = self.refusal(model="other")
        self.assertIn("model 'other': expected a folder", said)
        self.assertIn("there are: failing, sim, small", said)
        self.assertIn("cannot read the folder '/no/such/folder'", self.refusal(
            models="/no/such/folder"))

    def test_model_that_fails_is_said_before_any_load(self):
        _, text = self.measure("--outstanding", 1, model="failing", code=1)
        self.assertIn("ferry-inprocess: first request: ",
                      text.splitlines()[-1])

    def test_ctrl_c_ends_it_before_the_first_answer(self):
        """Which takes a minute of this model."""
        folder = self.models / "slow"
        (folder / "1").mkdir(parents=True)
        (folder / "config.pbtxt").write_text(sim_config(8, alpha_ms=60_000))
        for number in (signal.SIGINT, signal.SIGTERM):
            started = subprocess.Popen(
                [PROGRAM, "--model-repository", self.models, "-m", "slow",
                 "--outstanding", "1"], text=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
            self.addCleanup(started.kill)
            while not blocks(started.pid, number):
                self.assertIsNone(started.poll(), "it ended by itself")
                time.sleep(0.01)
            started.send_signal(number)
            said = started.communicate(timeout=LIMIT_S)[1]
            self.assertEqual(started.returncode, 130, said)
            self.assertIn("ferry-inprocess: interrupted before the first load",
                          said)

    def test_wrong_flags_are_refused(self):
        for flags, said in (
                (("--search",), "--search requires --slo-ms"),
                (("--search", "--slo-ms", 5, "--rates", 3), "--rates"),
                (("--processes", 2, "--rates", 5), "--processes"),
                (("--device", "gpu"), "--device: expected cpu, only, cuda:N"),
                (("--shape", "z:1", "--rates", 5), "has no input 'z'")):
            _, text = self.measure(*flags, code=None)
            self.assertIn(said, text)

    def said_by_both(self, device):
        """Returns what ferry-server and this program say of a device."""
        server = run_server("--metrics-port=0", "--grpc-port=0",
                            f"--device={device}", f"--model-repository={self.models}")
        self.assertEqual(server.returncode, 1)
        _, text = self.measure("--device", device, "--outstanding", 1, code=1)
        return (server.stderr.strip().splitlines()[-1].split("cannot start: ")[1],
                text.strip().splitlines()[-1])

    def test_device_is_refused_in_the_words_of_the_server(self):
        for scenario, device, part in (
                (None, "cuda:0", "libnvidia-ml.so.1"),
                (WHOLE, "cuda:1", "NVML sees"),
                (WHOLE, "cuda:0", "cannot open libferry_cuda.so"),
                (WHOLE, GPU, "cannot open libferry_cuda.so")):
            with self.subTest(device=device, scenario=bool(scenario)), \
                    fake_nvml(scenario):
                server, here = self.said_by_both(device)
                self.assertIn(part, server)
                self.assertTrue(here.endswith(server), f"{here}\n{server}")


if __name__ == "__main__":
    unittest.main()
