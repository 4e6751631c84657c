"""debian_versions.py compares Debian's packages here with requirements/debian-versions.txt.

  scripts/debian_versions.py                  says what differs; 1 where something does
  scripts/debian_versions.py --write BUILD    records anew: what requirements/apt.txt
                                              lists, and what the programs of the
                                              build tree BUILD link

A difference is no error: a security update is one.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import debian_packages

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = ROOT / "requirements" / "debian-versions.txt"
HEADER = """\
# Versions of Debian's packages with which Ferry was last built and tested: what
# apt.txt lists, and what the programs link. scripts/setup.sh says what differs;
# scripts/debian_versions.py --write records anew.

"""
MOST_LINES = 20


def entries(text):
    """Returns the words of each line, without comments."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [words for words in lines if words]


def differences(recorded, here):
    """Returns a line for each package that is not here as it was recorded."""
    return [f"{name}: recorded {version}, installed {here.get(name, 'none')}"
            for name, version in sorted(recorded.items())
            if here.get(name) != version]


def linked(build):
    """Returns the names of the packages that programs of a build tree link."""
    files = [path for folder, pattern in (("bin", "ferry-*"),
                                          ("lib", "libferry_*.so"))
             for path in (build / folder).glob(pattern)]
    told = subprocess.run(["ldd", *files], text=True, capture_output=True,
                          check=True).stdout
    paths = sorted(set(re.findall(r"(?:=> |^\s+)(/\S+) \(", told, re.M)))
    return {package.name for package in debian_packages.owners(paths).values()}


def versions(names):
    return {package.name: package.version for package in
            debian_packages.installed(sorted(names)).values()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", metavar="BUILD", type=pathlib.Path)
    build = parser.parse_args().write
    if build:
        listed = {words[0] for words in
                  entries((ROOT / "requirements" / "apt.txt").read_text())}
        # g++ only names the compiler's own package.
        compiler = {package.name for package in
                    debian_packages.owners(["/usr/bin/g++"]).values()}
        names = listed | compiler | linked(build)
        lines = [f"{name} {version}\n"
                 for name, version in sorted(versions(names).items())]
        RECORD.write_text(HEADER + "".join(lines))
        return 0
    recorded = dict(entries(RECORD.read_text()))
    found = differences(recorded, versions(recorded))
    for line in found[:MOST_LINES]:
        print(line)
    if found:
        print(f"{len(found)} of {len(recorded)} packages of Debian have another "
              "version than the one that was last tested")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
