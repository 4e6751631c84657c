"""What forward() takes and gives: names by its signature, sizes by calling it.

A size of an output that differs between two calls varies: they differ in the
row count and in every size that varies among the inputs.
"""

import collections.abc
import inspect
import re

import torch

from ferry_export import samples
from ferry_export.errors import ExportError, reason
from ferry_export.tensors import ANY_SIZE, TYPES, TensorSpec

BY_TORCH = {getattr(torch, names[2]): data_type
            for data_type, names in TYPES.items()}
INDEX = re.compile(r".+__(\d+)")


def order_inputs(module, inputs):
    """Returns the inputs in the order of forward()'s arguments.

    A name is that of an argument, or NAME__<index>, as Ferry reads it.
    """
    parameters = [p for p in inspect.signature(module.forward).parameters
                  .values() if p.kind in (p.POSITIONAL_ONLY,
                                          p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in parameters]
    required = sum(p.default is p.empty for p in parameters)
    told = f"forward({', '.join(names)})"
    if not required <= len(inputs) <= len(names):
        raise ExportError(f"--input: {told} takes {required}" +
                          (f" to {len(names)}" if len(names) > required else "")
                          + f" tensors, got {len(inputs)}")
    places = {}
    for spec in inputs:
        index = INDEX.fullmatch(spec.name)
        place = names.index(spec.name) if spec.name in names else (
            int(index.group(1)) if index else len(names))
        if place >= len(inputs) or place in places:
            raise ExportError(
                f"--input {spec.name}: expected one of the first {len(inputs)} "
                f"arguments of {told}, or NAME__<index>, each once")
        places[place] = spec
    return [places[place] for place in range(len(inputs))]


def to_torch(specs, arrays, float_type=torch.float32):
    """Returns the tensors of forward(); floats in the type computed in."""
    return tuple(
        torch.from_numpy(arrays[spec.name].copy()).to(
            float_type if spec.is_float()
            else getattr(torch, TYPES[spec.type][2]))
        for spec in specs)


def named_outputs(given):
    """Returns tensors by name of what forward() gave."""
    if isinstance(given, torch.Tensor):
        given = {"output": given}
    elif isinstance(given, (tuple, list)):
        given = {f"output__{i}": value for i, value in enumerate(given)}
    if not isinstance(given, collections.abc.Mapping) or not given:
        raise ExportError("outputs: expected forward() to give a tensor, or a "
                          "tuple, list or dict of tensors, got "
                          f"{type(given).__name__}")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ExportError(f"outputs: expected '{name}' to be a tensor, got "
                              f"a {type(value).__name__}; write a forward() "
                              "that gives tensors only")
        if value.dtype not in BY_TORCH:
            raise ExportError(f"output '{name}': expected one of "
                              f"{', '.join(TYPES)}, got {value.dtype}")
    return dict(given)


@torch.inference_mode()
def call(module, specs, arrays):
    """Calls forward() in fp32 and returns its outputs by name."""
    try:
        given = module(*to_torch(specs, arrays))
    except Exception as error:
        shapes = ", ".join(f"{name} {list(array.shape)}"
                           for name, array in arrays.items())
        raise ExportError(f"forward() fails on {shapes}: {reason(error)}"
                          ) from error
    return named_outputs(given)


def find_outputs(command, module, specs):
    """Returns the TensorSpec of each output, in forward()'s order."""
    has_rows = command.has_rows()
    first = call(module, specs, samples.make(command, 2))
    other = first
    if has_rows or any(ANY_SIZE in spec.dims for spec in specs):
        size = samples.FREE_SIZE + 8
        arrays = samples.make(command, 3)
        if any(ANY_SIZE in spec.dims for spec in specs):
            arrays = resized(specs, arrays, size, has_rows)
        other = call(module, specs, arrays)
    check_wished(command.outputs, list(first))
    outputs = []
    for i, (name, value) in enumerate(first.items()):
        wished, data_type = (command.outputs[i] if command.outputs
                             else (name, None))
        dims = [a if a == b else ANY_SIZE
                for a, b in zip(value.shape, other[name].shape)]
        if has_rows:
            if not dims or (value.shape[0], other[name].shape[0]) != (2, 3):
                raise ExportError(
                    f"output '{wished}': expected a row for each row of the "
                    f"inputs, got {list(value.shape)} for 2 rows and "
                    f"{list(other[name].shape)} for 3 (--max-batch-size 0 is "
                    "for models without a batch dimension)")
            dims = dims[1:]
        outputs.append(TensorSpec(wished, wire_type(wished, value, data_type),
                                  tuple(dims)))
    return outputs


def resized(specs, arrays, size, has_rows):
    """Returns the arrays with every size that varies set to that one."""
    made = {}
    for spec in specs:
        array = arrays[spec.name]
        for axis, dim in enumerate(spec.dims, int(has_rows)):
            if dim == ANY_SIZE:
                array = array.take(range(size), axis, mode="wrap")
        made[spec.name] = array
    return made


def check_wished(wished, names):
    by_index = names == ["output"] or names[0] == "output__0"
    if not wished:
        return
    given = [name for name, _ in wished]
    if by_index and len(given) != len(names):
        raise ExportError(f"--output: forward() gives {len(names)} tensors, "
                          f"got {len(given)} names")
    if not by_index and given != names:
        raise ExportError("--output: forward() names its tensors itself: "
                          f"expected {', '.join(names)} in this order, got "
                          f"{', '.join(given)}")


def wire_type(name, value, wished):
    """Floats leave as FP32 unless asked for otherwise, the rest as it is."""
    found = BY_TORCH[value.dtype]
    if not value.is_floating_point():
        if wished not in (None, found):
            raise ExportError(f"--output {name}: forward() gives {found}, "
                              f"which is sent as it is, got {wished}")
        return found
    if wished is not None and not TensorSpec(name, wished, ()).is_float():
        raise ExportError(f"--output {name}: expected a float's type, got "
                          f"{wished}")
    return wished or "FP32"
