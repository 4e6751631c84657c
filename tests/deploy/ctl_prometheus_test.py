"""ferryctl on what a server and a real Prometheus tell: a synthetic week whose
numbers are known, a page whose counters grow by known amounts, and all that may
be wrong with either.

What asks Prometheus is skipped where scripts/prometheus.sh has not been run.
"""

import datetime
import http.server
import json
import math
import pathlib
import ssl
import tempfile
import threading
import time
import unittest
import urllib.request

from base_service import make_certificate
from ctl_case import CtlCase
from ferry_process import free_port, wait_until
from tools import Running, Tool

PROMETHEUS = Tool("prometheus")
HOUR = 3600
DAY = 24 * HOUR
SERVER = 'job="ferry",instance="a:8002"'
MODEL = f'{SERVER},model="m",version="1"'
INSTANCES = 2
CLUSTERS = ("east", "west", "")
VERSIONS_LOAD, VERSIONS_BUSY = 0.5, 0.25
CLIENTS = {"one": 0.5, "three": 1}  # of the time of an instance


class Day:
    """What the server does in each hour of each day: nothing from 20 o'clock to
    7, then more and more to noon, and less."""

    RATES = [0] * 7 + [10, 20, 30, 40, 50, 60, 55, 45, 35, 25, 15, 5, 5] + [0] * 4
    LOADS = [rate / 80 for rate in RATES]
    BUSIES = [min(1, 2 * load) for load in LOADS]
    SMS = [load / 2 for load in LOADS]
    MEMORIES = [0.5 + load / 4 for load in LOADS]
    POWERS = [100 + 200 * load for load in LOADS]


def hour_of(moment):
    return moment // HOUR % 24


def summed(rates, moment):
    """Returns a counter that grows by these rates a second, hour by hour."""
    days, rest = divmod(moment, DAY)
    hour, second = divmod(rest, HOUR)
    return (days * HOUR * sum(rates) + HOUR * sum(rates[:hour]) +
            second * rates[hour])


def openmetrics(begin, end):
    """Yields lines of a scrape a minute, half a minute past it; those of one
    series are together, as promtool wants them."""
    moments = range(begin + 30, end, 60)
    base = begin // DAY * DAY

    def series(name, labels, value):
        return (f"{name}{{{labels}}} {value(moment)} {moment}"
                for moment in moments)

    def counter(name, labels, rates):
        return series(name, labels,
                      lambda moment: 1e6 + summed(rates, moment - base))

    def gauge(name, labels, values):
        return series(name, labels, lambda moment: values[hour_of(moment)])

    yield from gauge("ferry_ready", SERVER, [1] * 24)
    yield from gauge("ferry_load_ratio", MODEL, Day.LOADS)
    yield from gauge("ferry_instances", MODEL, [INSTANCES] * 24)
    for instance in range(INSTANCES):
        yield from counter("ferry_compute_busy_seconds_total",
                           f'{MODEL},model_instance="{instance}"', Day.BUSIES)
    for client, share in CLIENTS.items():
        yield from counter("ferry_client_compute_seconds_total",
                           f'{SERVER},client="{client}",model="m"',
                           [share * busy for busy in Day.BUSIES])
    yield from gauge("ferry_device_info", f'{SERVER},uuid="GPU-1"', [1] * 24)
    yield from counter("ferry_requests_total", f'{MODEL},code="OK"', Day.RATES)
    yield from counter("ferry_refused_total", f'{MODEL},reason="memory"', [0] * 24)
    device = f'{SERVER},uuid="GPU-1"'
    yield from gauge("ferry_gpm_sm_ratio", device, Day.SMS)
    yield from gauge("ferry_gpu_power_watts", device, Day.POWERS)
    yield from gauge("ferry_device_memory_bytes", device + ',kind="total"',
                     [1e9] * 24)
    yield from gauge("ferry_device_memory_bytes", device + ',kind="used"',
                     [1e9 * share for share in Day.MEMORIES])
    # Another server, which was there on the last day alone.
    other = 'job="ferry",instance="b:8002"'
    for name, labels in (("ferry_ready", other),
                         ("ferry_instances", other + ',model="m",version="1"'),
                         ("ferry_load_ratio", other + ',model="m",version="1"')):
        for moment in moments:
            if moment >= end - DAY:
                yield f"{name}{{{labels}}} 1 {moment}"
    yield from version_that_changes(end)
    nodes = (("n1", "g5.xlarge", 0.95, 0), ("n2", "g5.xlarge", 0.96, 0),
             ("n3", "g5.xlarge", 0.31, 1), ("n4", "m5.large", 0, 0))
    for node, kind, price, is_spot in nodes:
        labels = f'node="{node}",instance_type="{kind}",region="eu-west-1"'
        for name, value in (("node_gpu_hourly_cost", price),
                            ("kubecost_node_is_spot", is_spot)):
            for moment in moments:
                if moment >= end - DAY:
                    yield f"{name}{{{labels}}} {value} {moment}"
    yield "# EOF"


