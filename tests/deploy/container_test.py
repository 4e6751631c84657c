"""The Containerfile, by a parser of such files. scripts/image.sh builds it, and
scripts/check_image.py runs what it makes, by hand. Skipped where
scripts/check_manifests.sh has not installed the parser."""

import json
import re
import unittest

from tools import ROOT, Tool

FILE = ROOT / "deploy" / "container" / "Containerfile"
TO_JSON = """
import json, sys, dockerfile_parse
with open(sys.argv[1], "rb") as file:
    parser = dockerfile_parse.DockerfileParser(fileobj=file)
    print(json.dumps(parser.structure))
"""


def setUpModule():
    check = Tool("check_manifests")
    check.require()
    parsed = check.run("--python", "-c", TO_JSON, FILE)
    if parsed.returncode != 0:
        raise AssertionError(parsed.stderr)
    global STEPS
    STEPS = [(step["instruction"], step["value"])
             for step in json.loads(parsed.stdout)
             if step["instruction"] != "COMMENT"]


class ContainerTest(unittest.TestCase):

    def value(self, instruction):
        (value,) = [value for name, value in STEPS if name == instruction]
        return value

    def test_every_instruction_is_known(self):
        known = {"ARG", "FROM", "COPY", "LABEL", "ENV", "USER", "EXPOSE",
                 "STOPSIGNAL", "ENTRYPOINT"}
        self.assertLessEqual({name for name, _ in STEPS}, known)

    def test_what_is_copied_is_in_the_folder_that_is_made(self):
        script = (ROOT / "scripts" / "image.sh").read_text()
        made = set(re.search(r'mkdir -p (.*context.*)', script).group(1).split())
        copied = [value.split()[0] for name, value in STEPS if name == "COPY"]
        self.assertEqual({f'"$context/{name}"' for name in copied}, made)

    def test_the_image_has_no_root_and_no_shell_in_use(self):
        user = self.value("USER").split(":")
        self.assertTrue(all(part.isdigit() and int(part) > 0 for part in user))
        self.assertIsInstance(json.loads(self.value("ENTRYPOINT")), list)

    def test_it_stops_and_sees_the_gpu_as_the_server_needs(self):
        self.assertEqual(self.value("STOPSIGNAL"), "SIGTERM")
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                      self.value("ENV"))

    def test_paths_are_those_of_the_bundle(self):
        bundle = (ROOT / "scripts" / "bundle.sh").read_text()
        (program,) = json.loads(self.value("ENTRYPOINT"))
        self.assertEqual(program, "/opt/ferry/libexec/ferry-server")
        self.assertIn('"$bundle/libexec/$program"', bundle)
        self.assertIn("/opt/ferry/lib:", self.value("ENV"))

    def test_version_is_that_of_the_project(self):
        version = re.search(r"project\(Ferry VERSION (\S+)",
                            (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertIn(f'image.version="{version}"', self.value("LABEL"))
        for path in (ROOT / "deploy").rglob("*.yaml"):
            for image in re.findall(r"image: ferry:(\S+)", path.read_text()):
                self.assertEqual(image, version, path)


if __name__ == "__main__":
    unittest.main()
