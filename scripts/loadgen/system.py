"""A model of a running server as LoadGen's system under test, over Triton's
gRPC client, with random samples of the model's metadata.

Thread safety: LoadGen calls from one thread, answers come on those of gRPC.
"""

import threading

import mlperf_loadgen as loadgen
import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import triton_to_np_dtype

INTEGERS = (0, 128)  # as ferry-bench draws them: ids of any vocabulary


class Wrong(Exception):
    """What was asked for does not fit the server, and why."""


def sizes(tensor, has_batch):
    """Returns the sizes of one row."""
    dims = list(tensor.shape)[1 if has_batch else 0:]
    if any(size < 1 for size in dims):
        raise Wrong(f"input '{tensor.name}': expected sizes that are known, got "
                    f"{dims}")
    return dims


def draw(randomness, data_type, shape):
    if data_type in ("FP16", "FP32", "FP64"):
        return randomness.standard_normal(shape).astype(
            triton_to_np_dtype(data_type))
    if data_type == "BOOL":
        return randomness.integers(0, 2, shape).astype(bool)
    if data_type.startswith(("INT", "UINT")):
        return randomness.integers(*INTEGERS, shape).astype(
            triton_to_np_dtype(data_type))
    raise Wrong(f"expected inputs of numbers, got one of {data_type}")


class Model:
    """One model of a server, and random samples for it: a row each."""

    def __init__(self, address, name, count, seed):
        self.client = triton.InferenceServerClient(address)
        self.name = name
        metadata = self.client.get_model_metadata(name)
        config = self.client.get_model_config(name).config
        self.has_batch = config.max_batch_size > 0
        self.most_rows = max(config.max_batch_size, 1)
        randomness = np.random.default_rng(seed)
        self.samples = {
            tensor.name: (tensor.datatype, draw(
                randomness, tensor.datatype,
                [count, *sizes(tensor, self.has_batch)]))
            for tensor in metadata.inputs}

    def inputs(self, indices):
        """Returns the inputs of one request of these samples."""
        made = []
        for name, (data_type, rows) in self.samples.items():
            values = rows[indices] if self.has_batch else rows[indices[0]]
            made.append(triton.InferInput(name, list(values.shape), data_type))
            made[-1].set_data_from_numpy(values)
        return made

    def counted(self):
        """Returns what the server has counted of it: requests and rows that
        succeeded, and requests that failed."""
        stats = self.client.get_inference_statistics(self.name).model_stats[0]
        return {"requests": stats.inference_stats.success.count,
                "rows": stats.inference_count,
                "failed": stats.inference_stats.fail.count}


class System:
    """Sends LoadGen's queries and answers them.

    The samples of a query go in requests of up to the model's max_batch_size
    rows. At most `outstanding` requests of queries of many samples are under
    way; those of one sample leave when LoadGen says so.
    """

    def __init__(self, model, outstanding):
        self._model = model
        self._free = threading.Semaphore(outstanding)
        self._mutex = threading.Lock()
        self._single = {}  # inputs of one sample, by its index
        self.requests = self.failed = 0
        self.failure = None  # the first

    def load(self, indices):
        for index in indices:
            self._single[index] = self._model.inputs([index])

    def unload(self, _):
        self._single.clear()

    def flush(self):
        pass

    def issue(self, samples):
        step = self._model.most_rows
        if len(samples) == 1:
            self._send([samples[0].id], self._single[samples[0].index], False)
            return
        for begin in range(0, len(samples), step):
            part = samples[begin:begin + step]
            self._free.acquire()
            self._send([sample.id for sample in part],
                       self._model.inputs([sample.index for sample in part]),
                       True)

    def _send(self, ids, inputs, is_bounded):
        self.requests += 1

        def answered(result, error):
            if error is not None:
                with self._mutex:
                    self.failed += 1
                    self.failure = self.failure or str(error)
            if is_bounded:
                self._free.release()
            # Also of a failure, or LoadGen would wait forever.
            loadgen.QuerySamplesComplete(
                [loadgen.QuerySampleResponse(each, 0, 0) for each in ids])
        self._model.client.async_infer(self._model.name, inputs, answered)
