"""The Containerfile, by a parser of such files: what its last image is. It is not
built here. Skipped where scripts/check_manifests.sh has not installed it."""

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

    def last_stage(self):
        start = max(i for i, (name, _) in enumerate(STEPS) if name == "FROM")
        return STEPS[start:]

    def value(self, instruction):
        (value,) = [value for name, value in self.last_stage()
                    if name == instruction]
        return value

    def test_every_instruction_is_known(self):
        known = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV",
                 "USER", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT"}
        self.assertLessEqual({name for name, _ in STEPS}, known)

    def test_stages_are_made_before_they_are_used(self):
        made = set()
        for name, value in STEPS:
            if name == "FROM" and " AS " in value:
                made.add(value.split(" AS ")[1])
            source = re.match(r"--from=(\S+)", value)
            if source:
                self.assertIn(source.group(1), made)

    def test_the_image_has_no_root_and_no_shell_in_use(self):
        user = self.value("USER").split(":")
        self.assertTrue(all(part.isdigit() and int(part) > 0 for part in user))
        self.assertIsInstance(json.loads(self.value("ENTRYPOINT")), list)
        self.assertNotIn("RUN", [name for name, _ in self.last_stage()])

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
