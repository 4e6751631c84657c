"""config.pbtxt, and the folder that Ferry serves.

A folder is made whole beside its place, under a name that Ferry passes over,
and put in place by one rename, so that a server that polls never sees half.
"""

import contextlib
import difflib
import json
import os
import pathlib
import shutil
import tempfile

from ferry_export.errors import ExportError
from ferry_export.tensors import TYPES

PLATFORMS = {"pt": "pytorch_libtorch", "pt2": "torch_aoti"}
FILES = {"pt": "model.pt", "pt2": "model.pt2"}


def tensor_text(spec):
    dims = ", ".join(map(str, spec.dims))
    return (f"  {{ name: {json.dumps(spec.name)} "
            f"data_type: {TYPES[spec.type][0]} dims: [ {dims} ] }}")


def parameter_text(key, value):
    return (f"parameters {{ key: \"{key}\" "
            f"value {{ string_value: \"{value}\" }} }}\n")


def sample_of(command, inputs, arrays):
    """Returns one row of --samples by input, which a load warms up with and
    compares; none where they are the exporter's own, or not as on the wire."""
    if command.samples is None or any(spec.type == "BF16" for spec in inputs):
        return {}
    return {spec.name: arrays[spec.name][0] if command.has_rows()
            else arrays[spec.name] for spec in inputs}


def sample_text(inputs, sample):
    text = "model_warmup {\n  name: \"row\" batch_size: 1\n"
    for index, spec in enumerate(inputs):
        dims = ", ".join(map(str, sample[spec.name].shape))
        text += (f"  inputs {{ key: {json.dumps(spec.name)} value {{ data_type: "
                 f"{TYPES[spec.type][0]} dims: [ {dims} ] "
                 f"input_data_file: \"row.{index}\" }} }}\n")
    return text + "}\n"


def write_sample(folder, inputs, sample):
    if sample:
        (folder / "warmup").mkdir()
    for index, spec in enumerate(inputs if sample else []):
        sample[spec.name].tofile(folder / "warmup" / f"row.{index}")


def config_text(command, inputs, outputs, sample=None):
    """Returns config.pbtxt; both sides in forward()'s order, by which Ferry
    finds the tensors of a package."""
    text = (f"# Written by scripts/export.sh from {command.source}.\n"
            f"name: \"{command.name}\"\n"
            "backend: \"pytorch\"\n"
            f"platform: \"{PLATFORMS[command.format]}\"\n"
            f"max_batch_size: {command.max_batch_size}\n")
    for side, specs in (("input", inputs), ("output", outputs)):
        tensors = ",\n".join(map(tensor_text, specs))
        text += f"{side} [\n{tensors}\n]\n"
    if command.max_batch_size > 0:
        text += "dynamic_batching {}\n"
    if command.format == "pt":
        # Compiled into a package, chosen when a TorchScript file is loaded.
        text += parameter_text("ferry.precision", command.dtype)
        if command.dtype == "bf16" and command.max_error is not None:
            text += parameter_text("ferry.precision_tolerance",
                                   command.max_error)
    if command.buckets:
        text += parameter_text("ferry.buckets",
                               ",".join(map(str, command.buckets)))
    if command.threads:
        text += parameter_text("ferry.threads", command.threads)
    if sample:
        text += sample_text(inputs, sample)
    return text


def check_place(command):
    """Fails where there is no place for this version of the model."""
    folder = command.folder()
    if (folder / str(command.version)).exists():
        raise ExportError(
            f"{folder / str(command.version)} exists: give another --version "
            "or --name, or remove it")
    if folder.exists() and not (folder / "config.pbtxt").is_file():
        raise ExportError(f"{folder} exists and holds no config.pbtxt: give "
                          "another --name, or remove it")


def check_same_config(command, text):
    """A new version is served by the config that is there."""
    path = command.folder() / "config.pbtxt"
    if not path.exists():
        return
    there = [line for line in path.read_text().splitlines()
             if line[:1] != "#"]
    here = [line for line in text.splitlines() if line[:1] != "#"]
    changed = [line for line in difflib.ndiff(there, here)
               if line[:2] in ("- ", "+ ")]
    if changed:
        raise ExportError(
            f"{path} is another config than this version needs; versions of a "
            "model share one. What differs: " + "; ".join(changed))


@contextlib.contextmanager
def staged_repository(command, config):
    """Gives a repository with config.pbtxt and an empty version folder."""
    command.repository.mkdir(parents=True, exist_ok=True)
    stage = pathlib.Path(tempfile.mkdtemp(prefix=".export-",
                                          dir=command.repository))
    try:
        folder = stage / command.name
        (folder / str(command.version)).mkdir(parents=True)
        (folder / "config.pbtxt").write_text(config)
        folder.chmod(0o755)
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def put_in_place(command, stage):
    """Moves the staged folder, or its version, to where Ferry serves it."""
    folder = command.folder()
    check_place(command)
    made = stage / command.name
    for file in made.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                os.fsync(stream.fileno())  # on the disk before it has its name
    if folder.exists():
        (made / str(command.version)).rename(folder / str(command.version))
    else:
        made.rename(folder)
