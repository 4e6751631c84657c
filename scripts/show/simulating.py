"""A ferry-server with a simulated device, model `sim`, for what measures it."""

import contextlib
import os
import tempfile

import measuring

CONFIG = """backend: "ferry_sim"
max_batch_size: %d
input { name: "input" data_type: TYPE_FP32 dims: [ 16 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 16 ] }
dynamic_batching {}
parameters { key: "ferry.alpha_ms" value { string_value: "%g" } }
parameters { key: "ferry.beta_ms" value { string_value: "%g" } }
"""


@contextlib.contextmanager
def server(programs, alpha_ms, beta_ms, max_batch, *arguments, number=0):
    """Runs it, with s(b) = alpha + beta * b, and gives its process."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/sim/1")
        with open(f"{folder}/sim/config.pbtxt", "w", encoding="utf-8") as file:
            file.write(CONFIG % (max_batch, alpha_ms, beta_ms))
        with measuring.server(programs, "--model-repository", folder,
                              *arguments, model="sim",
                              number=number) as process:
            yield process
