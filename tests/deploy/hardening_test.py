"""What is installed is hardened: read from the ELF files that an installation has,
and from how each of their sources was compiled."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from tools import ROOT

BUILD = pathlib.Path(os.environ["FERRY_SERVER"]).parents[1]
IS_DEBUG = "CMAKE_BUILD_TYPE:STRING=Debug" in (
    BUILD / "CMakeCache.txt").read_text()
# It links torch for others and has no code.
EMPTY = {"libferry_libtorch.so"}
FLAGS = ("-fstack-protector-strong", "-D_GLIBCXX_ASSERTIONS",
         *(() if IS_DEBUG else ("-D_FORTIFY_SOURCE=3",)))
FOLDERS = ("base", "tensor", "batcher", "flags", "models", "server", "bench",
           "deploy")


def lacks(path, has_code=True):
    """Returns what an ELF file lacks, each in a few words."""
    told = subprocess.run(["readelf", "-hldW", "--dyn-syms", path], text=True,
                          capture_output=True, check=True).stdout
    imports = set(re.findall(r"\bUND (\w+)", told))
    segments = dict(re.findall(
        r"^ +(GNU_\w+) .* (\S[RWE ]{0,2}) +0x\w+$", told, re.M))
    dynamic = re.findall(r"\((FLAGS(?:_1)?)\)\s+(?:Flags: )?(.*)", told)
    flags = {word for _, words in dynamic for word in words.split()}
    runpath = "".join(re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", told))
    found = []
    if not re.search(r"Type:\s+DYN", told) or not (
            ".so" in path.name or "PIE" in flags):
        found.append("position independence")
    if "GNU_RELRO" not in segments:
        found.append("relro")
    if not flags & {"BIND_NOW", "NOW"}:
        found.append("binding at the start")
    if "E" in segments.get("GNU_STACK", "E"):
        found.append("a stack that is not executable")
    if "TEXTREL" in told:
        found.append("code without relocations")
    # An empty one is the current folder.
    if runpath and not all(folder.startswith(("$ORIGIN", "/"))
                           for folder in runpath.split(":")):
        found.append("a run path of known folders")
    if has_code:
        if "__stack_chk_fail" not in imports:
            found.append("stack protector")
        if "_ZSt21__glibcxx_assert_failPKciS0_S0_" not in imports:
            found.append("assertions of libstdc++")
        if not IS_DEBUG and not any(
                re.fullmatch(r"__(?!stack)\w+_chk", name) for name in imports):
            found.append("FORTIFY")
    return found


class InstalledTest(unittest.TestCase):

    def test_each_installed_file_is_hardened(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["cmake", "--install", BUILD, "--prefix", folder], text=True,
                capture_output=True, check=False)
            self.assertEqual(done.returncode, 0,
                             f"{done.stderr}\nbuild all of {BUILD} first")
            files = [path for path in sorted(pathlib.Path(folder).rglob("*"))
                     if path.is_file() and
                     path.read_bytes()[:4] == b"\x7fELF"]
            self.assertLessEqual(
                {"ferry-server", "ferry-launch", "ferry-forward",
                 "libferry_torch.so"}, {path.name for path in files})
            for path in files:
                with self.subTest(path.name):
                    self.assertEqual(
                        lacks(path, has_code=path.name not in EMPTY), [])

    def test_each_source_is_compiled_with_it(self):
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        seen = 0
        for entry in commands:
            path = pathlib.Path(entry["file"])
            path = (path.relative_to(BUILD) if path.is_relative_to(BUILD)
                    else path.relative_to(ROOT))
            # Headers that are compiled alone become part of nothing.
            if (path.parts[0] not in (*FOLDERS, "gen") or
                    "_verify_interface_header_sets" in str(path)):
                continue
            seen += 1
            words = entry["command"].split()
            self.assertEqual([flag for flag in FLAGS if flag not in words], [],
                             f"{path} is compiled without")
            self.assertEqual([word for word in words if word.startswith(
                ("-U_FORTIFY", "-U_GLIBCXX", "-fno-stack-protector"))], [], path)
        self.assertGreater(seen, 100)


class LacksTest(unittest.TestCase):
    """What is not hardened is found."""

    def compile(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.cc"
            source.write_text(
                "#include <cstdio>\n#include <vector>\n#include <cstring>\n"
                "int main(int n, char** words) {\n"
                "  char copy[8]; std::vector<int> all(n);\n"
                "  strcpy(copy, words[0]); puts(copy); return all[n]; }\n")
            program = source.with_suffix("")
            subprocess.run(["g++", "-O2", "-w", source, "-o", program, *flags],
                           check=True)
            return lacks(program)

    def test_hardened_program_lacks_nothing(self):
        self.assertEqual(self.compile(
            "-fPIE", "-pie", "-Wl,-z,relro,-z,now", "-fstack-protector-strong",
            "-D_FORTIFY_SOURCE=3", "-D_GLIBCXX_ASSERTIONS",
            "-Wl,-rpath,$ORIGIN/../lib"), [])

    def test_plain_program_lacks_all(self):
        self.assertEqual(self.compile(
            "-no-pie", "-fno-pie", "-Wl,-z,norelro,-z,lazy,-z,execstack",
            "-fno-stack-protector", "-U_FORTIFY_SOURCE",
            "-Wl,-rpath,$ORIGIN/../lib:"),
            ["position independence", "relro", "binding at the start",
             "a stack that is not executable", "a run path of known folders",
             "stack protector", "assertions of libstdc++", "FORTIFY"])


if __name__ == "__main__":
    unittest.main()
