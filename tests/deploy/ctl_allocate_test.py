"""ferryctl cost allocate on a running server with two clients: the shares are the
device's price to the cent."""

import csv
import datetime
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import grpc
import jsonschema
from tritonclient.grpc import service_pb2_grpc

import trust
from ending_test import one_row
from ferry_process import FerryProcess, free_port, wait_until
from tools import ROOT

CTL = os.environ["FERRY_CTL"]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/ctl-answer.schema.json").read_text()))
TOKENS = {name: f"{name}-5ca1ab1e-token" for name in ("little", "much")}
MODEL = "slow"  # 150 ms a request, one after the other
REQUESTS = {"little": 2, "much": 6}
PER_HOUR = 36_000  # 10 a second: seconds of a test are many cents


class AllocateTest(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-trust-")))
        tokens = self.folder / "tokens"
        trust.write(str(tokens), "".join(
            trust.token_line(name, "infer,read", token)
            for name, token in TOKENS.items()))
        (self.folder / "token").write_text(TOKENS["much"])
        (self.folder / "prices.json").write_text(json.dumps(
            {"currency": "USD", "as_of": datetime.date.today().isoformat(),
             "source": "test", "rows": [
                 {"device": "slice", "region": "r", "kind": "on_demand",
                  "per_hour": PER_HOUR}]}))
        self.server = self.enterContext(FerryProcess(
            f"--auth-token-file={tokens}", models=[MODEL]))
        self.allocate = ("cost", "allocate", "--from",
                         f"127.0.0.1:{self.server.metrics_port}", "--prices",
                         "prices.json", "--device", "slice")

    def ask(self, *flags):
        return subprocess.run([CTL, *flags], cwd=self.folder, capture_output=True,
                              text=True, timeout=60, check=False)

    def answer(self):
        ended = self.ask(*self.allocate, "--token-file", "token", "--json")
        self.assertEqual(ended.returncode, 0, ended)
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        return answer

    def infer(self):
        with grpc.insecure_channel(self.server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            for client, count in REQUESTS.items():
                for _ in range(count):
                    stub.ModelInfer(one_row(MODEL), timeout=60,
                                    metadata=trust.bearer(TOKENS[client]))

    def test_shares_of_two_clients_are_the_price(self):
        before = self.answer()
        self.assertEqual(
            [(row["model"], row["share %"]) for row in before["rows"]][-1],
            ("(idle)", "100.0"), "nothing but a warm-up was computed")
        self.infer()
        rows = {}

        def is_counted():  # a reply leaves before its batch is counted
            self.now = self.answer()
            rows.clear()
            rows.update({row["client"]: row for row in self.now["rows"]
                         if row["model"] == MODEL})
            return all(float(rows.get(name, {}).get("compute s", 0)) >= 0.1 * count
                       for name, count in REQUESTS.items())

        self.assertTrue(wait_until(is_counted), rows)
        self.assertLess(float(rows["little"]["compute s"]),
                        float(rows["much"]["compute s"]))
        self.assertLess(float(rows["little"]["USD"]), float(rows["much"]["USD"]))
        cents = sum(round(100 * float(row["USD"])) for row in self.now["rows"])
        numbers = {one["name"]: one["value"] for one in self.now["numbers"]}
        self.assertEqual(cents, round(100 * numbers["paid"]))
        self.assertGreater(numbers["idle_share"], 0)
        self.assertLess(numbers["idle_share"], 1)
        self.assertIn(f"http://127.0.0.1:{self.server.metrics_port}/metrics",
                      self.now["inputs"]["use"])
        self.assertEqual(self.now["findings"], [])

    def test_table_of_focus(self):
        self.infer()
        ended = self.ask(*self.allocate, "--token-file", "token", "--print",
                         "focus")
        self.assertEqual(ended.returncode, 0, ended)
        lines = list(csv.DictReader(io.StringIO(ended.stdout)))
        begin, end = (datetime.datetime.fromisoformat(lines[0][name]) for name in
                      ("ChargePeriodStart", "ChargePeriodEnd"))
        cents = sum(round(100 * float(line["EffectiveCost"])) for line in lines)
        # Times are whole seconds, of ten units of money each.
        self.assertAlmostEqual(cents / 1000, (end - begin).total_seconds(),
                               delta=1)
        self.assertEqual(json.loads(lines[0]["Tags"])["model"], MODEL)
        self.assertEqual((lines[-1]["ChargeDescription"], lines[-1]["Tags"]),
                         ("idle", "{}"))

    def test_what_is_wrong_is_told(self):
        for code, text, flags in (
                (1, "got none that it knows'; --token-file gives a token",
                 self.allocate),
                (2, "no price of 'other'",
                 (*self.allocate[:-1], "other", "--token-file", "token")),
                (2, "/metrics: expected an answer within 10 s, got none",
                 (*self.allocate[:3], f"127.0.0.1:{free_port()}",
                  *self.allocate[4:])),
                (1, "expected one of --from and --from-prometheus, got none",
                 (*self.allocate[:2], *self.allocate[4:])),
                (1, "expected one of --from and --from-prometheus, got both",
                 (*self.allocate, "--from-prometheus", "http://a")),
                (1, "--from-prometheus", (*self.allocate, "--window", "30d")),
                (1, "--print", (*self.allocate, "--print", "csv")),
                (1, "--token-file: expected one server that takes the token, got "
                 f"{self.allocate[3]} and http://a; write the prices into a file",
                 (*self.allocate[:5], "http://a", *self.allocate[6:],
                  "--token-file", "token"))):
            ended = self.ask(*flags)
            self.assertEqual((ended.returncode, ended.stdout), (code, ""), ended)
            self.assertIn(text, ended.stderr)


if __name__ == "__main__":
    unittest.main()
