"""The models that both servers serve to be asked wrongly: for Triton of its
Python backend, for Ferry the same inputs and outputs of its echo and simulated
backends."""

import os

import numpy as np
from tritonclient.grpc import service_pb2 as pb

SLOW_MS = 500
BATCH = 8  # rows, where a model has a batch dimension

# Answers with its inputs; what else it does stands in its parameters.
TRITON_MODEL = '''"""Answers with its inputs."""
import json
import time

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.names = [(given["name"], answered["name"]) for given, answered
                      in zip(config["input"], config["output"])]
        parameters = config["parameters"]
        self.delay = float(parameters["ms"]["string_value"]) / 1e3
        self.fails = "fails" in parameters

    def answer(self, request):
        if self.fails:
            raise triton.TritonModelException("fails always")
        tensors = []
        for given, answered in self.names:
            tensor = triton.get_input_tensor_by_name(request, given)
            try:
                tensors.append(triton.Tensor(answered, tensor.as_numpy()))
            except triton.TritonModelException:  # numpy has no such type
                tensors.append(triton.Tensor.from_dlpack(answered,
                                                         tensor.to_dlpack()))
        return triton.InferenceResponse(tensors)

    def execute(self, requests):
        time.sleep(self.delay)
        return [self.answer(request) for request in requests]
'''


def tensor(side, name, data_type, dims):
    return (f'{side} {{ name: "{name}" data_type: TYPE_{data_type} '
            f'dims: {dims} }}\n')


def echo(*pairs, rows=BATCH):
    """pairs: (input, output, type, dims)."""
    text = f"max_batch_size: {rows}\n"
    for given, answered, data_type, dims in pairs:
        text += (tensor("input", given, data_type, dims) +
                 tensor("output", answered, data_type, dims))
    return text


def parameter(key, value):
    return (f'parameters {{ key: "{key}" value {{ string_value: "{value}" '
            "} }\n")


def one(data_type, dims):
    return echo(("input", "output", data_type, dims))


QUEUE = """dynamic_batching {
  default_queue_policy {
    default_timeout_microseconds: 60000000 allow_timeout_override: true
    max_queue_size: 2
  }
}
"""
LEVELS = """dynamic_batching {
  priority_levels: 3 default_priority_level: 2
}
"""

ECHO = {
    "echo": one("FP32", [16]),
    "pair": echo(("a", "x", "FP32", [4]), ("b", "y", "INT32", [4])),
    "whole": echo(("input", "output", "FP32", [2, 3]), rows=0),
    "any_shape": one("FP32", [-1]),
    "any_plane": one("FP32", [-1, -1]),
    "levels": one("FP32", [4]) + LEVELS,
    **{data_type.lower(): one(data_type, [3])
       for data_type in ("BOOL", "INT8", "UINT8", "FP16", "BF16")},
}
# Loaded after the start: not every build of Ferry takes texts.
LATER = {"text": one("STRING", [3])}
SLOW = {"slow": echo(("input", "output", "FP32", [4]), rows=1) + QUEUE,
        "failing": one("FP32", [4])}
# Not loaded at start: one that could be, and some that cannot.
SPARE = {"spare": one("FP32", [4])}
BROKEN = {"unfit": one("FP32", [0]), "no_file": one("FP32", [4]),
          "no_version": one("FP32", [4])}

SERVED = (*ECHO, *SLOW)
ALL = (*SERVED, *LATER, *SPARE, *BROKEN)


def write(folder, name, config, file=""):
    os.makedirs(f"{folder}/{name}/1", exist_ok=True)
    with open(f"{folder}/{name}/config.pbtxt", "w", encoding="utf-8") as stream:
        stream.write(config)
    if file:
        with open(f"{folder}/{name}/1/model.py", "w", encoding="utf-8") as stream:
            stream.write(file)
    if name == "no_version":
        os.rmdir(f"{folder}/{name}/1")


def write_for_triton(folder, names):
    for name, config in {**ECHO, **SLOW, **LATER, **SPARE, **BROKEN}.items():
        if name not in names:
            continue
        config = f'backend: "python"\n{config}'
        config += parameter("ms", SLOW_MS if name == "slow" else 0)
        if name == "failing":
            config += parameter("fails", "always")
        write(folder, name, config,
              "" if name.startswith("no_") else TRITON_MODEL)


def write_for_ferry(folder, names):
    for name, config in {**ECHO, **LATER, **SPARE, **BROKEN, **SLOW}.items():
        if name not in names:
            continue
        if name in SLOW:
            config = (f'backend: "ferry_sim"\n{config}' +
                      parameter("ferry.alpha_ms",
                                SLOW_MS if name == "slow" else 0) +
                      parameter("ferry.beta_ms", 0))
            if name == "failing":
                config += parameter("ferry.fail_every", 1)
        else:
            backend = "pytorch" if name in BROKEN else "ferry_echo"
            config = f'backend: "{backend}"\n{config}'
        write(folder, name, config)


# ---------------------------------------------------------------------------
# Right requests

SIZES = {"FP32": 4, "INT32": 4, "BOOL": 1, "INT8": 1, "UINT8": 1, "FP16": 2,
         "BF16": 2}


def right_bytes(data_type, elements):
    if data_type == "BYTES":
        return b"".join(len(text).to_bytes(4, "little") + text
                        for text in [b"", b"a", b"bc"])
    if data_type == "FP32":
        return np.arange(elements, dtype=np.float32).tobytes()
    return bytes([1, 0] * (elements * SIZES[data_type]))[
        :elements * SIZES[data_type]]


def infer(model, *tensors, raw=None, outputs=(), parameters=None, version=""):
    """Returns a ModelInferRequest. tensors: (name, type, shape); raw=None: the
    right bytes of each."""
    request = pb.ModelInferRequest(model_name=model, model_version=version)
    for name, data_type, shape in tensors:
        request.inputs.add(name=name, datatype=data_type, shape=shape)
        if raw is None:
            request.raw_input_contents.append(
                right_bytes(data_type, int(np.prod(shape))))
    for name in outputs:
        request.outputs.add(name=name)
    request.raw_input_contents.extend(raw or [])
    for name, value in (parameters or {}).items():
        set_parameter(request.parameters[name], value)
    return request


def set_parameter(message, value):
    """value: of the parameter's type; a pair names the field of uint64, and
    None sets nothing."""
    fields = {bool: "bool_param", int: "int64_param", str: "string_param",
              float: "double_param", bytes: "bytes_param"}
    if isinstance(value, tuple):
        setattr(message, *value)
    elif value is None:
        message.SetInParent()
    else:
        setattr(message, fields[type(value)], value)


def right(model, **options):
    """Returns a request that is answered with its inputs."""
    shapes = {"pair": [("a", "FP32", [1, 4]), ("b", "INT32", [1, 4])],
              "whole": [("input", "FP32", [2, 3])],
              "any_shape": [("input", "FP32", [1, 5])],
              "any_plane": [("input", "FP32", [1, 2, 2])],
              "echo": [("input", "FP32", [1, 16])],
              "text": [("input", "BYTES", [1, 3])]}
    default = [("input", "FP32", [1, 4])]
    if model.upper() in SIZES:
        default = [("input", model.upper(), [1, 3])]
    return infer(model, *shapes.get(model, default), **options)
