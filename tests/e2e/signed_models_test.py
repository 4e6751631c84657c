"""Models whose manifests are signed are served, from the bytes that were checked;
what has changed since is refused by name."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from ferry_process import FerryProcess, MODELS, run, tensor, wait_until
from probe_load_test import nest
from scripts_case import WRITE_SCRIPTS

SIGN = pathlib.Path(__file__).parents[2] / "scripts/sign_model.sh"


def make_key(path):
    """Writes a private key, and its public half with .pub behind."""
    for command in (["genpkey", "-algorithm", "ed25519", "-out", path],
                    ["pkey", "-in", path, "-pubout", "-out", f"{path}.pub"]):
        subprocess.run(["openssl", *command], check=True, timeout=60)


class SignedModelsTest(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ferry-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        environment = os.environ.get("TMPDIR")
        self.addCleanup(
            lambda: os.environ.update(TMPDIR=environment) if environment
            else os.environ.pop("TMPDIR", None))
        os.environ["TMPDIR"] = str(self.temporary)  # of the server
        self.repository = self.folder / "models"
        self.key = self.folder / "key"
        make_key(self.key)

    def write(self, name, config=MODELS["labeled"]):
        """Writes a model, signs it and returns its folder."""
        model = self.repository / name
        (model / "1").mkdir(parents=True)
        (model / "config.pbtxt").write_text(config)
        (model / "labels.txt").write_text("cat\ndog\n")
        (model / "1/part").write_text("one part")
        self.sign(model)
        return model

    def sign(self, *folders, key=None):
        return subprocess.run([SIGN, key or self.key, *folders], check=True,
                              capture_output=True, text=True, timeout=60)

    def start(self, *flags):
        self.server = FerryProcess(
            f"--manifest-key={self.key}.pub", "--model-repository",
            str(self.repository), *flags, models=None)
        self.addCleanup(self.server.stop)
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def refusal(self, name):
        with self.assertRaises(InferenceServerException) as caught:
            self.client.load_model(name, client_timeout=20)
        return caught.exception.message()

    def left(self):
        return os.listdir(self.temporary)

    def test_bad_inputs_are_refused_and_good_ones_served(self):
        model = self.write("m")
        self.write("other")
        self.start("--model-control-mode=explicit")
        signature = (model / "MANIFEST.sha256.sig").read_bytes()
        part = model / "1/part"

        def without_signature():
            (model / "MANIFEST.sha256.sig").unlink()

        def signed_by_another():
            make_key(self.folder / "another")
            self.sign(model, key=self.folder / "another")

        def changed_manifest():
            with open(model / "MANIFEST.sha256", "a") as manifest:
                manifest.write("\n")

        def without_manifest():
            (model / "MANIFEST.sha256").unlink()

        def extra_file():
            (model / "1/extra").write_text("")

        def changed_byte():
            part.write_text("One part")

        def link_out():
            part.unlink()
            part.symlink_to("/etc/hostname")

        def link_inside():
            part.unlink()
            part.symlink_to("../../other/1/part")

        for spoil, expected in (
                (without_signature, "m/MANIFEST.sha256': expected its signature"),
                (signed_by_another, "MANIFEST.sha256.sig' signs by the key"),
                (changed_manifest, "MANIFEST.sha256.sig' signs by the key"),
                (without_manifest, "which --require-manifest asks for, got none"),
                (extra_file, "m/1/extra': expected a line"),
                (changed_byte, "m/1/part': expected SHA-256"),
                (link_out, "m/1/part': expected a path in the model repository"),
                (link_inside, "m/1/part': expected a file or folder, got a link")):
            with self.subTest(spoil.__name__):
                spoil()
                self.assertIn(expected, self.refusal("m"))
                shutil.rmtree(model)
                model = self.write("m")
                part = model / "1/part"
                self.assertEqual(
                    signature, (model / "MANIFEST.sha256.sig").read_bytes())
        self.client.load_model("m")
        self.assertTrue(self.client.is_model_ready("m"))
        self.assertEqual(self.left(), [])

    def write_for_script(self, name):
        """Returns a script, and the folder of a model that lacks its file."""
        scripts = self.folder / "scripts"
        scripts.mkdir()
        subprocess.run([WRITE_SCRIPTS, scripts], check=True, timeout=60)
        model = self.write(name, 'backend: "pytorch"\nmax_batch_size: 4\n' +
                           tensor("input", "x", "FP32", [3]) +
                           tensor("output", "y", "FP32", [3]))
        return scripts / "pixels.pt", model

    def test_script_is_loaded_from_its_copy(self):
        script, model = self.write_for_script("pixels")
        shutil.copy(script, model / "1/model.pt")
        self.sign(model)
        self.start()
        x = triton.InferInput("x", [1, 3], "FP32")
        x.set_data_from_numpy(np.ones((1, 3), np.float32))
        np.testing.assert_array_equal(
            self.client.infer("pixels", [x]).as_numpy("y"), np.ones((1, 3)))
        self.assertEqual(self.left(), [])
        self.assertFalse(any("ferry-checked" in line
                             for line in self.server.log))

    def test_a_probe_load_that_crashes_leaves_nothing(self):
        script, model = self.write_for_script("nested")
        nest(script, model / "1/model.pt")
        self.sign(model)
        self.start("--model-control-mode=explicit")
        self.assertIn("crashed with SIGSEGV", self.refusal("nested"))
        self.assertEqual(self.left(), [])

    def test_a_version_may_have_a_manifest_of_its_own(self):
        model = self.write("m")
        (model / "1/deep").mkdir()
        (model / "1/deep/part").write_text("deep")
        self.sign(model / "1", model)
        self.assertNotIn("1/", (model / "MANIFEST.sha256").read_text())
        self.assertIn("  deep/part\n", (model / "1/MANIFEST.sha256").read_text())
        self.start()
        self.assertTrue(self.client.is_model_ready("m"))

    def test_poll_keeps_what_serves_and_takes_what_is_restored(self):
        model = self.write("m")
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1",
                   "--probe-loads=off")
        config = (model / "config.pbtxt").read_text()
        (model / "config.pbtxt").write_text("# not signed\n" + config)
        self.assertTrue(wait_until(lambda: any(
            "cannot load: model 'm' version 1" in line
            for line in self.server.log)))
        self.assertTrue(self.client.is_model_ready("m"))
        (model / "2").mkdir()
        (model / "2/part").write_text("two")
        (model / "config.pbtxt").write_text(config)
        self.sign(model)
        self.assertTrue(wait_until(
            lambda: self.client.is_model_ready("m", "2")))

    def test_full_disk_fails_a_load_until_there_is_room(self):
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "none", self.temporary],
            capture_output=True, text=True, timeout=60)
        if mounted.returncode != 0:
            self.skipTest(f"needs to mount a disk: {mounted.stderr}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.temporary],
                        check=True, timeout=60)
        self.write("m")
        self.start("--model-control-mode=poll", "--repository-poll-secs=0.1")
        ballast = self.temporary / "ballast"
        ballast.write_bytes(bytes(160 << 10))
        large = self.write("large")
        (large / "1/part").write_bytes(bytes(128 << 10))
        self.sign(large)
        self.assertTrue(wait_until(lambda: any(
            "cannot load: model 'large'" in line and "No space left" in line
            for line in self.server.log)), self.server.log)
        self.assertFalse(self.client.is_model_ready("large"))
        self.assertTrue(self.client.is_model_ready("m"))
        self.assertEqual(self.left(), ["ballast"])
        polls = self.client
        self.start("--model-control-mode=explicit")
        with self.assertRaises(InferenceServerException) as full:
            self.client.load_model("large", client_timeout=20)
        self.assertEqual(full.exception.status(), "StatusCode.RESOURCE_EXHAUSTED")
        ballast.unlink()
        self.client.load_model("large", client_timeout=20)
        self.assertTrue(wait_until(lambda: polls.is_model_ready("large"), 60))
        self.assertEqual(self.left(), [])

    def test_wrong_key_ends_the_start(self):
        self.write("m")
        for path, expected in (
                (self.key, "got a private key, which stays where"),
                (self.folder / "none", "cannot read '")):
            ended = run(f"--manifest-key={path}", "--model-repository",
                        str(self.repository))
            self.assertEqual(ended.returncode, 1)
            self.assertIn("--manifest-key: ", ended.stderr)
            self.assertIn(expected, ended.stderr)

    def test_start_removes_what_killed_servers_left(self):
        self.write("m")
        for name in ("ferry-unpacked-abc", "ferry-checked-abc", "another"):
            (self.temporary / name).mkdir()
            (self.temporary / name / "file").write_text("left")
        # No load: it would sweep, too.
        self.start("--model-control-mode=explicit")
        self.assertEqual(self.left(), ["another"])

    def test_script_says_what_it_cannot_sign(self):
        model = self.write("m")
        (model / "1/link").symlink_to("part")
        for arguments, expected in (
                ([self.key, model], "got a link or the like"),
                ([self.folder / "key.pub", model], "expected a private Ed25519"),
                ([self.key, self.folder / "none"], "expected a folder"),
                ([self.key], "expected KEY and FOLDER")):
            ended = subprocess.run([SIGN, *arguments], capture_output=True,
                                   text=True, timeout=60)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(expected, ended.stderr)


if __name__ == "__main__":
    unittest.main()
