"""A model whose answers name the version whose file computed them."""

import json
import os

import numpy as np
import tritonclient.grpc as triton

SCALE_CONFIG = """backend: "ferry_network"
max_batch_size: 16
input { name: "input" data_type: TYPE_FP32 dims: 4 }
output { name: "output" data_type: TYPE_FP32 dims: 8 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "4,8" } }
parameters { key: "ferry.precision" value { string_value: "fp32" } }
parameters { key: "ferry.weights"
             value { string_value: "model.safetensors" } }
"""


def scale_weights(version):
    """Of a network whose outputs name the version: x v, and x v + 1000."""
    tensors = {"layers.0.weight": np.vstack([version * np.eye(4)] * 2),
               "layers.0.bias": np.repeat([0, 1000], 4)}
    header, data = {}, b""
    for name, values in tensors.items():
        values = values.astype(np.float32)
        header[name] = {"dtype": "F32", "shape": values.shape,
                        "data_offsets": [len(data),
                                         len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def write_version(folder, version, name="scale"):
    """Appears at once, as a deployment's does: by a rename."""
    made = os.path.join(folder, f".{name}-{version}")
    os.makedirs(made)
    with open(os.path.join(made, "model.safetensors"), "wb") as weights:
        weights.write(scale_weights(version))
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    os.rename(made, os.path.join(folder, name, str(version)))


def write_config(folder, name, text):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    path = os.path.join(folder, name, "config.pbtxt")
    with open(path + ".new", "w") as config:
        config.write(text)
    os.rename(path + ".new", path)


def ask(client, version=""):
    """Returns the version that answered; every part of the answer is its."""
    values = np.ones((1, 4), np.float32)
    tensor = triton.InferInput("input", [1, 4], "FP32")
    tensor.set_data_from_numpy(values)
    result = client.infer("scale", [tensor], model_version=version)
    answered = int(result.get_response().model_version)
    np.testing.assert_array_equal(
        result.as_numpy("output"),
        np.hstack([values * answered, values * answered + 1000]))
    return answered
