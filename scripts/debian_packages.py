"""debian_packages.py asks dpkg which packages are installed, and whose a file is.

Errors: where there is no dpkg nothing is installed, and no file is a package's.
"""

import dataclasses
import os
import subprocess


@dataclasses.dataclass(frozen=True, order=True)
class Package:
    """A package as installed, and the source package that it was built from."""

    name: str
    version: str
    architecture: str
    source: str


def _ask(*arguments):
    """Returns what dpkg-query prints; of several names some may be unknown."""
    try:
        return subprocess.run(["dpkg-query", *arguments], text=True,
                              capture_output=True, check=False).stdout
    except FileNotFoundError:
        return ""


def installed(names):
    """Returns the Package of each name that is installed, by name."""
    told = _ask("-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\t"
                "${Architecture}\t${source:Package}\n", *names) if names else ""
    packages = [Package(*line.split("\t")[1:]) for line in told.splitlines()
                if line.startswith("ii")]
    return {package.name: package for package in packages}


def owners(paths):
    """Returns the Package of each file that is one's, by the path as given."""
    # dpkg may know a file under /lib by its path under /usr, and the reverse.
    spelled = {}
    for path in paths:
        real = os.path.realpath(path)
        for one in {real, real.removeprefix("/usr"), f"/usr{real}"}:
            spelled.setdefault(one, []).append(path)
    names = {}
    for line in _ask("-S", *spelled).splitlines() if spelled else ():
        name, _, path = line.partition(": ")
        for given in spelled.get(path, ()):
            names[given] = name.split(":")[0]
    packages = installed(sorted(set(names.values())))
    return {path: packages[name] for path, name in names.items()}
