"""deploy/prometheus, by Prometheus's own tools: its rules by their tests, what
they name by the sources, and a real Prometheus that scrapes a real server.

Skipped where scripts/prometheus.sh has not been run.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from ending_test import Client, code_of, one_row
from ferry_process import FerryProcess, free_port, wait_until
from tools import ROOT, Tool

TOOL = Tool("prometheus")
FOLDER = ROOT / "deploy" / "prometheus"
RULES = FOLDER / "rules.yaml"
TESTS = [FOLDER / "rules_test.yaml", FOLDER / "rules_week_test.yaml"]
DASHBOARD = ROOT / "deploy" / "grafana" / "ferry.json"
QUERIES = [RULES, FOLDER / "adapter.yaml",
           ROOT / "deploy" / "keda" / "scaled_object.yaml", DASHBOARD]
# As rules.yaml itself names what it records.
# Also what stands as a comment until someone has a value for it.
RECORDED = re.compile(r"(?m)^ *(?:# )?- record: (\S+)")
ALERT = re.compile(r"(?m)^ *- alert: (\S+)")


def setUpModule():
    TOOL.require()


def promtool(*arguments, **options):
    return TOOL.run("promtool", *arguments, timeout=240, **options)


class RulesTest(unittest.TestCase):

    def test_rules_pass_their_tests(self):
        checked = promtool("check", "rules", RULES)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        tested = promtool("test", "rules", *TESTS)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_another_threshold_would_be_found(self):
        with tempfile.TemporaryDirectory() as folder:
            text = RULES.read_text()
            self.assertIn("[7d]) < 0.30", text)
            pathlib.Path(folder, "rules.yaml").write_text(
                text.replace("[7d]) < 0.30", "[7d]) < 0.28"))
            tests = pathlib.Path(folder, "rules_week_test.yaml")
            tests.write_text(TESTS[1].read_text())
            tested = promtool("test", "rules", tests)
            self.assertNotEqual(tested.returncode, 0)
            self.assertIn("FerryMostlyIdle", tested.stderr + tested.stdout)

    def test_every_alert_has_a_test_and_a_section_of_the_runbook(self):
        alerts = ALERT.findall(RULES.read_text())
        self.assertGreater(len(alerts), 10)
        # Without any data only one fires: what is before it says when each does.
        tests = TESTS[0].read_text()
        tests = (tests[:tests.index("# A server that is there and tells no load")] +
                 TESTS[1].read_text())
        runbook = (ROOT / "docs" / "runbook.md").read_text()
        for alert in alerts:
            cases = re.findall(rf"alertname: {alert}\n +exp_alerts:(.*)", tests)
            self.assertIn("", cases, f"{alert} never fires")
            self.assertIn(" []", cases, f"{alert} always fires")
            self.assertIn(f"\n## {alert}\n", runbook)
            self.assertIn(f"docs/runbook.md#{alert.lower()}\n",
                          RULES.read_text())

    def test_metrics_are_those_of_the_server(self):
        sources = "".join(
            path.read_text() for path in (ROOT / "server").rglob("*.cc"))
        recorded = set(RECORDED.findall(RULES.read_text()))
        for path in QUERIES:
            text = re.sub(r"(?m)^ *#.*", "", path.read_text())
            for name in re.findall(r"\bferry:[\w:]+", text):
                self.assertIn(name, recorded, path)
            for name in re.findall(r"\bferry_\w+", text):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                if name in ("ferry_load", "ferry_queue_wait_mean_seconds"):
                    continue  # what the adapter makes
                self.assertIn(f'"{base}"', sources, path)


def shown():
    """Returns (title, expression) of what the dashboard's panels ask."""
    return [(panel["title"], target["expr"])
            for panel in json.loads(DASHBOARD.read_text())["panels"]
            for target in panel.get("targets", [])]


class DashboardTest(unittest.TestCase):

    def test_it_is_what_the_generator_writes(self):
        tool = Tool("dashboard")
        tool.require()
        written = tool.run()
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(written.stdout, DASHBOARD.read_text())


