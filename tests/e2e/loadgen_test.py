"""MLPerf's LoadGen as it was published, by scripts/loadgen.sh: what its log says it
issued is what the server counted. Asserts no speed."""

import json
import os
import tempfile
import unittest

import ferry_process
from ferry_process import FerryProcess, sim_config
from tools import Tool

SECONDS = 0.3
# For each scenario a model of its own.
SCENARIOS = {
    "single-stream": [],
    "multi-stream": ["--samples-per-query", 20],
    "server": ["--target-qps", 100, "--latency-ms", 10_000],
    "offline": ["--target-qps", 300, "--outstanding", 3],
}
BENCH = os.environ.get("FERRY_BENCH")

ferry_process.MODELS |= {name: sim_config(16, alpha_ms=1, beta_ms=0.01)
                         for name in SCENARIOS}
tool = Tool("loadgen")
server = None


def setUpModule():
    global server
    tool.require()
    server = FerryProcess(models=[*SCENARIOS, "failing"])


def tearDownModule():
    if server:
        server.stop()


class LoadgenTest(unittest.TestCase):

    def played(self, scenario, *flags, model=None, code=0):
        """Returns its JSON and what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            bench = ["--bench", BENCH] if BENCH else ["--no-bench"]
            ended = tool.run("-u", server.address, "-m", model or scenario,
                             "--scenario", scenario, "--min-duration-secs",
                             SECONDS, "--json", path, *bench,
                             *SCENARIOS[scenario], *flags)
            self.assertEqual(ended.returncode, code,
                             ended.stdout + ended.stderr)
            with open(path, encoding="utf-8") as stream:
                return json.load(stream), ended.stdout + ended.stderr

    def assertCounted(self, scenario):
        told, text = self.played(scenario)
        loadgen = told["loadgen"]
        self.assertGreater(loadgen["samples"], 0)
        self.assertEqual(loadgen["server"], {
            "requests": loadgen["requests"], "rows": loadgen["samples"],
            "failed": 0})
        self.assertEqual(loadgen["results"]["num_errors"], 0)
        self.assertIn("Result is : ", text)
        if BENCH:
            self.assertIn("ferry-bench / LoadGen", text)
            point = told["bench"]["point"]
            self.assertEqual(point["ok"], point["planned"])
        return told

    def test_single_stream(self):
        loadgen = self.assertCounted("single-stream")["loadgen"]
        self.assertEqual(loadgen["requests"], loadgen["queries"])

    def test_multi_stream_of_more_samples_than_a_batch_is_split(self):
        loadgen = self.assertCounted("multi-stream")["loadgen"]
        self.assertEqual(loadgen["samples"], 20 * loadgen["queries"])
        self.assertEqual(loadgen["requests"], 2 * loadgen["queries"])

    def test_server(self):
        loadgen = self.assertCounted("server")["loadgen"]
        self.assertEqual(loadgen["requests"], loadgen["queries"])

    def test_offline(self):
        told = self.assertCounted("offline")
        loadgen = told["loadgen"]
        self.assertEqual(loadgen["queries"], 1)
        self.assertEqual(loadgen["requests"], -(-loadgen["samples"] // 16))
        if BENCH:
            self.assertEqual(told["bench"]["point"]["query_rows"],
                             16 * loadgen["requests"])

    def test_failed_requests_are_said_and_end_with_1(self):
        told, text = self.played("server", "--no-bench", model="failing",
                                 code=1)
        self.assertGreater(told["loadgen"]["failed"], 0)
        self.assertEqual(told["loadgen"]["server"]["failed"],
                         told["loadgen"]["failed"])
        self.assertIn("requests failed, the first: ", text)

    def test_what_is_not_there_is_named(self):
        ended = tool.run("-u", server.address, "-m", "absent", "--no-bench")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("loadgen: error: absent at", ended.stderr)


if __name__ == "__main__":
    unittest.main()
