"""AOTInductor packages of the networks, compiled on this machine, as a package is
for one kind of device: by the exporter and the examples of the bundle.

Errors: Skip where this Python or machine cannot compile one; Wrong.
"""

import os
import pathlib
import shutil
import sys

from programs import run
from steps import Skip

COMPILE_S, IMPORT_S = 400, 120  # at most
# A class or function of export/examples/, and the tensors of its forward().
SOURCES = {
    "resnet50": ("resnet50.py:resnet50", ["x:FP32:-1,3,224,224"]),
    "encoder": ("minilm.py:MiniLm", ["input_ids:INT64:-1,128",
                                     "attention_mask:INT64:-1,128"]),
}
# torchvision has the ResNet-50; Triton makes kernels for a device.
MODULES = {"resnet50": ["torchvision"], "encoder": []}
# AOTInductor compiles and links with it.
TOOLKIT = """
import os
from torch.utils.cpp_extension import CUDA_HOME
if CUDA_HOME is None or not os.path.exists(f"{CUDA_HOME}/include/cuda.h"):
    raise SystemExit(f"no CUDA toolkit with include/cuda.h: {CUDA_HOME}")
"""


def need(check, name, on_cpu):
    """Skips where nothing here compiles packages."""
    if not (check.home / "export").is_dir():
        raise Skip("the bundle has no export/")
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise Skip(f"no {compiler}, with which AOTInductor compiles")
    modules = ["torch", "numpy", *MODULES.get(name, ()), *([] if on_cpu else ["triton"])]
    tried = "import " + ", ".join(modules)
    if not on_cpu:
        tried += TOOLKIT
    ended = run([sys.executable, "-B", "-c", tried], IMPORT_S,
                environment(check))
    if ended.code != 0 or ended.is_late:
        raise Skip(ended.last_line)


def environment(check):
    return {"PYTHONPATH": os.pathsep.join(
        [str(check.torch.parent), str(check.home / "export")])}


def compile_package(check, kept, name, on_cpu, most_rows, repository):
    """Returns the model's folder; what the exporter says goes to `kept`."""
    source, inputs = SOURCES[name]
    return compile_module(check, kept,
                          check.home / "export" / "examples" / source, inputs,
                          name, on_cpu, most_rows, repository)


def compile_module(check, kept, source, inputs, name, on_cpu, most_rows,
                   repository, flags=()):
    """The same of any source and tensors."""
    command = [sys.executable, "-B", "-m", "ferry_export", source, "--format",
               "pt2", "--device", "cpu" if on_cpu else "cuda", "--no-check",
               "--max-batch-size", most_rows, "--repository", repository,
               "--name", name, *flags]
    for tensor in inputs:
        command += ["--input", tensor]
    visible = {} if on_cpu else check.visible
    caches = {"TORCHINDUCTOR_CACHE_DIR": f"{repository}/.inductor",
              "TRITON_CACHE_DIR": f"{repository}/.triton"}
    ended = run(command, COMPILE_S,
                {**environment(check), **visible, **caches})
    kept["output"] = ended.tail
    ended.require_success()
    return pathlib.Path(repository) / name
