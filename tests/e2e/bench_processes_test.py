"""ferry-bench with several processes, and results of several machines: every
request is counted once, and nothing is left hanging."""

import csv
import json
import os
import signal
import subprocess
import tempfile
import unittest

from ferry_process import FerryProcess, sim_config, wait_until

FERRY_BENCH = os.environ["FERRY_BENCH"]
LIMIT_S = 100


def processes_with(text):
    """Returns the pids of the processes whose command line has that."""
    pids = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if name.isdigit() and text.encode() in file.read():
                    pids.append(int(name))
        except OSError:
            continue  # it has ended, or is no process
    return pids


class BenchProcessesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.json = os.path.join(folder.name, "result.json")
        self.log = os.path.join(folder.name, "stamps.csv")
        repository = os.path.join(folder.name, "models")
        os.makedirs(os.path.join(repository, "sim", "1"))
        with open(os.path.join(repository, "sim", "config.pbtxt"), "w",
                  encoding="utf-8") as config:
            config.write(sim_config(16, alpha_ms=4, beta_ms=0.25))
        # One of its own: what others left under way would be counted.
        self.server = FerryProcess("--model-repository", repository,
                                   models=None)
        self.addCleanup(self.server.stop)

    def bench(self, *flags, code=0):
        done = subprocess.run([FERRY_BENCH, *(str(flag) for flag in flags)],
                              text=True, capture_output=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def command(self, *flags):
        return ["run", "-u", self.server.address, "-m", "sim", "--metrics",
                f"127.0.0.1:{self.server.metrics_port}", "--json", self.json,
                *flags]

    def result(self):
        with open(self.json, encoding="utf-8") as file:
            return json.load(file)["runs"][0]

    def point(self, *flags):
        self.bench(*self.command("--warm-up-secs", 0, *flags))
        return self.result()["points"][0]

    def answered(self):
        return self.server.metric("ferry_requests_total", model="sim", code="OK")

    def assert_answered(self, expected):
        """The server counts a moment after it answers."""
        wait_until(lambda: self.answered() == expected)
        self.assertEqual(self.answered(), expected)

    def start(self, *flags, processes=2, rates=200):
        """Returns the processes and their parent, that send for long, in a
        group of their own, once the server has answered some."""
        answered = self.answered()
        parent = subprocess.Popen(
            [FERRY_BENCH, *self.command("--processes", str(processes),
                                        "--rates", str(rates),
                                        "--duration-secs", "600",
                                        "--warm-up-secs", "0", *flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self.addCleanup(parent.stdout.close)
        self.addCleanup(parent.stderr.close)
        self.addCleanup(parent.kill)
        self.assertTrue(wait_until(lambda: self.answered() > answered + 50, 60))
        return parent

    def assert_none_left(self):
        self.assertTrue(wait_until(lambda: not processes_with(self.json), 30),
                        "a process was left")

    def test_processes_send_just_what_one_would(self):
        plans = []
        for processes in (1, 2, 3):
            answered = self.answered()
            point = self.point("--processes", processes, "--rates", 300,
                               "--duration-secs", 2, "--arrivals", "bursts:4",
                               "--log", self.log, "--queues", 1)
            # Each process, and the one that started several, asks once before.
            asked = processes + (processes > 1)
            self.assert_answered(answered + point["ok"] + asked)
            self.assertEqual(sum(count for _, count in
                                 point["histogram"]["buckets"]), point["ok"])
            self.assertEqual(sum(s["planned"] for s in point["series"]),
                             point["planned"])
            with open(self.log, encoding="utf-8") as file:
                stamps = list(csv.DictReader(file))
            self.assertEqual(len(stamps), point["planned"])
            plans.append(sorted(int(s["planned_ns"]) for s in stamps))
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])

    def test_outstanding_calls_are_dealt_and_classes_joined(self):
        answered = self.answered()
        point = self.point("--processes", 3, "--outstanding", 2,
                           "--duration-secs", 0.5, "--class", "a:weight=1",
                           "--class", "b:weight=2,rows=2")
        # Six first replies of the processes, two of the one that started them.
        self.assert_answered(answered + point["ok"] + 8)
        self.assertEqual(point["outstanding"], 2)
        self.assertEqual(sum(c["ok"] for c in point["classes"]), point["ok"])

    def test_point_says_what_the_server_did(self):
        point = self.point("--outstanding", 8, "--duration-secs", 1)
        server = point["server"]
        for part in ("queue_us", "compute_input_us", "compute_infer_us",
                     "compute_output_us"):
            self.assertGreaterEqual(server[part], 0)
        self.assertGreater(server["compute_infer_us"], 4000)
        batches = sum(server["batches"].values())
        rows = sum(int(rows) * count
                   for rows, count in server["batches"].items())
        self.assertAlmostEqual(point["mean_rows"], rows / batches)
        self.assertGreater(sum(server["close_reasons"].values()), 0)
        run = self.result()
        self.assertEqual(run["config"]["outstanding"], "8")
        self.assertEqual(run["config"]["max-outstanding"], "8192")
        self.assertIn("statistics", run["server"]["extensions"])
        self.assertGreater(run["machine"]["memory_bytes"], 0)

    def test_tries_that_end_early_say_what_the_server_did(self):
        search = subprocess.Popen(  # nothing keeps this bound
            [FERRY_BENCH, "search", *self.command("--slo-ms", "1")[1:],
             "--first-rate", "200", "--warm-up-secs", "0",
             "--duration-secs", "60"], stderr=subprocess.PIPE, text=True,
            stdout=subprocess.DEVNULL)
        with search:
            for line in search.stderr:
                if "bracket: " in line:
                    break
            search.send_signal(signal.SIGINT)
            said = search.stderr.read()
        self.assertEqual(search.returncode, 130, said)
        self.assertRegex(said, "ferry-bench: stopped after [0-9]+ loads?: no "
                         "rate was found with p99 <= 1 ms")
        point = self.result()["points"][0]
        self.assertLess(point["window_s"], 60)
        self.assertGreater(sum(point["server"]["batches"].values()), 0)

    def test_interrupt_of_all_gives_the_joined_report(self):
        parent = self.start()
        os.killpg(parent.pid, signal.SIGINT)
        out, err = parent.communicate(timeout=LIMIT_S)
        self.assertEqual(parent.returncode, 130, out + err)
        self.assertIn("ferry-bench: interrupted: 1 of 1 load was cut short", err)
        point = self.result()["points"][0]
        self.assertTrue(point["interrupted"])
        self.assertGreater(point["ok"], 0)
        self.assertEqual(point["ok"] + sum(point["errors"].values()),
                         point["planned"])
        self.assert_none_left()

    def test_interrupt_says_how_many_loads_were_left(self):
        for processes in (1, 2):
            with self.subTest(processes=processes):
                parent = self.start("--repeat", "2", processes=processes,
                                    rates="200,300")
                os.killpg(parent.pid, signal.SIGINT)
                out, err = parent.communicate(timeout=LIMIT_S)
                self.assertEqual(parent.returncode, 130, out + err)
                self.assertIn("ferry-bench: interrupted: 3 of 4 loads were not "
                              "measured, 1 was cut short", err)
                self.assertEqual(len(self.result()["points"]), 1)
        self.assert_none_left()

    def test_second_interrupt_ends_all_on_the_spot(self):
        parent = self.start()
        # Without its answers they would wait for ten seconds.
        self.server.signal(signal.SIGSTOP)
        self.addCleanup(self.server.signal, signal.SIGCONT)

        def has_ended():
            if parent.poll() is None:
                os.killpg(parent.pid, signal.SIGINT)
            return parent.poll() is not None
        self.assertTrue(wait_until(has_ended))
        self.assertEqual(parent.returncode, 130)
        self.assert_none_left()

    def test_killed_process_ends_all_with_its_name(self):
        parent = self.start()
        workers = processes_with(self.json)
        workers.remove(parent.pid)
        self.assertEqual(len(workers), 2)
        os.kill(workers[0], signal.SIGKILL)
        out, err = parent.communicate(timeout=LIMIT_S)
        self.assertEqual(parent.returncode, 1, out + err)
        self.assertRegex(err, rf"process [12] of 2 of the client \(pid "
                         rf"{workers[0]}\): was killed by signal 9")
        self.assertFalse(os.path.exists(self.json))
        self.assert_none_left()

    def search(self, *flags):
        command = self.command("--slo-ms", 30, "--processes", 2,
                               "--warm-up-secs", 0.1, "--precision", 0.5,
                               "--confirmations", 1, *flags)
        return [FERRY_BENCH, "search", *map(str, command[1:])]

    def test_search_is_of_several_processes_too(self):
        answered = self.answered()
        done = subprocess.run(
            self.search("--duration-secs", 0.4, "--saturation-outstanding", 8),
            text=True, capture_output=True, timeout=LIMIT_S, check=False)
        run = self.result()
        first, *tries = run["points"]
        self.assertEqual((first["loop"], first["outstanding"]), ("closed", 8))
        self.assertAlmostEqual(
            tries[0]["target_rate"] / first["achieved_rate"], 0.5, 3)
        self.assertEqual(run["config"]["processes"], "2")
        for point in tries:  # a bound of 30 ms takes windows of 1.5 s
            self.assertAlmostEqual(point["window_s"], 1.5, 3)
            self.assertEqual(point["ok"] + sum(point["errors"].values()),
                             point["planned"])
        # Whether one is found is a matter of how busy it is here.
        self.assertEqual(done.returncode,
                         0 if run["search"]["found_rate"] else 1, done.stderr)
        ok = sum(point["ok"] for point in run["points"])
        self.assertTrue(wait_until(lambda: self.answered() >= answered + ok))
        self.assert_none_left()

    def test_killed_process_ends_a_search_with_its_name(self):
        answered = self.answered()
        search = subprocess.Popen(
            self.search("--first-rate", 100, "--duration-secs", 600),
            stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
        self.addCleanup(search.kill)
        with search:
            self.assertTrue(wait_until(
                lambda: self.answered() > answered + 50, 60))
            workers = processes_with(self.json)
            workers.remove(search.pid)
            os.kill(workers[0], signal.SIGKILL)
            err = search.stderr.read()
        self.assertEqual(search.returncode, 1, err)
        self.assertRegex(err, rf"process [12] of 2 of the client \(pid "
                         rf"{workers[0]}\): was killed by signal 9")
        self.assert_none_left()

    def test_processes_end_with_who_started_them(self):
        parent = self.start()
        parent.kill()
        parent.wait(LIMIT_S)
        self.assert_none_left()

    def test_processes_without_a_server_share_a_load_too(self):
        counts = []
        for processes in (1, 2):
            self.bench("local", "--target", "null", "--rates", 2000,
                       "--duration-secs", 0.5, "--warm-up-secs", 0,
                       "--processes", processes, "--json", self.json)
            point = self.result()["points"][0]
            self.assertEqual(point["ok"], point["planned"])
            counts.append(point["planned"])
        self.assertEqual(counts[0], counts[1])
        text = self.bench("local", "--target", "batcher", "--processes", 2,
                          code=1)
        self.assertIn("expected --target null", text)
        text = self.bench("local", "--as-process", 0, code=1)
        self.assertIn("found none", text)

    def test_results_of_several_machines_add_up(self):
        paths = []
        for seed in (1, 2):
            self.point("--rates", 200, "--duration-secs", 1, "--seed", seed)
            paths.append(os.path.join(self.folder, f"{seed}.json"))
            with open(self.json, encoding="utf-8") as file:
                document = json.load(file)
            # As if they had been measured at one time.
            document["runs"][0]["points"][0]["begun"] = "2030-01-02T03:04:05Z"
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(document, file)
        self.bench("merge", *paths, "--json", self.json)
        merged = self.result()["points"][0]
        buckets = {}
        ok = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                point = json.load(file)["runs"][0]["points"][0]
            ok += point["ok"]
            for highest, count in point["histogram"]["buckets"]:
                buckets[highest] = buckets.get(highest, 0) + count
        self.assertEqual(merged["ok"], ok)
        self.assertEqual(merged["target_rate"], 400)
        self.assertEqual(dict(merged["histogram"]["buckets"]), buckets)
        text = self.bench("merge", paths[0], paths[0], code=1)
        self.assertIn("expected another seed", text)
        self.bench("merge", paths[0], code=1)


if __name__ == "__main__":
    unittest.main()