def version_that_changes(end):
    """Yields lines of three servers of one job and instance, on which in the middle
    of an hour a version follows another; and of one more."""
    moments = range(end - 3 * DAY + 30, end, 60)
    change = end - 2 * DAY + HOUR // 2
    for cluster in CLUSTERS:
        labels = 'job="ferry",instance="c:8002"' + (
            f',cluster="{cluster}"' if cluster else "")
        for moment in moments:
            yield f"ferry_ready{{{labels}}} 1 {moment}"
        for version, there in (
                (1, [moment for moment in moments if moment < change]),
                (2, [moment for moment in moments if moment >= change])):
            of_version = f'{labels},model="m",version="{version}"'
            instances = 3 - version
            for name, value in (("ferry_load_ratio", VERSIONS_LOAD),
                                ("ferry_instances", instances)):
                for moment in there:
                    yield f"{name}{{{of_version}}} {value} {moment}"
            for instance in range(instances):
                for moment in there:
                    yield ("ferry_compute_busy_seconds_total"
                           f'{{{of_version},model_instance="{instance}"}} '
                           f"{VERSIONS_BUSY * (moment - there[0])} {moment}")
    # One whose labels change.
    for environment, there in (("test", [moment for moment in moments
                                         if moment < change]),
                               ("live", [moment for moment in moments
                                         if moment >= change])):
        labels = f'job="ferry",instance="d:8002",env="{environment}"'
        for name, more in (("ferry_ready", ""),
                           ("ferry_load_ratio", ',model="m",version="1"')):
            for moment in there:
                yield f"{name}{{{labels}{more}}} 1 {moment}"


def numbers_of(values, unit):
    """Returns what a table has of a week of such days, an hour each."""
    ordered = sorted(values)

    def quantile(share):
        return ordered[math.ceil(share * len(ordered)) - 1]

    return {name: f"{value * unit:.1f}" for name, value in
            (("mean", sum(values) / len(values)), ("p50", quantile(0.5)),
             ("p95", quantile(0.95)), ("peak", ordered[-1]))}


