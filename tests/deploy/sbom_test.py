"""The bill of materials of a bundle is valid CycloneDX and names every library that
is linked, with its package, version and hash."""

import copy
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import packageurl
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from bundle_test import bundle
from tools import ROOT


def files_of(bill):
    """Returns the SHA-256 of each file of a bill, by its path."""
    named = {}
    for component in bill["components"]:
        files = component.get("components")
        if files is None:
            files = [dict(component, name=component["bom-ref"])]
        for file in files:
            named[file["name"]] = file["hashes"][0]["content"]
    return named


def missing(bill, home):
    """Returns what of a bundle a bill does not name: files of it, and libraries
    that they are linked with."""
    named = files_of(bill)
    names = {pathlib.PurePath(path).name for path in named}
    wrong = []
    for path in [*(home / "libexec").iterdir(), *(home / "lib").iterdir()]:
        inside = str(path.relative_to(home))
        if named.get(inside) != hashlib.sha256(path.read_bytes()).hexdigest():
            wrong.append(inside)
        told = subprocess.run(["readelf", "-dW", path], text=True,
                              capture_output=True, check=True).stdout
        wrong += [f"{name} of {inside}" for name in
                  re.findall(r"\(NEEDED\).*\[(.+)\]", told) if name not in names]
    return wrong


class SbomTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ferry-sbom-")
        cls.addClassCleanup(folder.cleanup)
        made = bundle(folder.name, "--cuda", "none")
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        cls.out = pathlib.Path(folder.name)
        (tarball,) = cls.out.glob("ferry-*.tar.gz")
        subprocess.run(["tar", "-xzf", tarball, "-C", cls.out], check=True)
        (cls.home,) = cls.out.glob("ferry-*/")
        (path,) = cls.out.glob("ferry-*.cdx.json")
        cls.text = path.read_text()
        cls.bill = json.loads(cls.text)

    def test_is_valid_cyclonedx(self):
        validator = JsonStrictValidator(SchemaVersion.V1_5)
        wrong = validator.validate_str(self.text)
        self.assertIsNone(wrong, str(wrong)[:500])
        del self.bill["components"][0]["name"]
        self.addCleanup(self.bill.update, json.loads(self.text))
        self.assertIsNotNone(validator.validate_str(json.dumps(self.bill)))

    def test_names_every_file_and_every_linked_library(self):
        self.assertEqual(missing(self.bill, self.home), [])

    def test_one_left_out_is_missing(self):
        for index, component in enumerate(self.bill["components"]):
            less = copy.deepcopy(self.bill)
            del less["components"][index]
            # Some that torch alone links are the machine's.
            if not component["bom-ref"].startswith("pkg:pypi/nvidia"):
                self.assertNotEqual(missing(less, self.home), [],
                                    component["bom-ref"])

    def test_each_package_has_its_version_and_purl(self):
        packages = [each for each in self.bill["components"] if "purl" in each]
        self.assertGreater(len(packages), 20)
        for component in packages:
            purl = packageurl.PackageURL.from_string(component["purl"])
            self.assertEqual(purl.to_string(), component["purl"])
            self.assertEqual((purl.name, purl.version),
                             (component["name"], component["version"]))

    def test_debian_packages_are_recorded(self):
        """By name: requirements/debian-versions.txt."""
        recorded = {line.split()[0] for line in
                    (ROOT / "requirements" / "debian-versions.txt")
                    .read_text().splitlines() if line and line[0] != "#"}
        linked = {each["name"] for each in self.bill["components"]
                  if each["bom-ref"].startswith("pkg:deb/")}
        self.assertEqual(linked - recorded, set(), "run "
                         "scripts/debian_versions.py --write build/release")

    def test_dependencies_are_of_components(self):
        refs = {each["bom-ref"] for each in self.bill["components"]} | {"ferry"}
        needs = {each["ref"]: each["dependsOn"]
                 for each in self.bill["dependencies"]}
        self.assertEqual(needs.keys(), refs)
        self.assertLessEqual({ref for all_ in needs.values() for ref in all_},
                             refs)
        grpc = [ref for ref in needs["libexec/ferry-server"] if "grpc" in ref]
        self.assertGreater(len(grpc), 0)

    def test_lies_in_the_bundle_too(self):
        self.assertEqual((self.home / "sbom.cdx.json").read_text(), self.text)

    def test_sums_are_of_what_lies_beside_them(self):
        told = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=self.out,
                              text=True, capture_output=True, check=True).stdout
        self.assertEqual(
            sorted(re.findall(r"^(\S+): OK$", told, re.M)),
            sorted(path.name for path in self.out.glob("ferry-*.*")
                   if path.is_file()))


if __name__ == "__main__":
    unittest.main()
