"""What the short runs of chaos behind each proxy share."""

import json
import unittest

import chaos
from plan import WEIGHTS
from proxies import ROOT, Tool

SECONDS = 45
RATE = 60  # beside other tests


class ChaosCase(unittest.TestCase):
    PROXY = ""
    VERSION_FLAG = "--version"
    root = ROOT

    @classmethod
    def setUpClass(cls):
        cls.tool = Tool(cls.PROXY)
        cls.tool.require(cls.VERSION_FLAG)

    def play(self, *arguments, passes=True):
        """Returns the result of a run; its events and counts are printed."""
        result = chaos.run(chaos.parse(
            [f"--proxy={self.PROXY}", f"--rate={RATE}", *arguments]))
        told = json.dumps({key: value for key, value in result.items()
                           if key != "log"}, indent=1)
        self.assertEqual(result["passed"], passes, told)
        self.assertGreater(result["sent"], RATE * result["seconds"] / 2, told)
        return result

    def all_events(self, seed):
        """Plays a seed whose plan has each kind of event in so short a time, and then
        some, as an event waits for servers that are not steady."""
        result = self.play(f"--seed={seed}", f"--seconds={SECONDS + 15}")
        self.assertEqual(set(result["events"]), set(WEIGHTS))

    def planned_ends(self, seed):
        """Drains, each with the delay, and none needs a retry of any kind."""
        result = self.play(f"--seed={seed}", f"--seconds={SECONDS}",
                           "--kinds=sigterm,restart", "--no-client-retries",
                           "--no-proxy-retries", "--least-ok=1")
        self.assertGreater(result["ends"].get("0", 0), 1)
        self.assertEqual(set(result["ends"]), {"0"})
        self.assertEqual(set(result["outcomes"]), {"OK"})
