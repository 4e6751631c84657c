"""A ferry-server with a simulated device, model `sim`, for what measures it."""

import contextlib
import os
import tempfile

import measuring

CONFIG = """backend: "ferry_sim"
max_batch_size: %d
input { name: "input" data_type: TYPE_FP32 dims: [ 16 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 16 ] }
%s
parameters { key: "ferry.alpha_ms" value { string_value: "%g" } }
parameters { key: "ferry.beta_ms" value { string_value: "%g" } }
"""


def config(alpha_ms, beta_ms, max_batch, batching="dynamic_batching {}"):
    """Returns the config of a device with s(b) = alpha + beta * b."""
    return CONFIG % (max_batch, batching, alpha_ms, beta_ms)


@contextlib.contextmanager
def server(programs, alpha_ms, beta_ms, max_batch, *arguments, number=0, **more):
    """Runs it, with that config, and gives its process."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/sim/1")
        with open(f"{folder}/sim/config.pbtxt", "w", encoding="utf-8") as file:
            file.write(config(alpha_ms, beta_ms, max_batch, **more))
        with measuring.server(programs, "--model-repository", folder,
                              *arguments, model="sim",
                              number=number) as process:
            yield process
