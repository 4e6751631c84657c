"""ferry-bench completion: the bash script in a real bash; the others where
their shells are installed."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

FERRY_BENCH = os.environ["FERRY_BENCH"]


def script(shell):
    return subprocess.run([FERRY_BENCH, "completion", shell], text=True,
                          capture_output=True, timeout=20, check=True).stdout


class BashTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.path = os.path.join(folder.name, "completion.bash")
        with open(cls.path, "w", encoding="utf-8") as file:
            file.write(script("bash"))
        with open(os.path.join(folder.name, "my result.json"), "w",
                  encoding="utf-8"):
            pass

    def complete(self, *words):
        """Returns what is offered for the last of the words."""
        quoted = " ".join(f"'{word}'" for word in ("ferry-bench", *words))
        done = subprocess.run(
            ["bash", "--norc", "-c",
             f"source '{self.path}' || exit; COMP_WORDS=({quoted}); "
             f"COMP_CWORD={len(words)}; _ferry_bench; "
             "printf '%s\\n' \"${COMPREPLY[@]}\""],
            cwd=self.folder, text=True, capture_output=True, timeout=20,
            check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.split("\n") if line]

    def test_commands_and_their_flags(self):
        self.assertEqual(self.complete("se"), ["search"])
        self.assertLessEqual(
            {"run", "search", "tune", "compare", "report", "plan", "local",
             "simulate", "soak", "completion"}, set(self.complete("")))
        self.assertEqual(self.complete("search", "--slo"), ["--slo-ms"])
        self.assertEqual(self.complete("run", "--slo"), ["--slo-ms"])
        self.assertEqual(self.complete("run", "--precis"), [])
        self.assertIn("--config", self.complete("--"))

    def test_every_flag_of_the_help_is_offered(self):
        for command in ("run", "search", "tune", "compare", "soak"):
            text = subprocess.run([FERRY_BENCH, command, "--help"], text=True,
                                  capture_output=True, timeout=20,
                                  check=True).stdout
            flags = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M))
            self.assertGreater(len(flags), 3)
            self.assertLessEqual(flags, set(self.complete(command, "--")))

    def test_words_of_a_set(self):
        self.assertEqual(self.complete("local", "--policy", ""),
                         ["eager", "window", "adaptive"])
        self.assertEqual(self.complete("local", "--policy", "=", "ad"),
                         ["adaptive"])
        self.assertEqual(self.complete("run", "--scenario", "s"),
                         ["single-stream", "server:"])
        self.assertEqual(self.complete("run", "--policies", "eager,w"),
                         ["eager,window"])
        self.assertEqual(self.complete("completion", ""),
                         ["bash", "zsh", "fish"])

    def test_files_where_files_are_taken(self):
        self.assertEqual(self.complete("run", "--json", "my"),
                         ["my result.json"])
        self.assertEqual(self.complete("compare", "my"), ["my result.json"])
        self.assertEqual(self.complete("run", "--data", "my"),
                         ["my result.json"])
        self.assertEqual(self.complete("run", "--rates", ""), [])
        self.assertEqual(self.complete("run", "my"), [])


class OtherShellsTest(unittest.TestCase):

    def parse(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed")
        with tempfile.NamedTemporaryFile("w", suffix=f".{shell}") as file:
            file.write(script(shell))
            file.flush()
            done = subprocess.run([shell, "-n", file.name], text=True,
                                  capture_output=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_zsh_parses_its_script(self):
        self.parse("zsh")

    def test_fish_parses_its_script(self):
        self.parse("fish")

    def test_scripts_of_others_are_refused(self):
        done = subprocess.run([FERRY_BENCH, "completion", "csh"], text=True,
                              capture_output=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("csh", done.stderr)


if __name__ == "__main__":
    unittest.main()
