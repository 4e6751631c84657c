"""Short runs of chaos behind Envoy: all events, and planned ends alone without any
retry.

Skipped where scripts/envoy.sh has not been run.
"""

import unittest

from chaos_case import ChaosCase


class EnvoyTest(ChaosCase):
    PROXY = "envoy"

    def test_all_events(self):
        self.all_events(seed=290)

    def test_planned_ends_need_no_retry(self):
        self.planned_ends(seed=3)

    def test_configuration_is_valid(self):
        checked = self.tool.run("--mode", "validate", "-c",
                                self.root / "deploy/envoy/envoy.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    unittest.main()
