"""sbom.py writes the bill of materials of a bundle, CycloneDX 1.5 as JSON.

  scripts/sbom.py BUNDLE --torch DIR --version V --commit C --time SECONDS >FILE

BUNDLE   the folder that scripts/bundle.sh fills, with libexec/ and lib/
--torch  the torch/ folder that it was built with
--time   of the commit, since the epoch

A component is a program or library of ours, or a package of Debian or a wheel with
those of its files that are linked, each with its SHA-256. Those that a bundle
leaves to the machine, glibc and torch, have the path and hash of the machine that
made it. The same bundle gives the same bytes.

A library that torch alone needs and that is not there has its name only.

Errors: exits 1 where another linked library is not found, or one is no package's or
is not what the package has.
"""

import argparse
import collections
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

import debian_packages

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "ferry.invalid")
# Provided by the kernel; no file.
KERNEL = "linux-vdso.so.1"


def fail(text):
    sys.exit(f"sbom: error: {text}")


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def quoted(text):
    return urllib.parse.quote(text, safe=".-~:")


def needed(path):
    """Returns the names of the libraries that an ELF file is linked with."""
    told = subprocess.run(["readelf", "-dW", path], text=True,
                          capture_output=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", told)


def loaded(path, folders):
    """Returns the path of each library that the loader opens for a file, by name."""
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, folders)))
    told = subprocess.run(["ldd", path], text=True, capture_output=True,
                          env=environment, check=True).stdout
    found = {name: os.path.normpath(path) for name, path in
             re.findall(r"^\s+(\S+) => (/\S+) \(", told, re.M)}
    for loader in re.findall(r"^\s+(/\S+) \(", told, re.M):
        found[os.path.basename(loader)] = loader
    return found


def wheels(site):
    """Returns (name, version) of the wheel of each file below a site-packages."""
    return {f"{site}/{file}": (of.name, of.version)
            for of in importlib.metadata.distributions(path=[str(site)])
            for file in of.files or () if ".so" in file.name}


def debian_copies(names):
    """Returns the path at which a package of Debian has a library, by its name."""
    told = subprocess.run(["dpkg-query", "-S", *(f"*/{name}" for name in names)],
                          text=True, capture_output=True, check=False).stdout
    paths = (line.partition(": ")[2] for line in told.splitlines())
    # The loader's folders, not those of other programs' own copies.
    return {os.path.basename(path): path for path in paths if re.fullmatch(
        r"(/usr)?/lib(/[^/]+-linux-gnu)?/[^/]+", path)}


