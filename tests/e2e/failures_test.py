"""Why a model failed: the code that clients get, the reason in the log, and who
fails with whom."""

import re
import shutil
import threading
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import tensor, wait_until
from scripts_case import ScriptsCase


def config(kind, dims, outputs):
    return ('backend: "pytorch"\nmax_batch_size: 4\ndynamic_batching {}\n' +
            tensor("input", "x", kind, dims) +
            tensor("output", "y", "FP32", outputs))


class FailuresTest(ScriptsCase):

    def write(self, name, text, script):
        (self.repository / name / "1").mkdir(parents=True)
        (self.repository / name / "config.pbtxt").write_text(text)
        shutil.copy(self.scripts / f"{script}.pt",
                    self.repository / name / "1" / "model.pt")

    def infer(self, model, values, dtype=np.float32):
        values = np.array([values], dtype)
        given = triton.InferInput(
            "x", values.shape, "INT64" if dtype == np.int64 else "FP32")
        given.set_data_from_numpy(values)
        return self.client.infer(model, [given]).as_numpy("y")

    def failure(self, model, values, dtype=np.float32):
        with self.assertRaises(InferenceServerException) as caught:
            self.infer(model, values, dtype)
        self.assertIn("INTERNAL", str(caught.exception.status()))
        return caught.exception.message()

    def lines(self, text):
        return [line for line in self.server.log if text in line]

    def test_code_of_the_client_finds_the_reason_in_the_log(self):
        self.write("deep", config("INT64", [1], [3]), "deep")
        self.write("poison", config("FP32", [3], [3]), "poison")
        self.start()
        told = self.failure("deep", [9], np.int64)
        code = re.search(r"reason=([0-9a-f]{8})$", told).group(1)
        self.assertEqual(self.failure("deep", [123], np.int64), told,
                         "the same reason with another number")
        other = self.failure("poison", [101] * 3)
        self.assertNotIn(code, other)
        self.assertTrue(wait_until(lambda: self.lines("model failed model=p")))
        line = self.lines(f"reason={code}")[0]
        self.assertIn('why="index out of range in self" trace="The following',
                      line)
        self.assertRegex(line, "model failed model=deep step=forward")
        line = self.lines("model failed model=poison")[0]
        self.assertIn('why="AssertionError: poison" trace="', line)

    def test_load_eight_modules_deep_tells_its_reason(self):
        self.write("deep", config("INT64", [1], [2]), "deep")
        self.write("deeper", config("INT64", [1], [3]), "deeper")
        self.write("always", config("FP32", [3], [3]), "throws")
        self.start("--model-control-mode=explicit")
        for model, reason in (("deep", "expected shape [1,2]"),
                              ("deeper", "index out of range in self"),
                              ("always", "AssertionError: always")):
            with self.assertRaises(InferenceServerException) as caught:
                self.client.load_model(model)
            self.assertIn(reason, caught.exception.message())
            self.assertNotIn("HERE", caught.exception.message())
        self.assertTrue(wait_until(lambda: self.lines(
            "model failed while it was loaded model=always "
            'why="AssertionError: always" trace="The following')))

    def test_poisoned_request_fails_alone(self):
        self.write("poison", config("FP32", [3], [3]), "poison")
        self.start("--device-instances=1", "--policy=window",
                   "--max-wait-ms=60000")
        ends = {}

        def send(value):
            try:
                ends[value] = self.infer("poison", [value] * 3).tolist()
            except InferenceServerException as error:
                ends[value] = error.message()

        senders = [threading.Thread(target=send, args=(value,))
                   for value in (1, 2, 101, 3)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(60)
        for value in (1, 2, 3):
            self.assertEqual(ends[value], [[value] * 3])
        self.assertIn("the model failed on this batch; the server's log says "
                      "why at reason=", ends[101])
        self.assertEqual(self.server.metric("ferry_batch_reruns_total",
                                            model="poison"), 4)
        self.assertEqual(self.server.metric(
            "ferry_requests_total", model="poison", code="OK"), 3)
        self.assertEqual(self.server.metric(
            "ferry_requests_total", model="poison", code="INTERNAL"), 1)

    def test_outputs_of_fewer_rows_fail_the_batch(self):
        self.write("fewer", config("FP32", [3], [3]), "fewer")
        self.write("short", config("FP32", [3], [3]), "short")
        self.start("--model-control-mode=explicit", "--load-model=fewer")
        self.failure("fewer", [101] * 3)
        self.assertTrue(wait_until(
            lambda: self.lines("model failed model=fewer")))
        self.assertIn("expected shape [1,3]",
                      self.lines("model failed model=fewer")[0])
        np.testing.assert_array_equal(self.infer("fewer", [1, 2, 3]), [[1, 2, 3]])
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model("short")
        self.assertIn("expected shape", caught.exception.message())

    def test_outputs_of_nan_are_given_as_they_are(self):
        self.write("linear", config("FP32", [3], [2]), "linear")
        self.start()
        # Infinity less infinity: the model makes it, no input has one.
        answer = self.infer("linear", [np.inf, -np.inf, 0])
        np.testing.assert_array_equal(answer, [[np.nan, np.nan]])
        np.testing.assert_array_equal(self.infer("linear", [1, 2, 3]), [[14, 32]])
        self.assertEqual(self.server.metric(
            "ferry_requests_total", model="linear", code="OK"), 2)
        self.server.stop()
        self.assertEqual(self.lines("failed"), [])

    def test_names_in_files_forge_no_line(self):
        evil = "x\\n2026-01-01T00:00:00.000+0000 error forged\\033[2J" + (
            "\u009b\u0085\u2028\u202e")
        self.write("named", config("FP32", [3], [3]).replace(
            '"x"', f'"{evil}"'), "throws")
        self.start("--model-control-mode=explicit")
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model("named")
        self.assertIn("error forged\\x1b[2J\\xc2\\x9b\\xc2\\x85",
                      caught.exception.message())
        for character in "\x1b\u009b\u0085\u2028\u202e":
            self.assertNotIn(character, caught.exception.message())
        self.server.stop()
        for line in "".join(self.server.log).split("\n"):
            self.assertFalse(line.startswith("2026-01-01"), line)
            for character in "\x1b\u009b\u0085\u2028\u202e":
                self.assertNotIn(character, line)


if __name__ == "__main__":
    unittest.main()
