"""A module from an import path or a file, and its weights from a checkpoint."""

import fnmatch
import importlib
import importlib.util
import pathlib
import sys

import torch

from ferry_export.errors import ExportError, reason

MAX_KEYS_NAMED = 4


def find(source, option="MODULE"):
    """Returns what stands under that name in a module or a file."""
    path, _, name = source.rpartition(":")
    try:
        module = load_file(path) if path.endswith(".py") else (
            importlib.import_module(path))
    except FileNotFoundError as error:
        raise ExportError(f"{option}: {error}") from None
    except Exception as error:  # the user's code, which may raise anything
        raise ExportError(f"{option}: '{path}' cannot be imported: "
                          f"{reason(error)}") from error
    if not hasattr(module, name):
        names = [n for n in vars(module) if not n.startswith("_")]
        raise ExportError(f"{option}: '{path}' has no '{name}'; it has "
                          f"{', '.join(names)}")
    return getattr(module, name)


def load_file(path):
    """Imports a file by its own name, with its neighbours within reach."""
    file = pathlib.Path(path).resolve()
    name = f"ferry_exported_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def build(command):
    """Returns the module in fp32, in evaluation, with its weights."""
    made = find(command.source)
    if not isinstance(made, torch.nn.Module):
        if not callable(made):
            raise ExportError(f"MODULE: expected a class, a function or a "
                              f"module, '{command.source}' is a "
                              f"{type(made).__name__}")
        try:
            made = made(**command.arguments)
        except Exception as error:
            raise ExportError(f"MODULE: '{command.source}' with the arguments "
                              f"{command.arguments}: {reason(error)}"
                              ) from error
    if not isinstance(made, torch.nn.Module):
        raise ExportError(f"MODULE: expected '{command.source}' to give a "
                          f"torch.nn.Module, got a {type(made).__name__}")
    if command.weights is not None:
        load_weights(made, command.weights)
    return made.float().eval().requires_grad_(False)


def load_weights(module, path):
    """Loads a checkpoint whose keys are the module's, all of them."""
    state = read_checkpoint(path)
    # A module may name keys that are published with its weights and serve
    # nothing here.
    unused = getattr(module, "unused_weights", ())
    state = {key: value for key, value in state.items()
             if not any(fnmatch.fnmatch(key, pattern) for pattern in unused)}
    try:
        missing, unexpected = module.load_state_dict(state, strict=False)
    except RuntimeError as error:  # sizes that differ, one a line
        lines = str(error).splitlines()
        raise ExportError(f"--weights {path}: " +
                          " ".join(lines[-1].split())) from None
    found = [f"{word} {some(keys)}" for word, keys in
             (("it lacks", missing), ("the module lacks", unexpected)) if keys]
    if found:
        raise ExportError(f"--weights {path}: expected the module's keys; " +
                          "; ".join(found))


def some(keys):
    named = ", ".join(f"'{key}'" for key in keys[:MAX_KEYS_NAMED])
    more = len(keys) - MAX_KEYS_NAMED
    return named + (f" and {more} more" if more > 0 else "")


def read_checkpoint(path):
    """Returns tensors by name; runs no code of the file."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file as load_safetensors
            return load_safetensors(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ExportError(f"--weights {path}: expected a state dict of "
                          f"tensors (torch.save(module.state_dict())) or a "
                          f".safetensors file: {reason(error)}") from error
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]  # of a training checkpoint
    if not isinstance(state, dict) or not all(
            isinstance(value, torch.Tensor) for value in state.values()):
        raise ExportError(f"--weights {path}: expected a dict of tensors by "
                          f"name, got {type(state).__name__}")
    return state
