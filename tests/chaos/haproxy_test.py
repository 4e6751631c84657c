"""Short runs of chaos behind HAProxy: all events, planned ends alone without any
retry, and kills with the client's retries alone.

Skipped where scripts/haproxy.sh has not been run.
"""

import unittest

from chaos_case import ChaosCase


class HaproxyTest(ChaosCase):
    PROXY = "haproxy"
    VERSION_FLAG = "-v"

    def test_all_events(self):
        self.all_events(seed=290)

    def test_planned_ends_need_no_retry(self):
        self.planned_ends(seed=3)

    def test_kills_with_the_clients_retries_alone(self):
        result = self.play("--seed=3", "--seconds=15", "--kinds=kill",
                           "--no-proxy-retries")
        self.assertGreater(result["ends"].get("-9", 0), 1)
        without = self.play("--seed=3", "--seconds=15", "--kinds=kill",
                            "--no-proxy-retries", "--no-client-retries",
                            passes=False)
        self.assertLess(without["ok_ratio"], 0.999, "no retry was needed")
        self.assertEqual(set(without["outcomes"]), {"OK", "UNAVAILABLE"})


if __name__ == "__main__":
    unittest.main()
