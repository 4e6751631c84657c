"""The examples run as they are written, against a server with the embedded
model; the sentences against the real MiniLM, where it was made."""

import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from ferry_process import FerryProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = os.environ.get("FERRY_EXAMPLE",
                        "build/release/bin/ferry-example-client")
SHARED_CLIENT = pathlib.Path(CLIENT).with_name("ferry-example-shared-memory")
REPOSITORY = ROOT / "build/model_repository"
NO_SERVER = "127.0.0.1:1"  # a port that no server listens on
TIMEOUT_S = 60


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)


class EmbeddedModelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--load-model=mlp", "--allow-client-shm",
                                  models=None)

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

    def test_retries(self):
        self.assertEqual("10 of 10 served\n", self.output_of(
            sys.executable, ROOT / "examples/retries.py", self.server.address))

    def test_cpp_client(self):
        output = self.output_of(CLIENT, self.server.address)
        self.assertIn("one request: output begins with ", output)
        self.assertIn("100 of 100 in flight served", output)
        ended = run(CLIENT, self.server.address, "none")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("unknown model: 'none'", ended.stderr)

    def test_shared_memory(self):
        (first,) = re.findall(r"output begins with (\S+)",
                              self.output_of(CLIENT, self.server.address))
        self.assertNotEqual(float(first), 0)
        self.assertEqual(f"output begins with {first}\n",
                         self.output_of(SHARED_CLIENT, self.server.address))
        (shown,) = re.findall(r"output \(2, 1024\): \[ *(\S+)", self.output_of(
            sys.executable, ROOT / "examples/shared_memory.py", self.server.address))
        self.assertAlmostEqual(float(shown), float(first), 4)
        self.assertEqual(self.server.metric("ferry_shared_memory_regions"), 0)
        with tempfile.TemporaryDirectory() as folder:
            socket = f"unix:{folder}/ferry.sock"
            with FerryProcess("--load-model=mlp", "--allow-client-shm",
                              f"--grpc-address={socket}", models=None):
                self.output_of(SHARED_CLIENT, socket)
                self.output_of(CLIENT, socket)
                for example in ("shared_memory", "first_request", "many_requests"):
                    self.output_of(sys.executable, ROOT / f"examples/{example}.py",
                                   socket)
        with FerryProcess("--load-model=mlp", models=None) as without:
            ended = run(SHARED_CLIENT, without.address)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("--allow-client-shm", ended.stderr)


class Refusing(service_pb2_grpc.GRPCInferenceServiceServicer):
    """A server that refuses the first requests twice each: as one that drains,
    and as one whose queue is full. More at once a client does not send again."""
    REFUSALS = 20

    def __init__(self):
        self.attempts = collections.Counter()
        self.refusals = itertools.count()

    def ModelMetadata(self, request, context):
        answer = pb.ModelMetadataResponse(name=request.name)
        answer.inputs.add(name="input", datatype="FP32", shape=[-1, 4])
        return answer

    def ModelInfer(self, request, context):
        metadata = dict(context.invocation_metadata())
        attempt = int(metadata.get("grpc-previous-rpc-attempts", "0"))
        self.attempts[attempt] += 1
        if attempt < 2 and next(self.refusals) < self.REFUSALS:
            context.set_trailing_metadata([("grpc-retry-pushback-ms", "1")])
            context.abort((grpc.StatusCode.UNAVAILABLE,
                           grpc.StatusCode.RESOURCE_EXHAUSTED)[attempt], "later")
        answer = pb.ModelInferResponse(model_name=request.model_name)
        answer.outputs.add(name="output", datatype="FP32", shape=[1, 4])
        answer.raw_output_contents.append(bytes(16))
        return answer


class RetriesTest(unittest.TestCase):

    def attempts_of(self, *command):
        refusing = Refusing()
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(refusing,
                                                                    server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            ended = run(*command, f"127.0.0.1:{port}")
        finally:
            server.stop(None)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return refusing.attempts

    def test_python(self):
        self.assertEqual(
            self.attempts_of(sys.executable, ROOT / "examples/retries.py"),
            {0: 10, 1: 10, 2: 10})

    def test_cpp(self):
        attempts = self.attempts_of(CLIENT)
        self.assertEqual(attempts[0], 101)
        self.assertEqual(attempts.total(), 101 + Refusing.REFUSALS)

    def test_policies_are_that_of_the_document(self):
        def policy(path, begin, end):
            text = (ROOT / path).read_text()
            return json.loads(re.search(f"{begin}(.*?){end}", text, re.S)[1])
        expected = policy("docs/reliability.md", "```json", "```")
        self.assertEqual(policy("examples/cpp/client.cc", r'R"\(', r'\)"'),
                         expected)
        self.assertEqual(policy("examples/retries.py", 'POLICY = """', '"""'),
                         expected)


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