class Bill:
    """The components of one bundle, and what each needs."""

    def __init__(self, bundle, torch):
        self.bundle = bundle
        self.torch = torch
        site = torch.parent
        # The order of deploy/bundle/run.sh: what the bundle has comes first.
        self.folders = [bundle / "lib", torch / "lib",
                        *sorted(site.glob("nvidia/*/lib"))]
        self.wheels = wheels(site)
        self.components = {}  # by bom-ref
        self.uses = collections.defaultdict(set)  # bom-ref: those it needs
        # Our programs and libraries, by name.
        self.own = {path.name: path for path in sorted(
            [*(bundle / "libexec").iterdir(),
             *(bundle / "lib").glob("libferry_*.so")])}

    def build(self, version):
        paths = {}  # of each library that is not ours, by name
        for file in self.own.values():
            for name, path in loaded(file, self.folders).items():
                if name not in self.own:
                    paths.setdefault(name, path)
        packages = self.packages(paths)
        refs = {name: self.add_library(name, path, packages)
                for name, path in sorted(paths.items())}
        refs.update({name: self.add_own(file, version)
                     for name, file in self.own.items()})
        for name, path in {**paths, **self.own}.items():
            for other in needed(path):
                if other == KERNEL:
                    continue
                # What torch needs of CUDA is there with a device only.
                if other not in refs and not self.in_bundle(path):
                    refs[other] = self.add_absent(other)
                if other not in refs:
                    fail(f"expected {other}, which {path} needs, among what the "
                         "loader finds; it is not there: install it, or give "
                         "--torch the torch/ folder of the build")
                if refs[other] != refs[name]:
                    self.uses[refs[name]].add(refs[other])

    def in_bundle(self, path):
        """Returns a path within the bundle, or None."""
        path = pathlib.Path(path)
        return (str(path.relative_to(self.bundle))
                if path.is_relative_to(self.bundle) else None)

    def packages(self, paths):
        """Returns the package of each library that is one's, by name."""
        copied = [name for name, path in paths.items() if self.in_bundle(path)]
        where = {**paths, **debian_copies(copied)}
        of = debian_packages.owners(sorted(set(where.values())))
        for name in copied:
            copy = where[name]
            if copy in of and sha256(copy) != sha256(paths[name]):
                fail(f"expected {paths[name]} to be {copy} of Debian, found another "
                     "file; make the bundle anew")
        return {name: of[copy] for name, copy in where.items() if copy in of}

    def add_own(self, file, version):
        """Adds a program or library of ours, and returns its ref."""
        ref = self.in_bundle(file)
        self.components[ref] = {
            "type": "library" if ".so" in file.name else "application",
            "bom-ref": ref, "name": file.name, "version": version,
            "hashes": [{"alg": "SHA-256", "content": sha256(file)}],
        }
        return ref

    def add_library(self, name, path, packages):
        """Adds a file to its package's component, and returns that one's ref."""
        inside = self.in_bundle(path)
        package = packages.get(name)
        wheel = self.wheels.get(os.path.realpath(path))
        properties = []
        if package:
            title, version = package.name, package.version
            purl = (f"pkg:deb/debian/{quoted(title)}@{quoted(version)}"
                    f"?arch={package.architecture}")
            properties = [{"name": "ferry:source", "value": package.source}]
        elif wheel:
            title, version = wheel
            purl = (f"pkg:pypi/{re.sub('[-_.]+', '-', title).lower()}"
                    f"@{quoted(version)}")
        elif pathlib.Path(path).is_relative_to(self.torch):
            title = "libtorch"  # unpacked, without a wheel
            version = (self.torch / "build-version").read_text().strip()
            purl = f"pkg:generic/{title}@{quoted(version)}"
        else:
            fail(f"expected a package of Debian or a wheel that has {path}, found "
                 "none; the bundle is made on Debian, with torch from a wheel")
        component = self.components.setdefault(purl, {
            "type": "library", "bom-ref": purl, "name": title,
            "version": version, "purl": purl,
            "properties": properties + [
                {"name": "ferry:provided-by",
                 "value": "bundle" if inside else "machine"}],
            "components": []})
        file = {"type": "file", "name": inside or self.on_machine(path),
                "hashes": [{"alg": "SHA-256", "content": sha256(path)}]}
        component["components"].append(file)
        return purl

    def add_absent(self, name):
        """Adds a library that only the machine with a device has, and returns its
        ref."""
        self.components[name] = {
            "type": "library", "bom-ref": name, "name": name, "scope": "optional",
            "properties": [{"name": "ferry:provided-by", "value": "machine"}]}
        return name

    def on_machine(self, path):
        """Returns a path without the folder in which torch happens to be."""
        site = self.torch.parent
        return (str(pathlib.Path(path).relative_to(site))
                if pathlib.Path(path).is_relative_to(site) else path)

    def document(self, arguments):
        of = {"type": "application", "bom-ref": "ferry", "name": "ferry",
              "version": arguments.version,
              "properties": [{"name": "ferry:commit",
                              "value": arguments.commit}]}
        for component in self.components.values():
            component.get("components", []).sort(key=lambda file: file["name"])
        components = [self.components[ref] for ref in sorted(self.components)]
        ours = sorted(map(self.in_bundle, self.own.values()))
        dependencies = [{"ref": "ferry", "dependsOn": ours}] + [
            {"ref": ref, "dependsOn": sorted(self.uses[ref])}
            for ref in sorted(self.components)]
        content = json.dumps([of, components, dependencies], sort_keys=True)
        time = datetime.datetime.fromtimestamp(arguments.time,
                                               datetime.timezone.utc)
        return {
            "bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}",
            "version": 1,
            "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": of},
            "components": components, "dependencies": dependencies}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("--torch", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--time", required=True, type=int)
    arguments = parser.parse_args()
    bill = Bill(arguments.bundle.resolve(), arguments.torch.resolve())
    bill.build(arguments.version)
    json.dump(bill.document(arguments), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
