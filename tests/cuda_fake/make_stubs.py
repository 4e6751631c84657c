"""Writes a C++ file of functions that do nothing, one for each that LibTorch's
libraries take from a library of CUDA and the given objects do not define.

    make_stubs.py --library libcublas.so.13 --code 15 --out stubs.cc
        [--prefix cublas] [--objects A.o B.o --] IMPORTING.so ...

Their names have the library's version; those of a library without versions begin
with the prefix. Each function tells its name to FerryFakeStub() and returns the
code, an error of that library.
"""

import argparse
import re
import subprocess


def symbols(path, *flags):
    """Returns the names that nm lists, with '@VERSION' where they have one."""
    listed = subprocess.run(["nm", *flags, path], text=True, check=True,
                            capture_output=True).stdout
    return [line.split()[-1] for line in listed.splitlines() if line.split()]


def imported(libraries, version, prefix):
    names = set()
    for library in libraries:
        for symbol in symbols(library, "-D", "--undefined-only"):
            name, _, of = symbol.partition("@")
            if of == version or (prefix and not of and
                                 name.startswith(prefix)):
                names.add(name)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--version", help="of its names; default: the library")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--code", required=True, type=int)
    parser.add_argument("--out", required=True)
    parser.add_argument("--objects", nargs="*", default=[])
    parser.add_argument("libraries", nargs="+")
    options = parser.parse_args()
    wanted = imported(options.libraries, options.version or options.library,
                      options.prefix)
    defined = {name for path in options.objects
               for name in symbols(path, "--defined-only", "--extern-only")}
    missing = sorted(wanted - defined)
    for name in missing:
        assert re.fullmatch(r"\w+", name), name
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(f"// {options.library}: written by make_stubs.py.\n"
                   'extern "C" {\n'
                   "int FerryFakeStub(const char* name, int code);\n")
        for name in missing:
            file.write(f"int {name}();\n"
                       f'int {name}() {{ return FerryFakeStub("{name}", '
                       f"{options.code}); }}\n")
        file.write("}\n")


if __name__ == "__main__":
    main()
