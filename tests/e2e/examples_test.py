"""The examples run as they are written, against a server with the embedded
model; the sentences against the real MiniLM, where it was made."""

import os
import pathlib
import subprocess
import sys
import unittest

from ferry_process import FerryProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = os.environ.get("FERRY_EXAMPLE",
                        "build/release/bin/ferry-example-client")
REPOSITORY = ROOT / "build/model_repository"
NO_SERVER = "127.0.0.1:1"  # a port that no server listens on
TIMEOUT_S = 60


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)


class EmbeddedModelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--load-model=mlp", models=None)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def output_of(self, *command):
        ended = run(*command)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_first_request(self):
        self.assertIn("output (1, 1024): [", self.output_of(
            sys.executable, ROOT / "examples/first_request.py",
            self.server.address))

    def test_many_requests(self):
        script = ROOT / "examples/many_requests.py"
        self.assertIn("100 at once, 100 down a stream", self.output_of(
            sys.executable, script, self.server.address))
        ended = run(sys.executable, script, NO_SERVER)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("UNAVAILABLE", ended.stderr)

    def test_cpp_client(self):
        output = self.output_of(CLIENT, self.server.address)
        self.assertIn("one request: output begins with ", output)
        self.assertIn("100 of 100 in flight served", output)
        ended = run(CLIENT, self.server.address, "none")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("unknown model: 'none'", ended.stderr)


@unittest.skipUnless((REPOSITORY / "minilm/config.pbtxt").exists(),
                     "no MiniLM: scripts/make_minilm.sh makes it")
class SentencesTest(unittest.TestCase):

    def test_each_sentence_has_its_nearest(self):
        sentences = ROOT / "tests/data/minilm/sentences.txt"
        with FerryProcess(f"--model-repository={REPOSITORY}",
                          "--load-model=minilm", models=None) as server:
            ended = run(sys.executable, ROOT / "examples/embed_sentences.py",
                        "--url", server.address, "--tokenizer",
                        REPOSITORY / "minilm/tokenizer.json", sentences)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = ended.stdout.splitlines()
        texts = sentences.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 2 * len(texts))
        for text, line in zip(texts, lines[::2]):
            self.assertIn(text, line)


if __name__ == "__main__":
    unittest.main()
