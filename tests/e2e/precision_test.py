"""Answers in bf16 against fp32: small networks with and without what 16-bit
floats cannot hold, what is served of each, and what is said about it."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, parameter, wait_until
from output_error import ROUNDING, TOLERANCE, TYPES, error_of

WRITE_NETWORKS = os.environ["FERRY_WRITE_NETWORKS"]


class PrecisionTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.networks = pathlib.Path(tempfile.mkdtemp(prefix="ferry-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.networks)
        subprocess.run([WRITE_NETWORKS, cls.networks], check=True, timeout=120)
        cls.listed = json.loads((cls.networks / "networks.json").read_text())

    def setUp(self):
        self.repository = pathlib.Path(tempfile.mkdtemp(prefix="ferry-e2e-"))
        self.addCleanup(shutil.rmtree, self.repository)

    def start(self):
        self.server = FerryProcess("--model-control-mode=explicit",
                                   "--model-repository", str(self.repository),
                                   models=None)
        self.addCleanup(self.server.stop)
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def write(self, name, more=""):
        shutil.copytree(self.networks / name, self.repository / name)
        with (self.repository / name / "config.pbtxt").open("a") as config:
            config.write(more)

    def ask(self, network):
        """Returns the answers to the network's rows, each a request, sent at
        once: some share a batch where they may."""
        rows = network["rows"]
        given = {
            tensor["name"]: np.fromfile(
                self.networks / network["name"] / f"rows.{tensor['name']}",
                TYPES[tensor["type"]]).reshape(rows, *tensor["dims"])
            for tensor in network["inputs"]}

        def alone(row):
            inputs = []
            for tensor in network["inputs"]:
                values = given[tensor["name"]][row:row + 1]
                inputs.append(triton.InferInput(
                    tensor["name"], values.shape, tensor["type"]))
                inputs[-1].set_data_from_numpy(values)
            return self.client.infer(network["name"], inputs).as_numpy("y")
        with concurrent.futures.ThreadPoolExecutor(rows) as pool:
            return np.concatenate(list(pool.map(alone, range(rows))))

    def parameter(self, name, key):
        served = self.client.get_model_config(name).config
        return served.parameters[key].string_value

    def wait_for_line(self, *words):
        """Waits for a line of the log with all these words."""
        self.assertTrue(wait_until(lambda: any(
            all(word in line for word in words) for line in self.server.log)),
            words)

    def refusal(self, name):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model(name)
        return caught.exception.message()

    def test_no_network_is_off_without_a_word(self):
        served = {"bf16": [], "fp32": []}
        for network in self.listed:
            self.write(network["name"])
        self.start()
        for network in self.listed:
            name = network["name"]
            with self.subTest(name):
                self.client.load_model(name)
                serving = self.parameter(name, "ferry.precision.serving")
                served[serving].append(name)
                answers = self.ask(network)
                expected = np.fromfile(
                    self.networks / name / "expected",
                    TYPES[network["output"]]).reshape(answers.shape)
                self.assertLessEqual(
                    error_of(expected, answers),
                    TOLERANCE if serving == "bf16" else ROUNDING)
                end = " max_error=" if serving == "bf16" else "\n"
                self.wait_for_line(
                    f"model {name} version=1 precision asked=default "
                    f"serving={serving}{end}")
                if serving == "fp32":
                    self.wait_for_line(f"model {name} ",
                                       "as bf16 does not serve: ")
                self.assertEqual(self.server.metric(
                    "ferry_model_precision", model=name, asked="default",
                    serving=serving,
                    max_error=self.parameter(
                        name, "ferry.precision.max_error")), 1)
        self.assertGreaterEqual(len(self.listed), 30)
        # What the matrix kernels are for goes on to have them.
        for name in ("mlp", "convolution", "batch-norm", "batch-norm-late",
                     "image-normalized", "embedding", "layer-norm",
                     "mask-added", "mask-infinite", "frequencies", "rotary",
                     "weights-as-buffers", "positions-table", "memory",
                     "ids-in-a-buffer", "ids-in-floats", "epoch", "complex"):
            self.assertIn(name, served["bf16"])
        for name in ("positions-typed", "rotary-typed", "counts", "phase",
                     "class-offsets", "cumulative-differences", "branch",
                     "pixels", "positions-counted", "linspace", "ids-typed",
                     "large-mean", "time-embedding",
                     "time-embedding-of-steps"):
            self.assertIn(name, served["fp32"])

    def test_bf16_that_is_asked_for_and_too_far_off_is_refused(self):
        self.write("positions-typed", parameter("ferry.precision", "bf16"))
        self.start()
        said = self.refusal("positions-typed")
        for words in ("output 'y' is off by ", "expected at most 5%",
                      "write fp32", "ferry.precision_tolerance",
                      "model_warmup"):
            self.assertIn(words, said)

    def test_tolerance_of_the_config_decides(self):
        self.write("positions-typed",
                   parameter("ferry.precision", "bf16") +
                   parameter("ferry.precision_tolerance", "1"))
        self.write("mlp", parameter("ferry.precision_tolerance", "1e-6"))
        self.start()
        self.client.load_model("positions-typed")
        self.assertGreater(float(self.parameter(
            "positions-typed", "ferry.precision.max_error")), 0.05)
        self.client.load_model("mlp")
        self.assertEqual(self.parameter("mlp", "ferry.precision"), "fp32")
        self.wait_for_line("model mlp ", "as bf16 does not serve: ",
                           "expected at most 0.0001%")

    def test_requests_share_no_batch_where_rows_are_mixed(self):
        self.write("mixed-rows", parameter("ferry.policy", "window"))
        config = self.repository / "mixed-rows" / "config.pbtxt"
        config.write_text(config.read_text().replace(
            "dynamic_batching {}",
            "dynamic_batching { max_queue_delay_microseconds: 300000 }"))
        self.start()
        self.client.load_model("mixed-rows")
        network = next(one for one in self.listed
                       if one["name"] == "mixed-rows")
        answers = self.ask(network)
        expected = np.fromfile(self.networks / "mixed-rows" / "expected",
                               np.float32).reshape(answers.shape)
        self.assertLessEqual(error_of(expected, answers), TOLERANCE)
        served = self.client.get_model_config("mixed-rows").config
        self.assertFalse(served.HasField("dynamic_batching"))
        self.wait_for_line("model mixed-rows version=1 mixes the rows of a "
                           "batch: in output 'y' ")

    def test_request_larger_than_a_batch_is_cut_where_rows_are_independent(self):
        """Where a load has seen it, or dynamic_batching says so."""
        for name in ("mixed-rows", "mlp"):
            self.write(name)
            config = (self.repository / name / "config.pbtxt").read_text()
            for precision in ("bf16", "fp32", "native"):
                own = self.repository / f"{name}-{precision}"
                shutil.copytree(self.networks / name, own)
                (own / "config.pbtxt").write_text(
                    config.replace("dynamic_batching {}\n", "") +
                    parameter("ferry.precision", precision))
        self.start()
        rng = np.random.default_rng(5)
        values = rng.standard_normal((40, 32)).astype(np.float32)

        def ask(name, rows):
            given = triton.InferInput("x", rows.shape, "FP32")
            given.set_data_from_numpy(rows)
            return self.client.infer(name, [given]).as_numpy("y")
        for suffix in ("", "-bf16", "-fp32", "-native"):
            mixed, own = "mixed-rows" + suffix, "mlp" + suffix
            with self.subTest(suffix):
                self.client.load_model(mixed)
                self.client.load_model(own)
                self.assertEqual(ask(mixed, values[:32]).shape[0], 32)
                with self.assertRaisesRegex(
                        InferenceServerException,
                        "expected at most 32 rows, .*, got 40") as caught:
                    ask(mixed, values)
                self.assertEqual(caught.exception.status(),
                                 "StatusCode.INVALID_ARGUMENT")
                together = ask(own, values)
                alone = np.concatenate([ask(own, values[:32]),
                                        ask(own, values[32:])])
                self.assertLessEqual(error_of(alone, together), TOLERANCE)
                self.wait_for_line(f"model {mixed} ", *(
                    ["refuses requests of more than 32 rows, as ",
                     "in output 'y' a row alone is not "] if suffix else
                    ["and of at most max_batch_size rows"]))

    def test_doubles_in_a_smaller_type_are_told_unless_it_is_asked_for(self):
        for name, more in (("unasked", ""),
                           ("asked", parameter("ferry.precision", "fp32"))):
            folder = self.repository / name
            shutil.copytree(self.networks / "mlp", folder)
            text = (folder / "config.pbtxt").read_text()
            self.assertIn('name: "x" data_type: TYPE_FP32', text)
            (folder / "config.pbtxt").write_text(text.replace(
                'name: "x" data_type: TYPE_FP32',
                'name: "x" data_type: TYPE_FP64') + more)
        self.start()
        self.client.load_model("asked")
        self.client.load_model("unasked")
        self.wait_for_line("model unasked version=1 takes TYPE_FP64 input 'x' "
                           "in bf16, which has fewer digits")
        self.assertNotIn("model asked version=1 takes",
                         "".join(self.server.log))

    def test_config_that_was_answered_is_taken_back(self):
        for name in ("mlp", "branch"):
            self.write(name)
        self.start()
        for name in ("mlp", "branch"):
            self.client.load_model(name)
            answered = self.client.get_model_config(name, as_json=True)
            self.client.load_model(name, config=json.dumps(answered["config"]))
            self.assertTrue(self.client.is_model_ready(name))
            self.assertEqual(
                self.parameter(name, "ferry.precision.asked"), "default")
        answered["config"]["parameters"]["ferry.precision"]["string_value"] = (
            "native")
        self.client.load_model(name, config=json.dumps(answered["config"]))
        self.assertEqual(self.parameter(name, "ferry.precision.asked"), "native")

    def test_drawn_weights_are_compared_with_nothing(self):
        with FerryProcess(models=None) as server:
            lines = [line for line in server.log if " precision asked=" in line]
        self.assertEqual(len(lines), 1)
        self.assertNotRegex(lines[0], "unknown|output=-|largest_size=0")

    def test_failure_that_stands_is_told_and_bf16_only_as_a_note(self):
        self.write("spectrum")
        config = self.repository / "spectrum" / "config.pbtxt"
        text = config.read_text()
        config.write_text(text.replace("dims: [ 17 ]", "dims: [ 32 ]"))
        self.assertNotEqual(text, config.read_text())
        self.start()
        said = self.refusal("spectrum")
        self.assertIn("output 'y': expected shape [1,32], the model gives "
                      "[1,17]; in bf16: ", said)

    def test_rows_of_another_size_are_told_in_the_words_of_libtorch(self):
        for precision in ("bf16", "fp32", "native", ""):
            name = f"mlp{precision}"
            shutil.copytree(self.networks / "mlp", self.repository / name)
            config = self.repository / name / "config.pbtxt"
            config.write_text(
                config.read_text().replace("dims: [ 32 ]", "dims: [ 31 ]") +
                (parameter("ferry.precision", precision) if precision else ""))
        self.start()
        for precision in ("bf16", "fp32", "native", ""):
            said = self.refusal(f"mlp{precision}")
            self.assertIn("mat1 and mat2 shapes cannot be multiplied", said)
            self.assertIn("x31 and 32x64", said)
            self.assertNotIn("it runs in", said)
            self.assertNotIn("ferry.precision", said)


if __name__ == "__main__":
    unittest.main()
