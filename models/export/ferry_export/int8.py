"""Linear layers in int8, by torchao; everything else in bf16.

dynamic      weights by output channel, activations by row at run time, so that
             a row's answer does not depend on the rows beside it; the matrix
             kernels compute in int8
weight-only  weights by output channel; the kernels compute in bf16
"""

import torch
from torch import nn

from ferry_export.errors import ExportError

# The kernels that read int8 weights are Inductor's own and are chosen by
# measuring; torch's are several times slower at more than a few rows.
SETTINGS = {
    "dynamic": {},
    "weight-only": {"max_autotune_gemm": True,
                    "max_autotune_gemm_backends": "CPP,ATEN"},
}


class WeightOnlyLinear(nn.Module):
    """A linear layer on int8 weights, which stay int8 in the package: a cast of
    constants would be done by the compiler, once for all."""

    def __init__(self, linear):
        super().__init__()
        self.register_buffer("weight", linear.weight.qdata)
        self.register_buffer("scale", linear.weight.scale.flatten())
        self.bias = linear.bias

    def forward(self, x):
        y = torch.ops.aten._weight_int8pack_mm(x.reshape(-1, x.shape[-1]),
                                               self.weight, self.scale)
        if self.bias is not None:
            y = y + self.bias
        return y.reshape(*x.shape[:-1], -1)


def quantize(module, kind):
    """Returns the module with its linear layers in int8; changes it."""
    try:
        from torchao import quantization
        from torchao.utils import unwrap_tensor_subclass
    except ImportError:
        raise ExportError("--dtype int8 needs torchao; scripts/setup.sh --full "
                          "installs it") from None
    layers = [name for name, part in module.named_modules()
              if isinstance(part, nn.Linear)]
    if not layers:
        raise ExportError("--dtype int8: expected a module with linear layers "
                          "(torch.nn.Linear), found none")
    module = module.to(torch.bfloat16)
    if kind == "dynamic":
        quantization.quantize_(
            module, quantization.Int8DynamicActivationInt8WeightConfig())
        return unwrap_tensor_subclass(module)
    quantization.quantize_(module, quantization.Int8WeightOnlyConfig())
    for name in layers:
        part = module.get_submodule(name)
        if not name:
            return WeightOnlyLinear(part)
        module.set_submodule(name, WeightOnlyLinear(part))
    return module
