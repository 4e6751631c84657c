"""The embedded networks that are measured: what a row of each costs, and the
bound on p99 that is asked of it.

A multiplication and the addition after it are two FLOP; what is not a
convolution or a matrix product is not counted.
"""

import dataclasses

# p99 in ms, where the command line names none.
LIMITS_MS = {"resnet50": 15, "encoder": 130, "mlp": 10}
DEFAULT = ("resnet50", "encoder")
SMALL = "mlp"  # of one outstanding

# They are those of models/torch/networks/encoder.h and
# models/repository/embedded_models.cc.
HIDDEN, LAYERS, INTERMEDIATE, TOKENS = 384, 6, 1536, 128
WIDTHS = (1024, 4096, 4096, 1024)
# ResNet-50 has these: width, blocks and stride of each stage.
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))

# The embedded mlp as a model of a repository, which may say more of it.
MLP_CONFIG = """backend: "ferry_network"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: 1024 }
output { name: "output" data_type: TYPE_FP32 dims: 1024 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters {
  key: "ferry.widths" value { string_value: "1024,4096,4096,1024" }
}
"""
WITHOUT_GRAPHS = """parameters {
  key: "ferry.cuda_graphs" value { string_value: "false" }
}
"""


def conv_macs(inputs, outputs, kernel, side):
    """Of a convolution whose output is side x side."""
    return inputs * outputs * kernel * kernel * side * side


def resnet50_macs():
    macs = conv_macs(3, 64, 7, 112)
    inputs, side = 64, 56
    for width, blocks, stride in STAGES:
        for block in range(blocks):
            after = side // stride if block == 0 else side
            macs += conv_macs(inputs, width, 1, side)
            macs += conv_macs(width, width, 3, after)
            macs += conv_macs(width, 4 * width, 1, after)
            if block == 0:
                macs += conv_macs(inputs, 4 * width, 1, after)
            inputs, side = 4 * width, after
    return macs + inputs * 1000


def encoder_macs():
    # A token's query, key, value and output, its feed-forward, and its scores
    # against all tokens with the sum of values that they weigh.
    of_token = (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INTERMEDIATE +
                2 * TOKENS * HIDDEN)
    return LAYERS * TOKENS * of_token


def mlp_macs():
    return sum(a * b for a, b in zip(WIDTHS, WIDTHS[1:]))


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    limit_ms: float

    @property
    def flop(self):
        """Of a row."""
        return 2 * {"resnet50": resnet50_macs, "encoder": encoder_macs,
                    "mlp": mlp_macs}[self.name]()

    @property
    def formula(self):
        return {
            "resnet50": "2 * sum over convolutions of inputs * outputs * "
                        "kernel^2 * output side^2, and 2048 * 1000, at "
                        "224 x 224",
            "encoder": "2 * layers * tokens * (4 h^2 + 2 h i + 2 tokens h), of "
                       f"{LAYERS} layers, h = {HIDDEN}, i = {INTERMEDIATE}, "
                       f"{TOKENS} tokens",
            "mlp": f"2 * sum of the products of neighbours in {WIDTHS}",
        }[self.name]

    @property
    def load_flags(self):
        """Of ferry-bench: each token counts."""
        return (["--range", "attention_mask:1:1"]
                if self.name == "encoder" else [])


def parse(text):
    """Returns the network of "NAME" or "NAME:MS". Raises ValueError."""
    name, _, limit = text.partition(":")
    if name not in LIMITS_MS:
        raise ValueError(f"expected {', '.join(LIMITS_MS)}, got {name!r}")
    limit_ms = float(limit) if limit else LIMITS_MS[name]
    if not 0 < limit_ms <= 60_000:
        raise ValueError(f"expected a p99 of up to 60000 ms, got {limit}")
    return Network(name, limit_ms)
