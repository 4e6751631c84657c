"""Price files: their published schema takes what ferryctl takes, and refuses what
it refuses; overheads are in every answer about cost; providers tell rows apart."""

import copy
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema
from tools import ROOT

CTL = os.environ["FERRY_CTL"]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/prices.schema.json").read_text()))
PRICES = {
    "currency": "USD", "as_of": datetime.date.today().isoformat(),
    "source": "test",
    "overheads": [{"name": "power", "share": 0.25},
                  {"name": "staff", "per_hour": 0.5}],
    "rows": [
        {"device": "L4", "provider": "a", "region": "r", "kind": "on_demand",
         "per_hour": 8, "devices_per_instance": 4},
        {"device": "L4", "provider": "a", "region": "r", "kind": "reserved",
         "per_hour": 4, "devices_per_instance": 4, "upfront": 100,
         "term_hours": 100},
        {"device": "L4", "provider": "a", "region": "r", "kind": "spot",
         "per_hour": 2, "devices_per_instance": 4},
        {"device": "L4", "provider": "b", "region": "r", "kind": "on_demand",
         "per_hour": 9}]}
OVERHEADS = ("power, 25 % of the price; staff, 0.5 USD an hour of a device; in "
             "each price: (per_hour + upfront / term_hours) / "
             "devices_per_instance * (1 + overhead_share) + overhead_per_hour")
CHOICE = ("--prices", "prices.json", "--device", "L4", "--provider", "a")
# A question, and numbers of its answer: a device is 2 * 1.25 + 0.5 = 3 an hour
# on demand, (4 + 1) / 4 * 1.25 + 0.5 = 2.0625 reserved, 1.125 as a spot device.
QUESTIONS = (
    (("reserved", *CHOICE), {"on_demand_total": 3 * 4 * 100,
                             "on_demand_per_month": 3 * 4 * 720,
                             "reserved_total": 2.0625 * 4 * 100}),
    (("breakeven", *CHOICE), {"break_even_share": 2.0625 / 3}),
    (("spot", *CHOICE, "--interruptible"), {"device_per_hour": 1.125,
                                            "on_demand_per_hour": 3}),
    (("schedule", *CHOICE, "--on-hours-per-week", "84"),
     {"cost_per_hour": 12, "saved_per_month": 12 * 720 / 2}),
    (("offline", *CHOICE, "--items-per-day", "3600", "--window-hours", "1",
      "--rate", "1"), {"cost_per_day": 3}),
    (("per-million", *CHOICE, "--average-rate", "1000"),
     {"device_per_hour": 3, "cost_per_hour": 12}),
    (("rank", *CHOICE[:2], "--rate", "L4=1000"),
     {"floor_per_million": 1.125 / 3.6}),
)


def but(part=(), **changes):
    """Returns the prices with changes of the object that `part` leads to; one of
    None takes a key away."""
    prices = copy.deepcopy(PRICES)
    changed = prices
    for key in part:
        changed = changed[key]
    for key, value in changes.items():
        changed.pop(key, None)
        if value is not None:
            changed[key] = value
    return prices


class PricesTest(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def ask(self, prices, *flags):
        (self.folder / "prices.json").write_text(json.dumps(prices))
        return subprocess.run([CTL, "cost", *flags], cwd=self.folder,
                              capture_output=True, text=True, timeout=60,
                              check=False)

    def rank(self, prices):
        return self.ask(prices, "rank", "--prices", "prices.json", "--rate",
                        f"{prices['rows'][0]['device']}=1" if prices.get("rows")
                        else "L4=1")

    def test_what_is_taken_fits_the_schema(self):
        sample = json.loads((ROOT / "examples/prices.json").read_text())
        for prices in (PRICES, sample, but(overheads=None),
                       but(("rows", 0), provider=None, term_hours=0)):
            SCHEMA.validate(prices)
            ended = self.rank(prices)
            self.assertEqual(ended.returncode, 0, ended)

    def test_what_is_refused_does_not_fit_the_schema(self):
        on_demand, reserved, power = ("rows", 0), ("rows", 1), ("overheads", 0)
        for prices in (
                but(currency=None), but(as_of=None), but(source=None),
                but(source=""), but(as_of="today"), but(rows=[]), but(rows=None),
                but(price=1), but(overheads=[]), but(overheads={}),
                but(on_demand, per_hour=None), but(on_demand, per_hour=-1),
                but(on_demand, per_hour=0), but(on_demand, per_hour="1"),
                but(on_demand, per_hour=1e13), but(on_demand, kind="Spot"),
                but(on_demand, provider=""), but(on_demand, region=None),
                but(on_demand, term_hours=10), but(on_demand, upfront=10),
                but(on_demand, devices_per_instance=0),
                but(on_demand, devices_per_instance=1.5),
                but(on_demand, currency="USD"),
                but(reserved, term_hours=None), but(reserved, term_hours=0),
                but(reserved, upfront=0, per_hour=0),
                but(power, name=None), but(power, share=None),
                but(power, share=0), but(power, share=25),
                but(power, per_hour=1), but(power, share=None, per_hour=0),
                but(power, share=None, per_hour=-1), but(power, unit="h")):
            self.assertFalse(SCHEMA.is_valid(prices), prices)
            ended = self.rank(prices)
            self.assertEqual(ended.returncode, 1, prices)
            self.assertIn("ferryctl: prices.json: ", ended.stderr)
            self.assertIn("expected", ended.stderr)

    def test_overheads_are_in_every_answer_and_named(self):
        for flags, expected in QUESTIONS:
            ended = self.ask(PRICES, *flags, "--json")
            self.assertEqual(ended.returncode, 0, (flags, ended))
            answer = json.loads(ended.stdout)
            numbers = {one["name"]: one["value"] for one in answer["numbers"]}
            for name, value in expected.items():
                self.assertAlmostEqual(numbers[name], value, msg=(flags, name))
            self.assertEqual(answer["inputs"]["overheads"], OVERHEADS)
            plain = json.loads(self.ask(but(overheads=None), *flags,
                                        "--json").stdout)
            self.assertNotIn("overheads", plain["inputs"])

    def test_providers_tell_rows_apart(self):
        schedule = ("schedule", *CHOICE[:4], "--on-hours-per-week", "84")
        ended = self.ask(PRICES, *schedule)
        self.assertEqual(ended.returncode, 1, ended)
        self.assertIn("expected a provider, region or term that leaves one price, "
                      "got 2: L4, on_demand, a, r; L4, on_demand, b, r",
                      ended.stderr)
        ended = self.ask(PRICES, *schedule, "--provider", "b")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("L4, on_demand, b, r: 9 USD an hour, devices: 1; a device "
                      "with overheads: 11.750 USD an hour",
                      " ".join(ended.stdout.split()))
        ended = self.ask(PRICES, *schedule, "--provider", "c")
        self.assertEqual(ended.returncode, 2, ended)
        self.assertIn("no price of 'L4', on_demand, c; there is: L4, on_demand, a",
                      ended.stderr)


if __name__ == "__main__":
    unittest.main()