class WeekTest(CtlCase):
    """What a real Prometheus has of a week."""

    @classmethod
    def setUpClass(cls):
        PROMETHEUS.require()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        data = pathlib.Path(folder.name, "data")
        text = pathlib.Path(folder.name, "week.txt")
        # The clock goes on while it is tested: there is some more of the week.
        now = int(time.time()) // HOUR * HOUR
        text.write_text("\n".join(openmetrics(now - 8 * DAY, now + 3 * HOUR)) + "\n")
        made = PROMETHEUS.run("promtool", "tsdb", "create-blocks-from",
                              "openmetrics", "--max-block-duration=24h", text,
                              data, timeout=240)
        assert made.returncode == 0, made
        config = pathlib.Path(folder.name, "prometheus.yml")
        config.write_text("scrape_configs: []\n")
        port = free_port()
        cls.url = f"http://127.0.0.1:{port}"
        running = Running(
            ["bash", PROMETHEUS.script, "prometheus", f"--config.file={config}",
             f"--storage.tsdb.path={data}",
             f"--web.listen-address=127.0.0.1:{port}"])
        cls.enterClassContext(running)
        assert wait_until(cls.is_ready, timeout=60), running.lines
        cls.profile = ("profile", "--from-prometheus", cls.url, "--window")

    @classmethod
    def is_ready(cls):
        try:
            with urllib.request.urlopen(cls.url + "/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def test_a_week_has_the_numbers_that_it_was_made_of(self):
        answer = self.answer(*self.profile, "7d", "--label", "instance=a:8002",
                             "--policy", "s2-week")
        mean = 100 * sum(Day.LOADS) / 24
        self.assertTrue(30 > mean > 20, "the day was chosen so")
        self.assertIn(f"'mostly_idle': load was {mean:.1f} % on average",
                      answer["answer"])
        rows = {row.pop("signal"): row for row in answer["rows"]}
        # It is known of periods with requests alone, and a rate is over two.
        refused = rows.pop("refused %")
        active = 7 * sum(rate > 0 for rate in Day.RATES)
        self.assertEqual(refused.pop("samples"), str(active * 60 + 7))
        self.assertEqual(set(refused.values()), {"0.0"})
        self.assertEqual(set(rows), {"load %", "busy %", "sm %", "memory %",
                                     "power W", "requests/s"})
        for name, values, unit in (
                ("load %", Day.LOADS, 100), ("busy %", Day.BUSIES, 100),
                ("sm %", Day.SMS, 100), ("memory %", Day.MEMORIES, 100),
                ("power W", Day.POWERS, 1), ("requests/s", Day.RATES, 1)):
            self.assertEqual(rows[name], numbers_of(values, unit) |
                             {"samples": "10080"}, name)
        idle = {one["name"]: one["value"] for one in answer["numbers"]}
        self.assertEqual(idle["idle_hours"], 7 * 11)
        by_busy = 100 * sum(Day.BUSIES) / 24
        (beside,) = [one["text"] for one in answer["findings"]
                     if one["name"] == "by_busy"]
        self.assertIn(f"busy, {by_busy:.1f} %, would be", beside)
        self.assertIn('instance="a:8002"', answer["inputs"]["recording"])

    def test_what_is_saved_is_judged_alike(self):
        first = self.answer(*self.profile, "7d", "--label", "instance=a:8002",
                            "--save", "r.json")
        again = self.answer("profile", "--file", "r.json")
        for part in ("answer", "rows", "numbers", "findings"):
            self.assertEqual(again[part], first[part])
        self.assert_refused(1, "--save: ", *self.profile, "1h", "--label",
                            "instance=a:8002", "--save", "no/such/r.json")

    def test_a_server_of_a_day_is_unknown_over_a_week(self):
        label = ("--label", "instance=b:8002")
        refusal = self.assert_refused(2, "load is unknown", *self.profile, "7d",
                                      *label)
        self.assertIn("of the samples to be missing at most", refusal)
        self.assertIn("load was 100.0 % on average",
                      self.answer(*self.profile, "12h", *label)["answer"])

    def test_several_servers_are_listed(self):
        self.assert_refused(
            1, "--label: expected labels that leave one server, as "
            "instance=HOST:PORT, got 7: cluster=east instance=c:8002 job=ferry, "
            "cluster=west instance=c:8002 job=ferry, env=live instance=d:8002 "
            "job=ferry, env=test instance=d:8002 job=ferry, instance=a:8002 "
            "job=ferry, instance=b:8002 job=ferry, instance=c:8002 job=ferry",
            *self.profile, "7d")
        self.assert_refused(
            1, "got 3: cluster=east instance=c:8002 job=ferry, cluster=west ",
            *self.profile, "7d", "--label", "instance=c:8002")

    def test_server_without_the_label_that_others_have(self):
        answer = self.answer(*self.profile, "50h", "--label", "instance=c:8002",
                             "--label", "cluster=")
        self.assertIn('cluster=""', answer["inputs"]["recording"])
        self.assertIn("load was 50.0 % on average", answer["answer"])

    def test_server_whose_labels_changed_is_one(self):
        answer = self.answer(*self.profile, "60h", "--label", "instance=d:8002")
        self.assertIn("3600 samples", answer["inputs"]["recording"])
        self.assertIn("load was 100.0 % on average", answer["answer"])

    def test_a_version_that_follows_another_is_counted_once(self):
        answer = self.answer(*self.profile, "50h", "--step", "1h", "--label",
                             "instance=c:8002", "--label", "cluster=east")
        rows = {row["signal"]: row for row in answer["rows"]}
        for name, value in (("load %", VERSIONS_LOAD), ("busy %", VERSIONS_BUSY)):
            for column in ("mean", "p50", "p95", "peak"):
                self.assertAlmostEqual(float(rows[name][column]), 100 * value,
                                       delta=0.5, msg=(name, column))

    def test_without_our_series_it_cannot_know(self):
        self.assert_refused(
            2, 'expected series of a ferry-server with instance="z:8002", got '
            "none", *self.profile, "7d", "--label", "instance=z:8002")

    def test_steps_may_be_longer(self):
        answer = self.answer(*self.profile, "7d", "--step", "1h", "--label",
                             "instance=a:8002")
        self.assertIn("168 samples, one in 3600 s, 168 hours",
                      answer["inputs"]["recording"])

    def allocate(self, window, server):
        """Returns the rows of a price that are shared, and the answer."""
        (self.folder / "prices.json").write_text(json.dumps(
            {"currency": "USD", "as_of": time.strftime("%Y-%m-%d", time.gmtime()),
             "source": "test", "rows": [{"device": "slice", "region": "r",
                                         "kind": "on_demand", "per_hour": 0.77}]}))
        answer = self.answer(
            "cost", "allocate", "--from-prometheus", self.url, "--window", window,
            "--label", f"instance={server}", "--prices", "prices.json", "--device",
            "slice")
        begin, end = (datetime.datetime.fromisoformat(text) for text in
                      answer["inputs"]["use"].split(", ")[-1].split(" to "))
        hours = (end - begin).total_seconds() / HOUR
        cents = [round(100 * float(row["USD"])) for row in answer["rows"]]
        self.assertEqual(sum(cents), round(hours * 77))
        return answer, hours

    def test_price_of_a_week_is_shared_by_compute_seconds(self):
        answer, hours = self.allocate("7d", "a:8002")
        self.assertEqual(hours, 7 * 24)
        rows = {(row["model"], row["client"]): row for row in answer["rows"]}
        busy_s = 7 * HOUR * sum(Day.BUSIES)
        whole_s = max(7 * DAY, INSTANCES * busy_s)
        for client, share in (*CLIENTS.items(), ("(not known)", 0.5)):
            row = rows.pop(("m", client))
            self.assertAlmostEqual(float(row["compute s"]) / busy_s, share, 2)
            self.assertAlmostEqual(float(row["share %"]),
                                   100 * share * busy_s / whole_s, delta=0.2)
        idle = rows.pop(("(idle)", ""))
        self.assertAlmostEqual(float(idle["share %"]),
                               100 * (1 - INSTANCES * busy_s / whole_s), delta=0.2)
        self.assertEqual(rows, {})
        self.assertEqual(answer["inputs"]["device"], "GPU-1")
        self.assertEqual(answer["findings"], [])

    def test_no_hour_before_a_server_is_charged(self):
        answer, hours = self.allocate("7d", "b:8002")
        self.assertGreater(hours, 20)
        self.assertLess(hours, 24)
        self.assertEqual([one["name"] for one in answer["findings"]],
                         ["shorter_than_the_window"])
        self.assertIn("what was before is not charged",
                      answer["findings"][0]["text"])
        self.assertEqual([row["model"] for row in answer["rows"]], ["(idle)"])

    def test_price_of_one_server_is_shared(self):
        self.assert_refused(
            1, "--label: expected labels that leave one server", "cost",
            "allocate", "--from-prometheus", self.url, "--prices", "prices.json",
            "--device", "slice")

    def test_hours_of_a_week_without_requests_are_saved(self):
        idle = sum(rate == 0 for rate in Day.RATES) * 7
        (self.folder / "prices.json").write_text(json.dumps(
            {"currency": "USD", "as_of": time.strftime("%Y-%m-%d", time.gmtime()),
             "source": "test", "rows": [
                 {"device": "d", "region": "r", "kind": kind, "per_hour": price,
                  **term} for kind, price, term in
                 (("on_demand", 2, {}),
                  ("reserved", 1, {"term_hours": 8760}))]}))
        week = ("--from-prometheus", self.url, "--window", "7d", "--label",
                "instance=a:8002")
        prices = ("--prices", "prices.json", "--device", "d")
        answer = self.answer("cost", "schedule", *prices, *week)
        numbers = {one["name"]: one["value"] for one in answer["numbers"]}
        self.assertEqual(numbers["idle_hours"], idle)
        self.assertAlmostEqual(numbers["off_share"], idle / 168)
        self.assertAlmostEqual(numbers["saved_per_month"], 2 * 720 * idle / 168,
                               1)
        self.assertIn("on for 91 of 168 hours a week", answer["answer"])
        self.assertIn('instance="a:8002"', answer["inputs"]["recording"])
        # Half the price for all hours against the price for 91 of 168.
        answer = self.answer("advise", *week, *prices)
        rows = {row["step"]: row["answer"] for row in answer["rows"]}
        self.assertIn(f"load was {100 * sum(Day.LOADS) / 24:.1f} % on average",
                      rows["measure"])
        numbers = {one["name"]: one["value"] for one in answer["numbers"]}
        self.assertAlmostEqual(numbers["used_share"], 91 / 168)
        self.assert_refused(1, "expected one of --on-hours-per-week and a "
                            "recording (--file, --duration or --from-prometheus), "
                            "got both", "cost", "schedule", *prices, *week,
                            "--on-hours-per-week", "60")
        self.assert_refused(1, "got none", "cost", "schedule", *prices)

    def test_prices_of_opencost(self):
        cost = ("cost", "spot", "--prices", self.url, "--device", "g5.xlarge",
                "--interruptible")
        answer = self.answer(*cost)
        given = json.dumps(answer)
        self.assertIn("OpenCost's node_gpu_hourly_cost in " + self.url, given)
        self.assertIn("USD", given)
        per_hour = {one["name"]: one["value"] for one in answer["numbers"]}
        self.assertIn(0.96, per_hour.values(), "the dearest on demand")
        self.assertIn(0.31, per_hour.values(), "the spot node")
        self.assertIn("EUR", json.dumps(self.answer(*cost, "--currency", "EUR")))
        self.assert_refused(2, "no price of 'm5.large'", "cost", "schedule",
                            "--prices", self.url, "--device", "m5.large",
                            "--on-hours-per-week", "60")


class Replies:
    """A server whose replies are made by `reply(path, headers)`, which returns a
    code and a body; `with` ends it."""

    def __init__(self, reply, pair=None):  # of a key and a certificate
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                code, body = reply(self.path, self.headers)
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if pair:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certfile=pair[1], keyfile=pair[0])
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True,
                do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class WrongPrometheusTest(CtlCase):

    def profile(self, address):
        return ("profile", "--from-prometheus", f"http://{address}")

    def test_away(self):
        address = f"127.0.0.1:{free_port()}"
        self.assert_refused(2, f"http://{address}/api/v1/query: expected an "
                            "answer within ", *self.profile(address))
        self.assert_refused(2, "got none (Connection)", "cost", "schedule",
                            "--prices", f"http://{address}", "--device", "L4",
                            "--on-hours-per-week", "60")

    def test_its_error_is_told_escaped_and_cut(self):
        body = json.dumps({"status": "error", "errorType": "timeout",
                           "error": "query \x1b[2J timed out" + "!" * 1000})
        with Replies(lambda *_: (503, body.encode())) as wrong:
            told = self.assert_refused(
                2, "Prometheus answers an error, timeout: query \\x1b[2J timed "
                "out!!!", *self.profile(wrong.address))
        self.assertLess(len(told), 400)

    def test_another_server(self):
        with Replies(lambda *_: (200, b"<html></html>")) as wrong:
            self.assert_refused(2, "expected an answer of Prometheus, got HTTP "
                                "code 200 and '<html></html>'",
                                *self.profile(wrong.address))

    def test_without_prices(self):
        def reply(path, _):
            result = [{"metric": {}, "value": [1e9, "1e9"]}] if "time" in path else []
            return 200, json.dumps({"status": "success", "data": {
                "resultType": "vector", "result": result}}).encode()

        with Replies(reply) as empty:
            self.assert_refused(
                2, "expected node_gpu_hourly_cost above 0, got none", "cost",
                "schedule", "--prices", f"http://{empty.address}", "--device",
                "L4", "--on-hours-per-week", "60")

    def test_token_that_would_go_unencrypted_is_told(self):
        (self.folder / "token").write_text("sesame")
        warning = ("ferryctl: --token-file: without TLS the token can be read on "
                   "its way to nowhere.invalid: give ")
        token = ("--timeout-secs=1", "--token-file=token")
        for command, remedy in (
                ((*self.profile("nowhere.invalid"), token[1]), "https://"),
                (("health", "--address=nowhere.invalid:1", *token),
                 "https:// or --tls-ca"),
                (("drain", "--address=nowhere.invalid:1", *token), "--tls-ca"),
                (("health", "--address=https://nowhere.invalid", *token), None),
                (("health", "--address=[::1]:1", *token), None),
                (("drain", "--address=unix:no.sock", *token), None),
                (("health", "--address=127.0.0.1:1", *token), None)):
            ended = self.ask(*command)
            self.assertEqual(ended.returncode, 2, ended)
            told = ended.stderr.splitlines()[0]
            if remedy:
                self.assertEqual(told, warning + remedy, ended)
            else:
                self.assertNotIn("without TLS the token", told)

    def test_wrong_flags(self):
        self.assert_refused(1, "expected one of --file, --duration and "
                            "--from-prometheus, got 0", "profile")
        self.assert_refused(1, "got 2", "profile", "--file", "r.json",
                            "--duration", "60s")
        self.assert_refused(1, "--from-prometheus", "profile", "--window", "7d")
        self.assert_refused(1, "--duration", "profile", "--from", "a:1")
        for wrong in ("", "60", "s", "-1s", "0s", "2d", "1.5s", "1y", "nans", "0x9s"):
            self.assert_refused(
                1, "--duration: expected a whole number of s, m, h or d, as 60s, "
                f"at most 86400s, got '{wrong}'", "profile", "--duration", wrong)
        nowhere = self.profile("127.0.0.1:1")
        self.assert_refused(1, "--label: expected NAME=VALUE", *nowhere,
                            "--label", "pod")
        self.assert_refused(1, "got 20160 of 30s; 60s do", *nowhere, "--step", "30s")
        self.assert_refused(1, "--window", *nowhere, "--window", "7")
        self.assert_refused(1, "--from-prometheus: expected", "profile",
                            "--from-prometheus", "ftp://a")
        (self.folder / "prices.json").write_text("{}")
        self.assert_refused(1, "--currency: expected with prices of a Prometheus",
                            "cost", "rank", "--prices", "prices.json",
                            "--currency", "EUR", "--rate", "L4=1")


