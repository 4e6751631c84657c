"""A module as a TorchScript file.

It is traced, or scripted on request, in the type that it will compute in:
constants of a trace have the types they had.
"""

import warnings

import torch

from ferry_export import interface, samples
from ferry_export.errors import ExportError, reason

TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def write(command, module, specs, path):
    """Writes the file; `module` is cast in place."""
    float_type = TYPES[command.dtype]
    module = module.to(float_type)
    rows = interface.to_torch(specs, samples.make(command, 2), float_type)
    with warnings.catch_warnings(), torch.inference_mode():
        # torch's advice to export with torch.export instead: --format pt2.
        warnings.simplefilter("ignore")
        try:
            scripted = (torch.jit.script(module) if command.script else
                        torch.jit.trace(module, rows, strict=False,
                                        check_trace=False))
        except Exception as error:
            how = "script" if command.script else "trace"
            raise ExportError(f"torch.jit.{how} cannot take this module: "
                              f"{reason(error)}") from error
    check_rows(command, module, scripted, specs, float_type)
    # By Python, as torch's own writer ends the process on a full disk.
    path.write_bytes(scripted.save_to_buffer())


@torch.inference_mode()
def check_rows(command, module, scripted, specs, float_type):
    """Fails where other row counts than the traced give other results."""
    if not command.has_rows():
        return
    for rows in sorted({1, 3, command.max_batch_size}):
        inputs = interface.to_torch(specs, samples.make(command, rows),
                                    float_type)
        expected = interface.named_outputs(module(*inputs))
        try:
            found = interface.named_outputs(scripted(*inputs))
            for name, value in expected.items():
                torch.testing.assert_close(found[name], value, rtol=0.05,
                                           atol=0.05, equal_nan=True)
        except Exception as error:
            raise ExportError(
                f"the file made with 2 rows gives other results on {rows} "
                "than the module, whose Python code depends on sizes: use "
                f"--script or --format pt2. {reason(error)}") from error
