"""Makes small.pt2 and checked.pt2, the AOTInductor packages that the tests serve.

Usage: make_package.py [FOLDER]

Needs all of torch (scripts/setup.sh --full) and g++. Torch compiles for the
processor it runs on; here a compiler's wrapper takes that back, so that the
package runs on every x86-64 processor, and leaves out symbols and inlining, so
that it is small enough to keep. What it computes is written below and checked
against the eager module; tests/models/torch/aoti/aoti_network_test.cc does it once more.
"""

import os
import pathlib
import stat
import sys
import tempfile
import zipfile

COMPILER = """#!/bin/sh
# g++ for any x86-64 processor, for size.
for argument; do
  shift
  case $argument in
    -march=native) set -- "$@" -march=x86-64 ;;
    -O*) set -- "$@" -Os ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec g++ "$@" -s
"""


def main():
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                          pathlib.Path(__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        compiler = pathlib.Path(folder, "g++-any")
        compiler.write_text(COMPILER)
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        os.environ["CXX"] = str(compiler)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        for name, make in (("small", make_small), ("checked", make_checked)):
            file = target / f"{name}.pt2"
            compress(make(os.path.join(folder, file.name)), file)
            print(f"{file}: {file.stat().st_size} bytes")


def make_small(path):
    import torch
    from torch import nn

    class Small(nn.Module):
        """y = relu(x W' + b), and beside it, nested, sums of rows and k + 1."""

        def __init__(self):
            super().__init__()
            weight = torch.arange(12, dtype=torch.float32).reshape(4, 3) / 8
            self.weight = nn.Parameter(weight - 0.5)
            self.bias = nn.Parameter(torch.arange(4, dtype=torch.float32) / 4)

        def forward(self, x, *, k):
            y = torch.relu(nn.functional.linear(x, self.weight, self.bias))
            return {"y": y, "z": (x.sum(1, keepdim=True), k + 1)}

    module = Small().eval()
    rows = torch.export.Dim("rows", min=1, max=8)
    package(module, path, (torch.ones(2, 3),),
            {"k": torch.ones(2, 1, dtype=torch.int64)},
            {"x": {0: rows}, "k": {0: rows}})
    check(torch, module, torch._inductor.aoti_load_package(path))
    return path


def make_checked(path):
    import torch
    from torch import nn

    class Checked(nn.Module):
        """y = table[i] + max(n) + n / d, where each input has a way to fail a
        batch: i is an index of 10, ok is asserted, max(n) is checked and is
        a size in memory, d divides."""

        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.arange(10.0).reshape(10, 1))

        def forward(self, i, ok, n, d):
            torch.ops.aten._assert_async.msg((ok > 0).all(), "ok")
            size = n.max().item()
            torch._check(size >= 1)
            torch._check(size != 13)
            down = torch.sort(torch.arange(size), descending=True).values
            share = torch.div(n, d, rounding_mode="trunc")
            return self.table[i.squeeze(1)] + down[0] + 1 + share

    rows = torch.export.Dim("rows", min=1, max=8)
    package(Checked().eval(), path, tuple(
        torch.ones(2, 1, dtype=torch.int64) for _ in range(4)), None,
            {name: {0: rows} for name in ("i", "ok", "n", "d")})
    return path


def package(module, path, arguments, keywords, dynamic_shapes):
    import torch
    program = torch.export.export(module, arguments, keywords,
                                  dynamic_shapes=dynamic_shapes)
    torch._inductor.aoti_compile_and_package(
        program, package_path=path, inductor_configs={
            "cpp.simdlen": 1, "cpp.threads": 1})


def check(torch, module, loaded):
    for rows in (1, 2, 8):
        x = torch.randn(rows, 3)
        k = torch.arange(rows).reshape(rows, 1)
        expected, found = module(x, k=k), loaded(x, k=k)
        torch.testing.assert_close(found, expected)


def compress(package, target):
    """Copies the archive with its files deflated and times left out."""
    with zipfile.ZipFile(package) as source, \
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in source.infolist():
            if entry.filename.endswith("kernel.cpp"):
                continue  # the library has it compiled
            copy.writestr(zipfile.ZipInfo(entry.filename), source.read(entry),
                          zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