class LiveTest(CtlCase):
    """A page whose counters grow by known amounts from one read to the next: so
    much is known of its samples however long a second takes."""

    ROWS, BUSY_S, REQUESTS, CAPACITY = 40, 0.25, 20, 200

    def page(self, reads, start=1e9):
        model = 'model="m",version="1"'
        return "\n".join((
            f"ferry_capacity_rows_per_second{{{model}}} {self.CAPACITY}",
            f"ferry_instances{{{model}}} 2",
            f"ferry_arrived_rows_total{{{model}}} {self.ROWS * reads}",
            f'ferry_compute_busy_seconds_total{{{model},model_instance="0"}} '
            f"{self.BUSY_S * reads}",
            f'ferry_requests_total{{{model},code="OK"}} {self.REQUESTS * reads}',
            'ferry_device_memory_bytes{uuid="G",kind="total"} 1000',
            'ferry_device_memory_bytes{uuid="G",kind="used"} '
            f"{300 + reads}",
            f"process_start_time_seconds {start}", "")).encode()

    def test_samples_are_differences(self):
        reads = []

        def reply(path, headers):
            if headers.get("Authorization") != "Bearer sesame":
                return 401, b"no"
            reads.append(path)
            return 200, self.page(len(reads))

        (self.folder / "token").write_text("sesame\n")
        with Replies(reply) as server:
            profile = ("profile", "--from", server.address, "--duration", "31s")
            self.assert_refused(1, "/metrics: HTTP code 401, 'no'; --token-file "
                                "gives a token", *profile)
            self.answer(*profile, "--token-file", "token", "--save", "r.json",
                        "--signal", "memory", "--policy", "s1-memory")
        self.assertEqual(reads, ["/metrics"] * 32)
        recording = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(recording["period_seconds"], 1)
        self.assertEqual(set(recording) - {"format", "period_seconds"},
                         {"load", "busy", "memory", "requests_per_second"})
        self.assertEqual(recording["memory"],
                         [(301 + read) / 1000 for read in range(1, 32)])
        for load, busy, requests in zip(
                recording["load"], recording["busy"],
                recording["requests_per_second"], strict=True):
            if load is None:  # a second that took two of them
                self.assertIsNone(busy)
                continue
            self.assertGreater(load, 0)
            self.assertAlmostEqual(
                load / busy, self.ROWS / self.CAPACITY / (self.BUSY_S / 2))
            self.assertAlmostEqual(
                requests / load, self.REQUESTS * self.CAPACITY / self.ROWS)

    def test_a_restart_is_a_gap_and_a_page_that_fails_is_bridged(self):
        reads = []

        def reply(*_):
            reads.append(1)
            if len(reads) == 2:
                return 500, b"no"
            return 200, self.page(len(reads), start=len(reads) // 5)

        with Replies(reply) as server:
            self.assert_refused(2, "load is unknown: expected 30 samples or more",
                                "profile", "--from", f"http://{server.address}",
                                "--duration", "5s", "--save", "r.json")
        recording = json.loads((self.folder / "r.json").read_text())
        # Reads 1 to 6: the second fails, before the fifth it began anew.
        load = recording["load"]
        self.assertEqual([one is None for one in load],
                         [False, False, False, True, False])
        self.assertEqual(load[0], load[1])
        self.assertEqual(recording["memory"],
                         [None, 0.303, 0.304, 0.305, 0.306])

    def test_addresses_of_ipv6_may_have_letters(self):
        with Replies(lambda *_: (200, self.page(1))) as server:
            port = server.address.partition(":")[2]
            for address in (f"[::ffff:7f00:1]:{port}",
                            f"http://[::ffff:127.0.0.1]:{port}"):
                self.assert_refused(2, "load is unknown: expected 30 samples",
                                    "profile", "--duration", "1s", "--from",
                                    address)

    def test_certificates_are_checked(self):
        pair = make_certificate(self.folder, "localhost")
        other = make_certificate(self.folder, "elsewhere")
        with Replies(lambda *_: (200, self.page(1)), pair) as server:
            address = "localhost:" + server.address.partition(":")[2]
            live = ("profile", "--duration", "1s", "--from")
            for either in (address, "https://" + address):
                self.assert_refused(2, "load is unknown: expected 30 samples",
                                    *live, either, "--tls-ca", pair[1])
            live += ("https://" + address,)
            for trusted in ((), ("--tls-ca", other[1])):
                self.assert_refused(2, "got none (SSLServerVerification); its "
                                    "certificate is to be of that name", *live,
                                    *trusted)
        self.assert_refused(2, "cannot read", *live, "--tls-ca", "none.pem")

    def test_what_is_no_server_of_ferry(self):
        address = f"127.0.0.1:{free_port()}"
        live = ("profile", "--duration", "1s", "--from")
        self.assert_refused(2, f"http://{address}/metrics: expected an answer "
                            "within 1 s, got none (Connection)", *live, address)
        with Replies(lambda *_: (200, b"nv_gpu_utilization 1\n")) as other:
            self.assert_refused(2, "expected the metrics of a ferry-server",
                                *live, other.address)
        with Replies(lambda *_: (404, b"")) as other:
            self.assert_refused(2, "expected /metrics of a ferry-server's metrics "
                                "port, got HTTP code 404", *live, other.address)
        (self.folder / "token").write_text("")
        self.assert_refused(1, "expected one token", *live, address,
                            "--token-file", "token")


if __name__ == "__main__":
    unittest.main()