class Prometheus:
    """A real one that scrapes a server each second; `with` stops it."""

    def __init__(self, metrics_port):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name, "prometheus.yml")
        rules = pathlib.Path(self.folder.name, "rules.yml")
        rules.write_text(RULES.read_text())
        config.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            "rule_files: [rules.yml]\n"
            "scrape_configs:\n  - job_name: ferry\n    static_configs:\n"
            f"      - targets: ['127.0.0.1:{metrics_port}']\n")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/api/v1/"
        self.log = open(pathlib.Path(self.folder.name, "log"), "w+",
                        encoding="utf-8")
        self.process = subprocess.Popen(
            ["bash", TOOL.script, "prometheus", f"--config.file={config}",
             f"--storage.tsdb.path={self.folder.name}/data",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=self.log, stderr=self.log)

    def ask(self, path, **fields):
        try:
            with urllib.request.urlopen(
                    self.url + path + "?" + urllib.parse.urlencode(fields),
                    timeout=10) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            return json.load(error)
        except OSError:
            return None

    def query(self, text):
        """Returns the samples, as {labels and value}; an error is one, too."""
        told = self.ask("query", query=text)
        if told is None or "result" not in told:
            raise AssertionError(f"{text}: {told}")
        return told["result"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()
        self.folder.cleanup()


def bench(server):
    """Returns what ferry-bench saw of four clients in 4 s."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        subprocess.run(
            [os.environ["FERRY_BENCH"], "run", "-u", server.address, "-m",
             "sim", "--outstanding", "4", "--duration-secs", "4",
             "--warm-up-secs", "0", "--json", path],
            capture_output=True, timeout=60, check=True)
        return json.loads(path.read_text())["runs"][0]["points"][0]


class ScrapeTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess("--metrics-compat=triton", models=["sim"])
        cls.addClassCleanup(cls.server.stop)
        cls.prometheus = Prometheus(cls.server.metrics_port)
        cls.addClassCleanup(cls.prometheus.__exit__)
        cls.bench = bench(cls.server)
        with Client(cls.server) as client:
            served = 0
            while served < 10 or not cls.prometheus.ask(
                    "query", query="ferry:load") or len(
                        cls.prometheus.query("ferry:load")) == 0:
                assert code_of(client.start(one_row("sim"))) == "OK"
                served += 1
                assert served < 100_000

    def test_scrape_has_no_error(self):
        (target,) = self.prometheus.ask("targets")["activeTargets"]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))

    def test_text_is_sound(self):
        checked = promtool("check", "metrics",
                      input=self.server.get("/metrics")[1])
        complaints = [line for line in checked.stdout.splitlines() +
                      checked.stderr.splitlines() if "ferry_" in line]
        self.assertEqual(complaints, [])

    def test_every_rule_can_be_evaluated(self):
        def rules():
            return [rule for group in self.prometheus.ask("rules")["groups"]
                    for rule in group["rules"]]

        self.assertGreater(len(rules()), 25)
        self.assertTrue(wait_until(
            lambda: all(rule["health"] != "unknown" for rule in rules())))
        for rule in rules():
            self.assertEqual(rule["health"], "ok", rule)

    def test_queries_of_dashboards_made_for_triton_have_data(self):
        """Those of public dashboards and scalers, by what they ask."""
        for text in ("sum by (model) (rate(nv_inference_request_success[1m]))",
                     "sum(rate(nv_inference_request_failure[1m]))",
                     "rate(nv_inference_count[1m]) / "
                     "rate(nv_inference_exec_count[1m])",
                     "rate(nv_inference_queue_duration_us[1m]) / "
                     "rate(nv_inference_request_success[1m]) / 1000",
                     "rate(nv_inference_request_duration_us[1m]) / "
                     "rate(nv_inference_request_success[1m])",
                     "rate(nv_inference_queue_duration_us[1m]) / clamp_min("
                     "rate(nv_inference_compute_infer_duration_us[1m]), 1)",
                     "sum by (model) (nv_inference_pending_request_count)"):
            self.assertTrue(wait_until(
                lambda text=text: any(
                    one["value"][1] != "NaN"
                    for one in self.prometheus.query(text))), text)

    def test_queries_of_the_runbook_can_be_asked(self):
        runbook = (ROOT / "docs" / "runbook.md").read_text()
        asked = re.findall(r"(?m)^    (.+)$", runbook)
        asked += re.findall(r"`([^`]*over_time[^`]*)`", runbook)
        self.assertGreaterEqual(len(asked), 5)
        for text in asked:
            self.prometheus.query(text)

    def test_every_panel_of_the_dashboard_has_data(self):
        # What only a device tells, and what only a failure does.
        absent = re.compile("ferry_device_|ferry_gpm_|ferry_gpu_|code!=")
        asked = shown()
        self.assertGreater(len(asked), 25)
        for title, text in asked:
            text = (text.replace("$job", "ferry").replace("$price", "2.5")
                    .replace("$__rate_interval", "1m"))
            with self.subTest(title=title, query=text):
                self.assertTrue(
                    absent.search(text) and
                    self.prometheus.query(text) == [] or
                    wait_until(lambda text=text: self.prometheus.query(text)),
                    text)

    def test_p99_is_within_a_bucket_of_what_the_client_saw(self):
        """By histogram_quantile. Nearly all requests are ferry-bench's."""
        bounds = sorted(
            {float(bound) for bound in re.findall(
                r'ferry_request_seconds_bucket\{.*le="([0-9.e-]+)"',
                self.server.get("/metrics")[1])})
        self.assertEqual(len(bounds), 17)
        (told,) = self.prometheus.query(
            "histogram_quantile(0.99, sum by (le) "
            "(ferry_request_seconds_bucket))")

        def bucket(seconds):
            return sum(bound < seconds for bound in bounds)

        seen = self.bench["latency"]["p99_us"] / 1e6
        self.assertLessEqual(
            abs(bucket(float(told["value"][1])) - bucket(seen)), 1,
            (told, seen))


if __name__ == "__main__":
    unittest.main()
