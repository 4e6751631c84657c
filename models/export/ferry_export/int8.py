"""Linear layers with weights in int8, by torchao; everything else in bf16.

dynamic      activations become int8 at run time, each row with a scale of its
             own, so that a row's answer does not depend on the rows beside it;
             the matrix kernels compute in int8
weight-only  activations stay bf16, and so does the computation

Weights have a scale for each output channel. torchao quantizes them; what is
computed with them is written out here, in the forms that AOTInductor has
kernels for.
"""

import torch
from torch import nn

from ferry_export.errors import ExportError

LARGEST = 127
# A row's largest value counts as this at least, so that rows of zeros divide by
# something.
LEAST = 1e-9
# Inductor's own kernels read int8 weights; torch's are several times slower at
# more than a few rows. With matrix tiles the choice is certain, and measuring
# on a busy machine has been seen to miss it; without them it is measured.
HAS_TILES = torch.cpu._is_amx_tile_supported()
BACKENDS = "CPP" if HAS_TILES else "CPP,ATEN"
SETTINGS = {
    "dynamic": {},
    "weight-only": {"max_autotune_gemm": True,
                    "max_autotune_gemm_backends": BACKENDS},
}


class Int8Linear(nn.Module):
    """A linear layer's weights: weight INT8 [out, in], scale FP32 [out]."""

    def __init__(self, linear):
        super().__init__()
        self.register_buffer("weight", linear.weight.qdata)
        self.register_buffer("scale", linear.weight.scale.flatten())
        self.bias = linear.bias

    def forward(self, x):
        y = self.multiply(x.reshape(-1, x.shape[-1]))
        if self.bias is not None:
            y = y + self.bias
        return y.to(x.dtype).reshape(*x.shape[:-1], -1)


class DynamicLinear(Int8Linear):

    def multiply(self, x):
        largest = x.abs().amax(1, keepdim=True).float()
        scale = largest.clamp_min(LEAST) / LARGEST
        rows = (x / scale).round().to(torch.int8)
        sums = torch._int_mm(rows, self.weight.t())
        # Scale after scale Inductor fuses into one operator of oneDNN, which
        # without matrix tiles has but reference code for it, 2,000 times as
        # slow as the product by itself.
        if HAS_TILES:
            return sums.float() * scale * self.scale
        return sums.float() * (scale * self.scale)


class WeightOnlyLinear(Int8Linear):

    def multiply(self, x):
        return torch.ops.aten._weight_int8pack_mm(x, self.weight,
                                                  self.scale.to(x.dtype))


LAYERS = {"dynamic": DynamicLinear, "weight-only": WeightOnlyLinear}


def quantize(module, kind):
    """Returns the module with its linear layers in int8; changes it."""
    try:
        from torchao.quantization import Int8WeightOnlyConfig, quantize_
    except ImportError:
        raise ExportError("--dtype int8 needs torchao; scripts/setup.sh --full "
                          "installs it") from None
    root = nn.ModuleDict({"module": module})  # which may be a layer itself
    names = [name for name, part in root.named_modules()
             if isinstance(part, nn.Linear)]
    if not names:
        raise ExportError("--dtype int8: expected a module with linear layers "
                          "(torch.nn.Linear), found none")
    quantize_(root, Int8WeightOnlyConfig(version=2))
    layers = [LAYERS[kind](root.get_submodule(name)) for name in names]
    for name, layer in zip(names, layers):
        root.set_submodule(name, layer)
    scales = [layer.scale for layer in layers]
    root.to(torch.bfloat16)
    for layer, scale in zip(layers, scales):
        layer.scale = scale
    return root["module"]
