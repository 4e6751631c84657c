"""What a model prints: whole lines, in the log at once and all of them; never
among a program's own output."""

import os
import re
import shutil
import unittest

import numpy as np
import tritonclient.grpc as triton

from ferry_process import run, tensor, wait_until
from scripts_case import ScriptsCase

CONFIG = ('backend: "pytorch"\nmax_batch_size: 1\ndynamic_batching {}\n' +
          tensor("input", "x", "INT64", [1]) +
          tensor("output", "y", "INT64", [1]))
FIRST = 1_000_000  # of the numbers sent here; a warm-up's are less


class PrintedTextTest(ScriptsCase):

    def setUp(self):
        super().setUp()
        version = self.repository / "says" / "1"
        version.mkdir(parents=True)
        (self.repository / "says" / "config.pbtxt").write_text(CONFIG)
        shutil.copy(self.scripts / "says.pt", version / "model.pt")

    def infer(self, number):
        given = triton.InferInput("x", [1, 1], "INT64")
        given.set_data_from_numpy(np.array([[number]], np.int64))
        self.client.infer("says", [given])

    def said(self):
        """Returns the numbers of those that were sent here, of whole lines."""
        texts = [line.split("a library wrote: ")[1].strip()
                 for line in list(self.server.log) if "a library wrote: " in line]
        for text in texts:
            self.assertRegex(text, r"^the number is -?\d+ indeed$")
        numbers = [int(re.search(r"-?\d+", text).group()) for text in texts]
        return [number for number in numbers if number >= FIRST]

    def test_it_stands_in_the_log_at_once(self):
        self.start()
        self.infer(FIRST)
        self.assertTrue(wait_until(lambda: self.said() == [FIRST]),
                        self.server.log)

    def test_all_of_it_is_in_the_log_at_the_end(self):
        self.start()
        numbers = [FIRST + i for i in range(1000)]  # more than a buffer holds
        for number in numbers:
            self.infer(number)
        self.server.signal()
        self.assertEqual(self.server.wait(), 0)
        self.assertEqual(self.said(), numbers)

    def test_it_is_no_outcome_of_a_probe_load(self):
        self.start("--model-control-mode=explicit", "--probe-loads=on",
                   f"--op-library={os.environ['FERRY_PRINTS_LIBRARY']}")
        self.client.load_model("says")
        self.infer(FIRST)

    def test_check_config_prints_configs_only(self):
        checked = run("--check-config",
                      f"--model-repository={self.repository}")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("the number is", checked.stdout)
        self.assertIn("max_batch_size: 1", checked.stdout)
        self.assertIn("a library wrote: the number is", checked.stderr)


if __name__ == "__main__":
    unittest.main()
