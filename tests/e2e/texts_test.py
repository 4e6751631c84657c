"""A TorchScript model that takes and gives texts, and an input that requests
may leave out: many callers at once, each with its own rows back."""

import concurrent.futures
import os
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, tensor

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]
CONFIG = ('backend: "pytorch"\nmax_batch_size: 8\ndynamic_batching {}\n' +
          tensor("input", "text", "STRING", [1]) +
          tensor("input", "bonus", "FP32", [1]).replace(
              "dims", "optional: true dims") +
          tensor("output", "loud", "STRING", [1]) +
          tensor("output", "length", "FP32", [1]))


class TextsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.makedirs(os.path.join(cls.folder, "texts", "1"))
        subprocess.run([WRITE_SCRIPTS, cls.folder], check=True, timeout=60)
        shutil.move(os.path.join(cls.folder, "texts.pt"),
                    os.path.join(cls.folder, "texts", "1", "model.pt"))
        with open(os.path.join(cls.folder, "texts", "config.pbtxt"),
                  "w") as config:
            config.write(CONFIG)
        cls.server = FerryProcess("--model-repository", cls.folder,
                                  models=None)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def infer(self, texts, bonus=None):
        """Returns (texts, lengths) of the reply."""
        values = np.array(texts, np.object_).reshape(-1, 1)
        inputs = [triton.InferInput("text", values.shape, "BYTES")]
        inputs[0].set_data_from_numpy(values)
        if bonus is not None:
            added = np.full(values.shape, bonus, np.float32)
            inputs.append(triton.InferInput("bonus", added.shape, "FP32"))
            inputs[1].set_data_from_numpy(added)
        reply = self.client.infer("texts", inputs)
        self.assertEqual(reply.as_numpy("loud").shape, values.shape)
        return (reply.as_numpy("loud").ravel().tolist(),
                reply.as_numpy("length").ravel().tolist())

    def test_texts_come_back_with_what_was_made_of_them(self):
        self.assertEqual(self.infer([b"one", b"", b"three"]),
                         ([b"ONE", b"", b"THREE"], [3, 0, 5]))

    def test_input_may_be_left_out(self):
        self.assertEqual(self.infer([b"ab"], bonus=8), ([b"AB"], [10]))
        self.assertEqual(self.infer([b"ab"]), ([b"AB"], [2]))

    def test_more_texts_than_a_batch_holds_are_answered_in_order(self):
        texts = [b"x" * (i % 7) for i in range(50)]
        loud, lengths = self.infer(texts)
        self.assertEqual(loud, [text.upper() for text in texts])
        self.assertEqual(lengths, [len(text) for text in texts])

    def test_each_caller_gets_its_own(self):
        def ask(i):
            text = f"caller {i}".encode() * (i % 5)
            bonus = 16 if i % 3 == 0 else None
            loud, (length,) = self.infer([text], bonus)
            return (loud, length) == ([text.upper()],
                                      len(text) + (bonus or 0))

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(set(pool.map(ask, range(200))), {True})

    def test_wrong_ones_are_refused_and_the_next_is_answered(self):
        wrong = triton.InferInput("text", [1, 1], "FP32")
        wrong.set_data_from_numpy(np.zeros([1, 1], np.float32))
        with self.assertRaises(InferenceServerException) as caught:
            self.client.infer("texts", [wrong])
        self.assertIn("expects 'BYTES'", caught.exception.message())
        self.assertEqual(self.infer([b"b"]), ([b"B"], [1]))


if __name__ == "__main__":
    unittest.main()
