"""perf_analyzer as it was published: its modes run, and the server's columns of
its report are filled from ModelStatistics. Asserts no speed."""

import concurrent.futures
import csv
import os
import shutil
import tempfile
import unittest

import ferry_process
import tritonclient.grpc as triton
from ferry_process import FerryProcess, sim_config
from tools import Tool

# What is measured, all at once, each on a model of its own.
RUNS = {
    "concurrency": ["--concurrency-range", "4"],
    "concurrencies_async": ["--concurrency-range", "1:5:4", "-a"],
    "batches_of_8": ["--concurrency-range", "4", "-b", "8"],
    "streaming": ["--concurrency-range", "4", "--streaming", "-a"],
    "request_rate": ["--request-rate-range", "200"],
    "poisson_async": ["--request-rate-range", "200", "-a",
                      "--request-distribution", "poisson"],
    "shared_memory": ["--concurrency-range", "4", "-a", "--shared-memory", "system",
                      "--output-shared-memory-size", "64"],
    "rate_streaming": ["--request-rate-range", "200", "--streaming", "-b", "8"],
}

# Short windows; any spread is stable.
WINDOWS = ["--measurement-mode", "count_windows", "--measurement-request-count",
           "30", "-p", "300", "--stability-percentage", "999",
           "--max-trials", "3"]

SERVER_COLUMNS = ["Server Queue", "Server Compute Input",
                  "Server Compute Infer", "Server Compute Output"]

ferry_process.MODELS |= {name: sim_config(alpha_ms=1, beta_ms=0.01)
                         for name in RUNS}
tool = Tool("perf_analyzer")
server = None
folder = None
reports = {}


def measure(name):
    """Returns (exit code, output, rows of the report)."""
    path = os.path.join(folder, f"{name}.csv")
    ended = tool.run("-m", name, "-i", "grpc", "-u", server.address,
                     *RUNS[name], *WINDOWS, "--verbose-csv", "-f", path)
    rows = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
    return ended.returncode, ended.stdout + ended.stderr, rows


def setUpModule():
    global server, folder
    tool.require()
    server = FerryProcess("--allow-client-shm", models=list(RUNS))
    folder = tempfile.mkdtemp()
    with concurrent.futures.ThreadPoolExecutor(len(RUNS)) as pool:
        reports.update(zip(RUNS, pool.map(measure, RUNS)))


def tearDownModule():
    if server:
        server.stop()
        shutil.rmtree(folder)


class PerfAnalyzerTest(unittest.TestCase):

    def assertMeasured(self, name, points=1):
        code, output, rows = reports[name]
        self.assertEqual(code, 0, output)
        self.assertNotIn("rror", output)
        self.assertEqual(len(rows), points, output)
        for row in rows:
            self.assertGreater(float(row["Inferences/Second"]), 0)
            for column in SERVER_COLUMNS:
                self.assertTrue(row[column].isdigit(), f"{column}: {row}")
            self.assertGreaterEqual(int(row["Server Compute Infer"]), 1000,
                                    "microseconds that the model takes")
        return rows

    def statistics(self, name):
        with triton.InferenceServerClient(server.address) as client:
            return client.get_inference_statistics(name).model_stats[0]

    def test_concurrency(self):
        self.assertEqual(self.assertMeasured("concurrency")[0]["Concurrency"],
                         "4")
        rows = self.assertMeasured("concurrencies_async", points=2)
        self.assertEqual([row["Concurrency"] for row in rows], ["1", "5"])

    def test_request_rate(self):
        for name in ("request_rate", "poisson_async"):
            row = self.assertMeasured(name)[0]
            self.assertEqual(float(row["Request Rate"]), 200)

    def test_streaming(self):
        self.assertMeasured("streaming")
        self.assertMeasured("rate_streaming")

    def test_batches_of_8(self):
        for name in ("batches_of_8", "rate_streaming"):
            self.assertMeasured(name)
            stats = self.statistics(name)
            self.assertEqual(stats.inference_count,
                             8 * stats.inference_stats.success.count)
            self.assertLessEqual(8, min(batch.batch_size
                                        for batch in stats.batch_stats))

    def test_shared_memory(self):
        self.assertMeasured("shared_memory")

    def test_nothing_failed(self):
        for name in RUNS:
            stats = self.statistics(name)
            self.assertGreater(stats.inference_stats.success.count, 60)
            self.assertEqual(stats.inference_stats.fail.count, 0)


if __name__ == "__main__":
    unittest.main()
