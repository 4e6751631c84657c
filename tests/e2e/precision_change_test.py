"""A model in bf16 of which batches fail by their types while it serves: it is
changed to fp32 where the same rows run there, and stays where they do not."""

import re
import shutil

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import parameter, tensor, wait_until
from scripts_case import ScriptsCase

# What the scripts of linear layers multiply by.
WEIGHTS = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
# Above what the load has tried; the sums need more than bf16 has.
LARGE = [257, 513, 1025]


class PrecisionChangeTest(ScriptsCase):

    def write(self, name, more=""):
        (self.repository / name / "1").mkdir(parents=True)
        (self.repository / name / "config.pbtxt").write_text(
            'platform: "pytorch_libtorch"\nmax_batch_size: 8\n'
            "dynamic_batching {}\n" + tensor("input", "x", "FP32", [3]) +
            tensor("output", "y", "FP32", [2]) + more)
        shutil.copy(self.scripts / f"{name}.pt",
                    self.repository / name / "1" / "model.pt")

    def infer(self, name, values):
        values = np.array([values], np.float32)
        given = triton.InferInput("x", values.shape, "FP32")
        given.set_data_from_numpy(values)
        return self.client.infer(name, [given]).as_numpy("y")[0]

    def fails(self, name, values=LARGE):
        try:
            self.infer(name, values)
        except InferenceServerException as error:
            self.assertIn("INTERNAL", error.status())
            return True
        return False

    def await_answer(self, name):
        """Returns how many requests fail before one is answered."""
        outcomes = []

        def is_answered():
            outcomes.append(self.fails(name))
            return not outcomes[-1]

        self.assertTrue(wait_until(is_answered, 60))
        return len(outcomes) - 1

    def lines(self, pattern):
        return [line for line in self.server.log if re.search(pattern, line)]

    def serving(self, name):
        """As metrics and ModelConfig say it, which agree."""
        config = self.client.get_model_config(name, as_json=True)["config"]
        told = config["parameters"]["ferry.precision.serving"]["string_value"]
        other = {"bf16": "fp32", "fp32": "bf16"}[told]
        metrics = self.server.get("/metrics")[1]
        self.assertRegex(metrics, f'ferry_model_precision{{.*"{name}".*'
                                  f'asked="default",serving="{told}"')
        self.assertNotRegex(metrics, f'ferry_model_precision{{.*"{name}".*'
                                     f'serving="{other}"')
        return told

    def changes(self, name):
        return self.server.metric("ferry_precision_changes_total", model=name,
                                  version="1")

    def requests(self, name, code):
        return self.server.metric("ferry_requests_total", model=name,
                                  version="1", code=code)

    def check_change(self):
        np.testing.assert_allclose(self.infer("branch", [1, 2, 3]),
                                   WEIGHTS @ [1, 2, 3])
        self.assertEqual(self.serving("branch"), "bf16")
        self.assertEqual(self.changes("branch"), 0)
        self.assertTrue(self.fails("branch"))
        failed = 1 + self.await_answer("branch")
        self.assertEqual(self.serving("branch"), "fp32")
        expected = WEIGHTS @ (np.array(LARGE) + 1)
        np.testing.assert_allclose(self.infer("branch", LARGE), expected,
                                   rtol=1e-6)
        np.testing.assert_allclose(self.infer("branch", [1, 2, 3]),
                                   WEIGHTS @ [1, 2, 3])
        self.assertEqual(self.changes("branch"), 1)
        self.assertEqual(self.requests("branch", "OK"), 4)
        self.assertEqual(self.requests("branch", "INTERNAL"), failed)
        self.assertTrue(wait_until(lambda: self.lines(
            r"branch version=1 is served in ferry.precision fp32, as bf16 does "
            "not serve: .*BFloat16")))
        self.assertEqual(len(self.lines(
            "branch version=1 has changed to ferry.precision fp32 .*"
            "write that into its config")), 1)

    def test_model_whose_types_meet_at_run_time_is_changed_to_fp32(self):
        self.write("branch")
        for mode in ("none", "poll", "explicit"):
            with self.subTest(mode=mode):
                self.start(f"--model-control-mode={mode}", "--load-model=*",
                           "--repository-poll-secs=1")
                self.check_change()
                self.server.stop()

    def test_config_of_a_client_is_kept(self):
        self.write("branch")
        self.start("--model-control-mode=explicit", "--probe-loads=off")
        self.client.load_model("branch", config="""{
            "platform": "pytorch_libtorch", "max_batch_size": 2,
            "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [3]}],
            "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]
        }""")
        self.assertTrue(self.fails("branch"))
        self.await_answer("branch")
        self.assertEqual(self.serving("branch"), "fp32")
        config = self.client.get_model_config("branch").config
        self.assertEqual(config.max_batch_size, 2)

    def test_model_that_fails_in_fp32_too_stays(self):
        self.write("stuck")
        self.start()
        for _ in range(3):
            self.assertTrue(self.fails("stuck"))
        self.assertTrue(wait_until(lambda: self.lines(
            "stuck version=1 stays in bf16, .*BFloat16.*; in fp32: .*rows of a "
            "batch that failed in bf16 .*fp32 fails, too")))
        self.assertTrue(self.fails("stuck"))
        np.testing.assert_allclose(self.infer("stuck", [1, 2, 3]),
                                   WEIGHTS @ [1, 2, 3])
        self.assertEqual(self.serving("stuck"), "bf16")
        self.assertEqual(self.changes("stuck"), 0)
        self.assertEqual(len(self.lines("stuck version=1 stays in bf16")), 1)
        self.assertEqual(self.lines("stuck .*has changed to"), [])

    def test_precision_that_was_asked_for_stays(self):
        self.write("branch", parameter("ferry.precision", "bf16"))
        self.write("stuck")
        self.start()
        self.assertTrue(self.fails("branch"))
        self.assertTrue(self.fails("stuck"))
        # They are looked after in the order of their names.
        self.assertTrue(wait_until(lambda: self.lines("stays in bf16")))
        self.assertEqual(self.lines("branch .*(has changed to|stays in)"), [])
        self.assertTrue(self.fails("branch"))
