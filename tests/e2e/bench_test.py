"""ferry-bench against a real server: what it sends, finds, says and exits with."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from ferry_process import FerryProcess, sim_config

FERRY_BENCH = os.environ["FERRY_BENCH"]
LIMIT_S = 100
TRIES = 3


class BenchTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        repository = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        cls.addClassCleanup(repository.cleanup)
        os.makedirs(os.path.join(repository.name, "sim", "1"))
        with open(os.path.join(repository.name, "sim", "config.pbtxt"), "w",
                  encoding="utf-8") as config:
            config.write(sim_config(16, alpha_ms=4, beta_ms=0.25))
        cls.server = FerryProcess("--model-repository", repository.name,
                                  "--admin-rpc", models=None)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def bench(self, *flags, code=0):
        """Returns what it printed, stdout and stderr. A search that this
        machine was too busy to send for says so, and is asked again."""
        for _ in range(TRIES):
            done = subprocess.run(
                [FERRY_BENCH, *(str(flag) for flag in flags)], text=True,
                capture_output=True, timeout=LIMIT_S, check=False)
            if done.returncode == code or "client late" not in done.stderr:
                break
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def measured(self, command, *flags, code=0):
        """Returns the runs of its JSON, and what it printed."""
        path = os.path.join(self.folder, "result.json")
        text = self.bench(command, "-u", self.server.address, "-m", "sim",
                          "--warm-up-secs", 0.1, "--json", path, *flags,
                          code=code)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["runs"], text

    def test_conditions_decide_the_exit_code(self):
        # A closed loop is never late.
        load = ("--outstanding", 1, "--duration-secs", 1)
        self.measured("run", *load, "--fail-if", "errors>0%")
        _, text = self.measured("run", *load, "--fail-if", "p99>1us", code=2)
        self.assertRegex(
            text, r"--fail-if: \S+, closed, 1 outstanding: p99>1us, at ")
        text = self.bench("run", "--fail-if", "p99", code=1)
        self.assertIn("expected a metric", text)

    def test_offline_query_is_counted_in_rows(self):
        runs, text = self.measured("run", "--scenario", "offline:1000")
        point = runs[0]["points"][0]
        self.assertEqual(runs[0]["rows_per_request"], 16)
        self.assertEqual((point["loop"], point["outstanding"]), ("offline", 4))
        self.assertEqual((point["planned"], point["ok"], point["query_rows"]),
                         (63, 63, 1008))
        self.assertAlmostEqual(point["rows_rate"] * point["window_s"], 1008, 3)
        self.assertEqual(point["mean_rows"], 16)
        self.assertIn("answered a query of 1008 rows, 16 a request", text)
        self.assertIn("rows/s", text)

    def test_flags_come_from_a_file_and_wrong_ones_are_refused(self):
        path = os.path.join(self.folder, "bench.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[run]\naddress = "{self.server.address}"\n'
                       'model = "sim"\noutstanding = [1]\n'
                       'duration-secs = 0.2\nwarm-up-secs = 0\n')
        self.assertIn("closed, 1 outstanding",
                      self.bench("--config", path, "run"))
        self.assertIn("closed, 1 outstanding",
                      self.bench("run", "--config", path))
        with open(path, "a", encoding="utf-8") as file:
            file.write('fail_if = ["p99>1us"]\n')
        text = self.bench("--config", path, "run", code=1)
        self.assertIn(f"{path}:7: expected a flag of the section's command, got "
                      "'fail_if'", text)
        self.assertIn("--rates: expected 0.001 to 1e+09, got 'nan'",
                      self.bench("run", "-m", "sim", "--rates", "nan", code=1))

    def test_classes_are_counted_apart(self):
        log = os.path.join(self.folder, "stamps.csv")
        runs, text = self.measured(
            "run", "--rates", 200, "--duration-secs", 2, "--log", log,
            "--class", "rows:weight=3,rows=2", "--class",
            "leaves:cancel=1,cancel_ms=0", "--csv",
            os.path.join(self.folder, "points.csv"))
        self.assertEqual(runs[0]["classes"], ["rows", "leaves"])
        self.assertEqual(runs[0]["rows_per_request"], 1.75)
        point = runs[0]["points"][0]
        rows, leaves = point["classes"]
        self.assertEqual(rows["ok"], rows["planned"])
        self.assertGreater(leaves["errors"]["CANCELLED"], 0)
        self.assertGreater(rows["planned"], leaves["planned"])
        self.assertIn("CANCELLED", text)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), point["planned"] + 1)

    def test_search_finds_a_rate_that_keeps_the_bound(self):
        runs, text = self.measured("search", "--slo-ms", 30,
                                   "--duration-secs", 0.4, "--precision", 0.5,
                                   "--confirmations", 1, "--first-rate", 300,
                                   code=None)
        found = runs[0]["search"]["found_rate"]
        if found is None:  # too busy a machine to confirm any
            met = [point["target_rate"] for point in runs[0]["points"]
                   if point["purpose"].endswith(": met")]
            told = (f"{max(met):.0f} requests/s kept p99 <= 30 ms in a try, but "
                    "no rate was confirmed" if met else
                    "no rate was found with p99 <= 30 ms")
            self.assertIn(told, text)
        else:
            self.assertLess(found, 2100)  # 16 rows in 8 ms are 2,000/s
            self.assertIn("requests/s with p99 <= 30 ms", text)
            last = runs[0]["points"][-1]
            self.assertEqual((last["purpose"], last["target_rate"]),
                             ("confirm: met", found))
        text = self.bench("search", "-u", self.server.address, "-m", "sim",
                          "--slo-ms", 30, "--class", "a:cancel=0.1", code=1)
        self.assertIn("expected none that is cancelled", text)

    def test_tune_turns_the_server_back_even_when_it_is_stopped(self):
        command = [FERRY_BENCH, "tune", "-u", self.server.address, "-m", "sim",
                   "--slo-ms", "30", "--duration-secs", "0.4",
                   "--precision", "0.5", "--first-rate", "300",
                   "--warm-up-secs", "0.1", "--policies", "window",
                   "--max-batch-sizes", "2"]
        tune = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                stdout=subprocess.DEVNULL)
        own = "as it is: eager, 16 rows, 5 ms\n"
        with tune:
            self.assertIn(own, tune.stderr)
            for line in tune.stderr:
                if "window, 2 rows" in line:  # behind its phase
                    break
            time.sleep(0.5)
            tune.send_signal(signal.SIGINT)
            said = tune.stderr.read()
        self.assertEqual(tune.returncode, 130, said)
        self.assertRegex(said, "ferry-bench: stopped after [1-4] of 4 settings: "
                         "none was chosen with p99 <= 30 ms")
        again = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                 stdout=subprocess.DEVNULL)
        with again:
            self.assertIn(own, again.stderr)
            again.send_signal(signal.SIGINT)
            again.stderr.read()

    def test_tune_prints_the_lines_of_a_config(self):
        text = self.bench("tune", "-u", self.server.address, "-m", "sim",
                          "--slo-ms", 30, "--duration-secs", 0.4,
                          "--warm-up-secs", 0.1, "--precision", 0.5,
                          "--confirmations", 1, "--policies", "eager",
                          "--max-batch-sizes", "1", "--first-rate", 300,
                          code=None)
        self.assertIn("eager, 1 rows", text)
        # Which wins is a matter of speed, on a busy machine of chance.
        self.assertRegex(text, r"max_batch_size: (16|1)\ndynamic_batching {}\n|"
                         "no setting was found with p99 <= 30 ms")


if __name__ == "__main__":
    unittest.main()
