"""The models of E3, the same for Triton's Python backend and for Ferry: weights,
inputs, outputs and batching; only the backend differs.

`mlp` is linear layers with ReLU between, in fp32 on one thread: NumPy's OpenBLAS
in Triton, oneDNN in Ferry. `echo` answers with its input.
"""

import os

import numpy as np

from safetensors_file import write_safetensors

WIDTHS = (784, 2048, 2048, 10)
ECHO_WIDTH = 256
MAX_BATCH = 64
SEED = 1

TENSORS = """max_batch_size: %d
input { name: "input" data_type: TYPE_FP32 dims: %d }
output { name: "output" data_type: TYPE_FP32 dims: %d }
instance_group { count: 1 kind: KIND_CPU }
dynamic_batching {}
"""
FERRY = {
    "echo": 'backend: "ferry_echo"\n',
    "mlp": 'backend: "ferry_network"\n' + "".join(
        'parameters { key: "ferry.%s" value { string_value: "%s" } }\n' % pair
        for pair in (("network", "mlp"), ("precision", "fp32"), ("threads", 1),
                     ("widths", ",".join(map(str, WIDTHS))),
                     ("weights", "weights.safetensors")))}
SIZES = {"echo": (ECHO_WIDTH, ECHO_WIDTH), "mlp": (WIDTHS[0], WIDTHS[-1])}

# One forward for all requests of a batch, as a Python model has to do it.
TRITON_MODEL = '''"""%s."""
import os

import numpy as np
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        folder = os.path.dirname(os.path.abspath(__file__))
        path = os.path.join(folder, "weights.npz")
        self.layers = []
        if os.path.exists(path):
            with np.load(path) as file:
                self.layers = [(file[f"weight{i}"].T, file[f"bias{i}"])
                               for i in range(len(file.files) // 2)]

    def forward(self, x):
        for i, (weight, bias) in enumerate(self.layers):
            x = x @ weight
            x += bias
            if i + 1 < len(self.layers):
                np.maximum(x, 0, out=x)
        return x

    def execute(self, requests):
        rows = [triton.get_input_tensor_by_name(each, "input").as_numpy()
                for each in requests]
        if not self.layers:
            results = rows
        else:
            whole = rows[0] if len(rows) == 1 else np.concatenate(rows)
            ends = np.cumsum([len(each) for each in rows])[:-1]
            results = np.split(self.forward(whole), ends)
        return [triton.InferenceResponse([triton.Tensor("output", each)])
                for each in results]
'''


def weights():
    """Returns name and values of each parameter, as a linear layer draws
    them."""
    randomness = np.random.default_rng(SEED)
    made = {}
    for i, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        bound = inputs ** -0.5
        for name, shape in (("weight", (outputs, inputs)), ("bias", outputs)):
            made[f"layers.{i}.{name}"] = randomness.uniform(
                -bound, bound, shape).astype(np.float32)
    return made


def write(folder, name, config, max_batch=MAX_BATCH, sizes=None):
    """Writes a config of one input and one output; returns the version's folder."""
    os.makedirs(f"{folder}/{name}/1")
    with open(f"{folder}/{name}/config.pbtxt", "w", encoding="utf-8") as stream:
        stream.write(config + TENSORS % (max_batch, *(sizes or SIZES[name])))
    return f"{folder}/{name}/1"


def write_for_ferry(folder):
    for name, config in FERRY.items():
        version = write(folder, name, config)
        if name == "mlp":
            write_safetensors(f"{version}/weights.safetensors", weights())


def write_for_triton(folder):
    for name in FERRY:
        version = write(folder, name, 'backend: "python"\n')
        with open(f"{version}/model.py", "w", encoding="utf-8") as stream:
            stream.write(TRITON_MODEL % name)
        if name == "mlp":
            np.savez(f"{version}/weights.npz",
                     **{key.split(".")[2] + key.split(".")[1]: values
                        for key, values in weights().items()})
