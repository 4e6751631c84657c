"""A module as an AOTInductor package (.pt2), compiled for this processor, or for
this machine's GPU.

Weights are laid out for the matrix kernels at compile time ("freezing"), which
needs gradients to be off. The code that torch generates for a processor has one
thread: in a parallel region of OpenMP a check that a request fails, of an index
say, would end the server. LibTorch's matrix kernels have the server's threads.
"""

import contextlib
import io
import logging
import os
import pathlib
import re
import warnings
import zipfile

import torch

from ferry_export import interface, samples
from ferry_export.errors import ExportError, reason
from ferry_export.tensors import ANY_SIZE
from ferry_export.torch_script import TYPES

# On a GPU convolutions of a dynamic batch would keep their channels first, unless
# it is forced.
SETTINGS = {"cpu": {"freezing": True, "cpp.threads": 1,
                    "cpp.dynamic_threads": False},
            "cuda": {"freezing": True, "force_layout_optimization": True}}
TOLD_CHARACTERS = 4000  # of a compiler's words
# A compiler makes use of these flags of /proc/cpuinfo by itself: not of what
# only some makers have (sse4a, vp2intersect).
COMPILED_FOR = re.compile(
    r"sse[234](_[12])?|sse|ssse3|avx(?!512_vp2intersect)\w*|amx\w*|fma|f16c|"
    r"bmi[12]|abm|movbe|popcnt")
CPU_INFO = pathlib.Path("/proc/cpuinfo")


def check_device(device):
    """Fails where torch has not the device that a package is compiled on, or
    not what it compiles with; tells torch where that is."""
    if device != "cuda":
        return
    if not torch.cuda.is_available():
        raise ExportError("--device cuda: expected a GPU that torch sees, got "
                          "none: a package is compiled where it will run")
    from torch.utils import cpp_extension
    home = cpp_extension.CUDA_HOME
    if home is None or not pathlib.Path(home, "include", "cuda.h").is_file():
        raise ExportError("--device cuda: expected a CUDA toolkit with "
                          f"include/cuda.h, got {home}: set CUDA_HOME")
    # Where it is not set, torch does not link by the toolkit's libcuda.so.
    os.environ.setdefault("CUDA_HOME", home)


def write(command, module, specs, path):
    """Writes the package, or beside `path` one for each bucket; `module` is
    cast, or quantized, in place."""
    if command.dtype == "int8":
        from ferry_export import int8
        module = int8.quantize(module, command.int8)
        float_type, settings = torch.bfloat16, int8.SETTINGS[command.int8]
    else:
        float_type, settings = TYPES[command.dtype], {}
        module = module.to(float_type)
    module = module.to(command.device)
    settings = {**SETTINGS[command.device], **settings, "aot_inductor.metadata":
                {"FERRY_CPU_FLAGS": cpu_flags(CPU_INFO.read_text())}}
    for file, fixed in files(command, path).items():
        rows = tuple(row.to(command.device) for row in interface.to_torch(
            specs, samples.make(command, fixed or 2), float_type))
        with quiet(), torch.no_grad():
            program = export(command, module, rows, specs, fixed)
            try:
                torch._inductor.aoti_compile_and_package(
                    program, package_path=str(file), inductor_configs=settings)
            except Exception as error:
                raise ExportError("AOTInductor cannot compile this module: "
                                  f"{reason(error)}; the end of what it says:\n"
                                  f"{str(error)[-TOLD_CHARACTERS:]}"
                                  ) from error


def files(command, path):
    """Returns the row count of each package by its file, None: any."""
    if not command.package_per_bucket:
        return {path: 1 if command.max_batch_size == 1 else None}
    return {path.with_name(f"{path.stem}_b{rows}{path.suffix}"): rows
            for rows in command.buckets}


def bounds(package, specs, has_rows):
    """Yields (name of the input, place in a row's dims, largest size) where torch's
    compiler bounds a size that varies, as where it sums over it. The source that
    the package carries has them, as checks of the inputs."""
    with zipfile.ZipFile(package) as archive:
        source = "".join(archive.read(entry).decode()
                         for entry in archive.namelist()
                         if entry.endswith(".wrapper.cpp"))
    names = re.findall(r'inputs_info_\[\d+\]\.name = "(\w+)"', source)
    for name, spec in zip(names, specs):
        for at, largest in re.findall(
                rf"\b{name}_size\[(\d+)\] > (\d+)\)", source):
            place = int(at) - int(has_rows)
            if place >= 0 and spec.dims[place] == ANY_SIZE:
                yield spec.name, place, int(largest)


def cpu_flags(cpu_info):
    """Returns those that the package may use: torch lets the compiler use all
    that this processor has, and notes only a part of it."""
    line = next((line for line in cpu_info.splitlines()
                 if line.startswith("flags")), ":")
    return " ".join(sorted(filter(COMPILED_FOR.fullmatch,
                                  line.partition(":")[2].split())))


def export(command, module, rows, specs, fixed):
    """Returns the exported program; its batch is dynamic, or of `fixed` rows."""
    batch = None
    if command.has_rows() and not fixed:
        batch = torch.export.Dim("batch", min=1, max=command.max_batch_size)
    shapes = []
    for spec in specs:
        dims = [torch.export.Dim.AUTO if dim == ANY_SIZE else None
                for dim in spec.dims]
        dims = [batch, *dims] if command.has_rows() else dims
        shapes.append(dict(enumerate(dims)))
    try:
        program = torch.export.export(module, rows,
                                      dynamic_shapes=tuple(shapes))
    except Exception as error:
        raise ExportError("torch.export cannot take this module: "
                          f"{reason(error)}") from error
    check_sizes_vary(program, command, specs)
    drop_type_checks(program)
    return program


def drop_type_checks(program):
    """What torch.export asserts of casts hides patterns from the compiler that
    it has kernels for."""
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)
    program.graph_module.recompile()


def check_sizes_vary(program, command, specs):
    """A size that the module fixes must be fixed in the config."""
    placeholders = {node.name: node.meta["val"].shape
                    for node in program.graph.nodes if node.op == "placeholder"}
    for spec, name in zip(specs, program.graph_signature.user_inputs):
        sizes = placeholders[name][int(command.has_rows()):]
        for expected, found in zip(spec.dims, sizes):
            if expected == ANY_SIZE and isinstance(found, int):
                raise ExportError(f"--input {spec.name}: the module works for "
                                  f"the size {found} only where -1 was given")


@contextlib.contextmanager
def quiet():
    """Keeps torch's compilers from talking; errors are raised."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
