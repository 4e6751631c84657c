"""Every function of CUDA's libraries that LibTorch imports is there in the fake:
played, or a stub that tells its name. Run by itself with --table, it prints how
many of each library are which."""

import collections
import glob
import os
import re
import subprocess
import sys
import unittest

from fake_server import has_fake

CUDA = r"lib(cu|nv|nccl)\S*|NVSHMEM"  # versions of names
# Names without a version: of libraries that have none.
UNVERSIONED = r"cu[A-Z]\w+|cuda\w+|(cusparseLt|curand|nccl|nvshmem)\w+"
IMPORTING = ("c10_cuda", "torch_cuda", "torch_nvshmem", "caffe2_nvrtc")


def symbols(path, which):
    listed = subprocess.run(["nm", "-D", which, path], text=True, check=True,
                            capture_output=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line.split()}


def imported():
    folder, = glob.glob(os.path.join(
        os.path.dirname(__file__),
        "../../.venv/lib/python3*/site-packages/torch/lib"))
    found = set()
    libraries = [f"{folder}/lib{library}.so" for library in IMPORTING]
    libraries.append(os.path.join(os.environ["FERRY_CUDA_FOLDER"],
                                  "libferry_cuda.so"))
    for library in libraries:
        for symbol in symbols(library, "--undefined-only"):
            name, _, version = symbol.partition("@")
            if re.fullmatch(CUDA, version.lstrip("@")) or (
                    not version and re.fullmatch(UNVERSIONED, name)):
                found.add(name)
    return found


def defined():
    """Returns the library of each name of the fake."""
    folder = os.environ["FERRY_FAKE_CUDA_FOLDER"]
    return {symbol.split("@")[0]: os.path.basename(path)
            for path in sorted(glob.glob(f"{folder}/lib*"))
            for symbol in symbols(path, "--defined-only")}


def stubs():
    folder = os.path.dirname(os.environ["FERRY_FAKE_CUDA_FOLDER"])
    names = set()
    for path in glob.glob(f"{folder}/*_stubs.cc"):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"^int (\w+)\(\) \{", file.read(), re.M))
    return names


@unittest.skipUnless(has_fake(), "no fake CUDA was built: scripts/build.sh cuda "
                     "ferry_cuda_fake")
class ImportsTest(unittest.TestCase):

    def test_no_function_is_missing(self):
        names = imported()
        self.assertGreater(len(names), 300)
        self.assertEqual(names - set(defined()), set())


def table():
    counts = collections.defaultdict(lambda: [0, 0])
    libraries, empty = defined(), stubs()
    for name in imported():
        counts[libraries[name]][name in empty] += 1
    print("| library | played | stubs |\n| --- | --- | --- |")
    for library, (played, stub) in sorted(counts.items()):
        print(f"| `{library}` | {played} | {stub} |")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
    else:
        unittest.main()
