"""What runs before a model is ready: zeros of synthetic sizes, samples of the
config; what that says of a new version, and of the precision."""

import os
import shutil
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import ferry_process
from ferry_process import tensor, wait_until
from scripts_case import ScriptsCase


PRECISION = 'parameters { key: "ferry.precision" value { string_value: "?" } }'


def config(dims, more=""):
    return ('backend: "pytorch"\nmax_batch_size: 8\ndynamic_batching {}\n' +
            tensor("input", "x", "FP32", dims) +
            tensor("output", "y", "FP32", dims) + more)


def warm_up(data):
    return ('model_warmup { name: "w" batch_size: 1 inputs { key: "x" value {\n'
            f'data_type: TYPE_FP32 dims: [ 3 ] {data} }} }} }}\n')


class WarmUpTest(ScriptsCase):

    def write(self, script, text, version=1):
        folder = self.repository / "m" / str(version)
        folder.mkdir(parents=True)
        shutil.copy(self.scripts / f"{script}.pt", folder / "model.pt")
        (self.repository / "m" / "config.pbtxt").write_text(text)

    def start(self, *flags):
        super().start(*(flags or ("--model-control-mode=explicit",)))

    def infer(self, values):
        values = np.array([values], np.float32)
        given = triton.InferInput("x", values.shape, "FP32")
        given.set_data_from_numpy(values)
        reply = self.client.infer("m", [given])
        return reply.get_response().model_version, reply.as_numpy("y")

    def refusal(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model("m")
        return caught.exception.message()

    def test_version_that_throws_replaces_none_that_ran(self):
        self.write("pixels", config([-1]))
        self.start()
        self.client.load_model("m")
        self.write("throws", config([-1]), version=2)
        message = self.refusal()
        self.assertIn("model 'm' version 2: forward() of zeros with any of",
                      message)
        self.assertIn("; what serves now ran, so it stays; ", message)
        self.assertRegex(message, r"\n}$", "nothing follows what one pastes")
        self.assertEqual(self.infer([1, 2])[0], "1")

    def test_poll_does_not_try_a_refused_version_again(self):
        self.write("pixels", config([-1]))
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1")
        self.write("throws", config([-1]), version=2)
        refusals = lambda: sum("so it stays" in line
                               for line in self.server.log)
        self.assertTrue(wait_until(lambda: refusals() == 1))
        # Seen by a later poll than those that would have tried again.
        for name in ("a", "b"):
            shutil.copytree(self.repository / "m", self.repository / name,
                            ignore=shutil.ignore_patterns("2"))
            self.assertTrue(wait_until(
                lambda: self.client.is_model_ready(name)))
        self.assertEqual(refusals(), 1, "said once")
        self.assertEqual(self.infer([1, 2])[0], "1")
        # Its files are looked at again once they have changed.
        shutil.copy(self.scripts / "pixels.pt",
                    self.repository / "m" / "2" / "model.pt")
        self.assertTrue(wait_until(
            lambda: self.infer([1, 2])[0] == "2"))

    def test_model_that_ran_with_no_size_is_served_all_the_same(self):
        self.write("throws", config([-1]))
        self.start()
        self.client.load_model("m")
        with self.assertRaises(InferenceServerException) as caught:
            self.infer([1])
        self.assertIn("the model failed on this batch",
                      caught.exception.message())
        self.server.stop()
        log = "".join(self.server.log)
        self.assertIn("is ready but has never run", log)
        checked = ferry_process.run("--check-config", "--model-repository",
                                    str(self.repository))
        self.assertIn("can be loaded, but did not run", checked.stdout)
        for said in (log, checked.stdout):
            self.assertIn("was not looked at whether it mixes the rows of a "
                          "batch", said)

    def test_sample_of_the_config_comes_in_place_of_zeros(self):
        self.write("picky", config([3]))
        self.start()
        refusal = self.refusal()
        self.assertIn("only small numbers", refusal)
        self.assertIn("model_warmup {\n", refusal)
        for data in ("random_data: true", 'input_data_file: "row"'):
            text = config([3], warm_up(data))
            (self.repository / "m" / "config.pbtxt").write_text(text)
            if "file" in data:
                self.assertIn("input_data_file: ", self.refusal())
                (self.repository / "m" / "warmup").mkdir()
                row = np.array([1, 2, 3], np.float32).tobytes()
                (self.repository / "m" / "warmup" / "row").write_bytes(row)
            self.client.load_model("m")
            self.assertEqual(self.infer([1, 2, 3])[1].tolist(), [[1, 2, 3]])
            self.client.unload_model("m")

    def test_data_may_not_lie_outside_the_repository(self):
        self.write("picky", config([3], warm_up('input_data_file: "row"')))
        (self.repository / "m" / "warmup").mkdir()
        os.symlink("/etc/hostname", self.repository / "m" / "warmup" / "row")
        self.start()
        self.assertIn("a link that leads out of it", self.refusal())

    def test_script_that_runs_in_fp32_only_is_served_so(self):
        self.write("constant", config([3]))
        self.start()
        self.client.load_model("m")
        np.testing.assert_allclose(self.infer([1, 2, 3])[1],
                                   [[1.001, 2.002, 3.003]], rtol=1e-6)
        served = self.client.get_model_config("m").config
        self.assertEqual(served.parameters["ferry.precision"].string_value,
                         "fp32")
        self.server.stop()
        self.assertIn("is served in ferry.precision fp32, as bf16 does not serve: "
                      "forward() fails, ", "".join(self.server.log))

    def precision(self):
        served = self.client.get_model_config("m").config
        return served.parameters["ferry.precision"].string_value

    def test_script_that_casts_is_served_in_types_that_it_runs_in(self):
        (self.repository / "m").mkdir(parents=True)
        self.start()
        two = config([3]).replace(
            tensor("output", "y", "FP32", [3]), tensor("output", "y", "FP32", [2]))
        for script, text, precision, expected in (
                ("upcast", two, "fp32", [14.014, 32.032]),
                ("norm", config([3]), "fp32", [2.7752643, 5, 9.674207]),
                ("halves", config([3]), "native", [1, 2, 3])):
            shutil.rmtree(self.repository / "m")
            self.write(script, text)
            self.client.load_model("m")
            self.assertEqual(self.precision(), precision)
            np.testing.assert_allclose(self.infer([1, 2, 3])[1], [expected],
                                       rtol=1e-6)
        self.write("halves", config([3]) + PRECISION.replace("?", "fp32"), 2)
        self.assertIn("asks for ferry.precision fp32, it runs in native",
                      self.refusal())

    def test_tables_of_integers_are_exact_in_bf16(self):
        (self.repository / "m" / "1").mkdir(parents=True)
        shutil.copy(self.scripts / "ids.pt",
                    self.repository / "m" / "1" / "model.pt")
        self.start()
        self.client.load_model("m")
        self.assertEqual(self.precision(), "bf16")
        given = triton.InferInput("x", (1, 1), "INT64")
        given.set_data_from_numpy(np.array([[3]]))
        reply = self.client.infer("m", [given])
        self.assertEqual(reply.as_numpy("OUTPUT__0").tolist(), [[100000004]])

    def test_precision_that_the_config_chooses_stays(self):
        self.write("constant", config([3], PRECISION.replace("?", "bf16")))
        self.start()
        self.assertIn("asks for ferry.precision bf16, it runs in fp32", self.refusal())


if __name__ == "__main__":
    unittest.main()
