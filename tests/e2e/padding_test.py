"""Rows of different sizes in one batch: padded, told from padding by a mask,
and cut to the client's own size on the way back."""

import concurrent.futures
import os
import queue
import random
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, parameter, tensor

WRITE_SCRIPTS = os.environ["FERRY_WRITE_SCRIPTS"]
SIZES = (8, 16, 32)
CONFIG = (
    'backend: "pytorch"\nmax_batch_size: 8\ndynamic_batching {}\n' +
    tensor("input", "ids", "INT64", [-1]) +
    tensor("input", "mask", "INT64", [-1]) +
    tensor("input", "spectrum", "FP32", [2, -1]) +
    tensor("output", "total", "FP32", [1]) +
    tensor("output", "padded", "FP32", [1]) +
    tensor("output", "tokens", "FP32", [-1, 2]) +
    tensor("output", "twice", "INT64", [-1]) +
    parameter("ferry.pad.ids", ",".join(str(size) for size in SIZES)) +
    parameter("ferry.pad.spectrum", "ids") +
    parameter("ferry.mask.mask", "ids") +
    parameter("ferry.cut.tokens", "ids") + parameter("ferry.cut.twice", "ids"))

# Until a batch is full, for longer than the test goes on.
FULL = parameter("ferry.policy", "window") + CONFIG.replace(
    "dynamic_batching {}",
    "dynamic_batching { max_queue_delay_microseconds: 60000000 }")


def padded(size):
    return next((wide for wide in SIZES if wide >= size), size)


def inputs_of(rows, size, mask=None, spectrum_size=None):
    ids = np.arange(1, rows * size + 1, dtype=np.int64).reshape(rows, size)
    spectrum = np.arange(rows * 2 * (spectrum_size or size),
                         dtype=np.float32) % 200  # whole in bf16
    arrays = {"ids": ids, "spectrum": spectrum.reshape(rows, 2, -1)}
    if mask is not None:
        arrays["mask"] = np.full(ids.shape, mask, np.int64)
    inputs = []
    for name, array in arrays.items():
        kind = "FP32" if name == "spectrum" else "INT64"
        inputs.append(triton.InferInput(name, array.shape, kind))
        inputs[-1].set_data_from_numpy(array)
    return inputs, arrays


class PaddingTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([WRITE_SCRIPTS, cls.folder], check=True, timeout=60)
        for name, text in (("sequences", CONFIG), ("full", FULL)):
            model = os.path.join(cls.folder, name)
            os.makedirs(os.path.join(model, "1"))
            shutil.copy(os.path.join(cls.folder, "sequences.pt"),
                        os.path.join(model, "1", "model.pt"))
            with open(os.path.join(model, "config.pbtxt"), "w") as config:
                config.write(text)
        cls.server = FerryProcess("--model-repository", cls.folder,
                                  models=None)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def check(self, reply, arrays, mask=1):
        ids = arrays["ids"]
        np.testing.assert_array_equal(
            reply.as_numpy("total"),
            (ids * mask).sum(1, keepdims=True).astype(np.float32))
        np.testing.assert_array_equal(reply.as_numpy("padded"),
                                      np.full((len(ids), 1),
                                              padded(ids.shape[1])))
        np.testing.assert_array_equal(reply.as_numpy("tokens"),
                                      arrays["spectrum"].transpose(0, 2, 1))
        np.testing.assert_array_equal(reply.as_numpy("twice"), ids * 2)

    def test_rows_of_different_sizes_share_a_batch(self):
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            calls = []
            for size in range(1, 9):
                inputs, arrays = inputs_of(1, size, mask=(None, 1)[size % 2])
                calls.append((threads.submit(self.client.infer, "full",
                                             inputs), arrays))
            for call, arrays in calls:
                self.check(call.result(timeout=20), arrays)
        model = self.client.get_inference_statistics(
            "full", as_json=True)["model_stats"][0]
        self.assertEqual((int(model["inference_count"]),
                          int(model["execution_count"])), (8, 1))
        # ids, the mask and twice as many of the spectrum, of 1 to 8, to 8.
        elements = {name: self.server.metric(f"ferry_{name}_elements_total",
                                             model="full")
                    for name in ("input", "padding")}
        self.assertEqual(elements, {"input": 4 * 36, "padding": 4 * 28})
        self.assertEqual(self.server.metric("ferry_padding_rows_total",
                                            model="full"), 0)

    def test_each_of_many_callers_gets_its_own_rows(self):
        randomness = random.Random(7)
        calls = [(randomness.randint(1, 3), randomness.randint(1, 36),
                  randomness.choice((None, 0, 1))) for _ in range(400)]

        def call(rows, size, mask):
            inputs, arrays = inputs_of(rows, size, mask)
            self.check(self.client.infer("sequences", inputs), arrays,
                       1 if mask is None else mask)

        with concurrent.futures.ThreadPoolExecutor(24) as threads:
            for done in [threads.submit(call, *one) for one in calls]:
                done.result()

    def test_request_larger_than_a_batch_is_joined_in_its_own_size(self):
        inputs, arrays = inputs_of(21, 5)
        self.check(self.client.infer("sequences", inputs), arrays)

    def test_size_over_the_largest_is_not_padded(self):
        inputs, arrays = inputs_of(2, 33)
        self.check(self.client.infer("sequences", inputs), arrays)

    def test_input_of_another_size_than_its_own_is_refused(self):
        for mask, spectrum in ((None, 6), (1, 7)):
            inputs, _ = inputs_of(1, 5, mask, spectrum_size=spectrum)
            with self.assertRaises(InferenceServerException) as caught:
                self.client.infer("sequences", inputs)
            self.assertIn("input 'spectrum' for model 'sequences'. Expected "
                          "the size of input 'ids', which is [5] a row, got "
                          f"[2,{spectrum}]", caught.exception.message())
        inputs, arrays = inputs_of(1, 5)
        self.check(self.client.infer("sequences", inputs), arrays)

    def test_classes_are_of_the_rows_own_size(self):
        inputs, _ = inputs_of(2, 3)
        wanted = triton.InferRequestedOutput("twice", class_count=9)
        reply = self.client.infer("sequences", inputs, outputs=[wanted])
        self.assertEqual(reply.as_numpy("twice").tolist(),
                         [[b"6:2", b"4:1", b"2:0"],
                          [b"12:2", b"10:1", b"8:0"]])

    def test_stream_repeats_shapes_and_leaves_masks_out(self):
        replies = queue.Queue()
        self.client.start_stream(
            lambda result, error: replies.put((result, error)))
        sent = []
        for size in (3, 3, 3, 30, 3):
            inputs, arrays = inputs_of(2, size)
            self.client.async_stream_infer("sequences", inputs)
            sent.append(arrays)
        for arrays in sent:
            result, error = replies.get(timeout=10)
            self.assertIsNone(error)
            self.check(result, arrays)
        self.client.stop_stream()

    def test_metadata_tells_what_clients_may_send(self):
        metadata = self.client.get_model_metadata("sequences", as_json=True)
        self.assertEqual(metadata["inputs"][0]["shape"], ["-1", "-1"])
        self.assertEqual(metadata["outputs"][2]["shape"], ["-1", "-1", "2"])


if __name__ == "__main__":
    unittest.main()
