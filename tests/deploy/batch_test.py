"""ferry-batch as a process, with real servers: what it computes, and what is left
where it is killed, stopped, refused, or finds no room."""

import importlib.util
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
import unittest

import numpy as np

import ferry_process
import trust
from ferry_process import FerryProcess, free_port, sim_config, wait_until

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
END_S = 60
ROWS = 2000
SHARD = 200  # rows
FLAGS = (f"--shard-rows={SHARD}",)
LEVELS = """dynamic_batching {
  priority_levels: 2
  default_priority_level: 1
  priority_queue_policy { key: 2 value { max_queue_size: 1 } }
}"""
ferry_process.MODELS |= {
    "batch": sim_config(max_batch_size=8, alpha_ms=2, beta_ms=0),
    "two_levels": sim_config(max_batch_size=1, alpha_ms=20, beta_ms=0).replace(
        "dynamic_batching {}", LEVELS),
}


def setUpModule():
    for name in ("orjson", "pyarrow", "tqdm"):
        if importlib.util.find_spec(name) is None:
            raise unittest.SkipTest(f"{name} is not installed: scripts/setup.sh")


class BatchCase(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-batch-")))
        self.output = self.folder / "out"
        self.rows = np.random.default_rng(7).random((ROWS, 16), np.float32)

    def lines(self, count, name="rows.jsonl", **more):
        """Writes so many rows; returns the file."""
        path = self.folder / name
        path.write_text("".join(
            json.dumps({"input": row.tolist()} | {
                key: value(number) for key, value in more.items()}) + "\n"
            for number, row in enumerate(self.rows[:count])))
        return path

    def start(self, server, *arguments, model="batch", output=None):
        """server: one that runs, or an address."""
        address = server if isinstance(server, str) else server.address
        process = subprocess.Popen(
            [sys.executable, "-m", "ferry_batch", *map(str, arguments), "-m", model,
             "--output", str(output or self.output), "-u", address], text=True,
            stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        """Returns the exit code and what was said."""
        _, said = process.communicate(timeout=END_S)
        return process.returncode, said

    def run_whole(self, *arguments, **options):
        return self.end(self.start(*arguments, **options))

    def results(self, output=None):
        """Returns the content of each file of results by name."""
        return {path.name: path.read_bytes()
                for path in (output or self.output).glob("part-*")}

    def objects(self, output=None):
        return [json.loads(line) for _, content in sorted(self.results(output).items())
                for line in content.splitlines()]


class FormatsTest(BatchCase):

    def test_lines_arrays_and_columns_come_through(self):
        import pyarrow
        import pyarrow.parquet
        lines = self.lines(500, id=lambda number: f"r{number}")
        np.save(self.folder / "rows.npy", self.rows[500:1000])
        pyarrow.parquet.write_table(
            pyarrow.table({"input": list(self.rows[:700]), "id": range(700),
                           "more": range(700)}),
            self.folder / "rows.parquet", row_group_size=150)
        with FerryProcess(models=["echo"]) as server:
            for name, arguments in {
                    "a": [lines, "--keep=id"], "b": [self.folder / "rows.npy"],
                    "c": [self.folder / "rows.parquet", "--keep=id"]}.items():
                code, said = self.run_whole(server, *arguments, *FLAGS, model="echo",
                                            output=self.folder / name)
                self.assertEqual(code, 0, said)
                self.assertIn("rows of version 1 of 'echo' are in", said)
        found = self.objects(self.folder / "a")
        self.assertEqual([(row["row"], row["id"]) for row in found],
                         [(i, f"r{i}") for i in range(500)])
        np.testing.assert_array_equal(
            np.array([row["output"] for row in found], np.float32), self.rows[:500])
        arrays = [np.load(self.folder / f"b/part-{i:05}.output.npy") for i in range(3)]
        np.testing.assert_array_equal(np.concatenate(arrays), self.rows[500:1000])
        table = pyarrow.concat_tables(
            pyarrow.parquet.read_table(path)
            for path in sorted((self.folder / "c").glob("*.parquet")))
        self.assertEqual(table["id"].to_pylist(), list(range(700)))
        np.testing.assert_array_equal(
            np.array(table["output"].to_pylist(), np.float32), self.rows[:700])


class EndTest(BatchCase):

    def test_killed_and_stopped_job_is_as_if_it_was_not(self):
        lines, moments = self.lines(ROWS), random.Random(1)
        ends = [signal.SIGKILL] * 3 + [signal.SIGTERM] * 2
        moments.shuffle(ends)
        with FerryProcess(models=["batch"]) as server:
            def computed():
                return server.metric("ferry_rows_total", model="batch")

            code, said = self.run_whole(server, lines, *FLAGS)
            self.assertEqual(code, 0, said)
            whole, self.output = self.results(), self.folder / "again"
            self.assertEqual(computed(), ROWS)
            for number in ends:
                process = self.start(server, lines, *FLAGS)
                wanted = computed() + moments.randrange(1, SHARD * 3 // 2)
                self.assertTrue(wait_until(lambda: computed() >= wanted, END_S))
                process.send_signal(number)
                code, said = self.end(process)
                self.assertEqual(code, 75 if number == signal.SIGTERM else -number,
                                 said)
            code, said = self.run_whole(server, lines, *FLAGS)
            self.assertEqual(code, 0, said)
            self.assertEqual(self.results(), whole)
            self.assertEqual(len(whole), ROWS // SHARD)
            self.assertLessEqual(computed() - 2 * ROWS, len(ends) * SHARD)
            # What was finished is asked for by no request.
            before = computed()
            (self.output / "part-00003.jsonl").unlink()
            self.assertEqual(self.run_whole(server, lines, *FLAGS)[0], 0)
            self.assertEqual(computed() - before, SHARD)
            self.assertEqual(self.results(), whole)

    def test_stop_settles_what_is_out(self):
        with FerryProcess(models=["slow"]) as server:
            process = self.start(server, self.lines(20), model="slow")
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_running_batches", model="slow") == 1, END_S))
            process.send_signal(signal.SIGTERM)
            code, said = self.end(process)
            self.assertEqual(code, 75)
            self.assertIn("ferry-batch: stopped by a signal; what is finished is kept",
                          said)
            answered = server.metric("ferry_requests_total", model="slow")
            self.assertLess(answered, 5)
            self.assertEqual(answered, server.metric(
                "ferry_requests_total", model="slow", code="OK"))

    def test_grace_time_ends(self):
        with FerryProcess("--exit-timeout-secs=1", models=["slowest"]) as server:
            process = self.start(server, self.lines(20), "--grace=0s",
                                 "--outstanding=2", model="slowest")
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_running_batches", model="slowest") == 1, END_S))
            process.send_signal(signal.SIGTERM)
            code, said = self.end(process)
        self.assertEqual(code, 75)
        self.assertRegex(said, "signal, [12] requests had no answer within 0 s; what")

    def test_server_that_is_away_is_waited_for_and_the_folder_is_taken(self):
        lines, port = self.lines(20), free_port()
        first = self.start(f"127.0.0.1:{port}", lines)
        said = first.stderr.readline()
        self.assertIn(f"ferry-batch: waits for 127.0.0.1:{port}: UNAVAILABLE: ", said)
        code, said = self.run_whole(f"127.0.0.1:{port}", lines)
        self.assertEqual(code, 2)
        self.assertEqual(
            said, f"ferry-batch: {self.output}/ferry-batch.sqlite: expected no other "
            "ferry-batch of this folder, found one that runs; wait for its end\n")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(first)[0], 75)
        code, said = self.run_whole(f"127.0.0.1:{port}", lines, "--give-up=0s")
        self.assertEqual(code, 2)
        self.assertIn("expected an answer within 0 s, found UNAVAILABLE: ", said)

    def test_server_may_be_replaced_midway(self):
        lines, port = self.lines(ROWS), f"--grpc-port={free_port()}"
        with FerryProcess(port, models=["batch"]) as server:
            process = self.start(server, lines, *FLAGS)
            self.assertTrue(wait_until(lambda: server.metric(
                "ferry_rows_total", model="batch") > SHARD, END_S))
            server.process.kill()
        with FerryProcess(port, models=["batch"]) as server:
            code, said = self.end(process)
            self.assertLess(server.metric("ferry_rows_total", model="batch"), ROWS)
        self.assertEqual(code, 0, said)
        self.assertNotIn(" 0 requests were sent again", said)
        self.assertEqual([row["row"] for row in self.objects()], list(range(ROWS)))

    def test_full_disk_is_told_and_loses_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a small disk: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        self.output = disk / "out"
        np.save(self.folder / "rows.npy", np.tile(self.rows, (1, 63))[:1000, :1000])
        with FerryProcess(models=["large"]) as server:
            command = (server, self.folder / "rows.npy", *FLAGS)
            code, said = self.run_whole(*command, model="large")
            self.assertEqual(code, 2)
            self.assertIn(
                f"ferry-batch: cannot write part-00002 in {self.output}: No space left "
                "on device; what is finished is kept: make room, and start the same "
                "command again\n", said)
            self.assertEqual({name[:10] for name in self.results()},
                             {"part-00000", "part-00001"})
            subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
            code, said = self.run_whole(*command, model="large")
            self.assertEqual(code, 0, said)
            self.assertEqual(server.metric("ferry_rows_total", model="large"),
                             1000 + SHARD)
        arrays = [np.load(self.output / f"part-{i:05}.output.npy") for i in range(5)]
        np.testing.assert_array_equal(np.concatenate(arrays),
                                      np.load(self.folder / "rows.npy"))


class RefusalTest(BatchCase):

    def test_bad_line_is_told_and_may_be_left_out(self):
        lines = self.lines(40)
        text = lines.read_text().splitlines(keepends=True)
        text[16] = '{"input": [1, 2, 3]}\n'
        text[20] = '{"input": "no"}\n'
        lines.write_text("".join(text))
        with FerryProcess(models=["echo"]) as server:
            code, said = self.run_whole(server, lines, "--shard-rows=10", model="echo")
            self.assertEqual(code, 1)
            self.assertEqual(
                said.splitlines()[-1],
                f"ferry-batch: {lines}:17: input: expected the shape [16], found [3]; "
                "--keep-going leaves such rows out, and writes their errors to a file")
            self.assertEqual(list(self.results()), ["part-00000.jsonl"])
            code, said = self.run_whole(server, lines, "--shard-rows=10",
                                        "--keep-going", model="echo")
            self.assertEqual(code, 0, said)
            self.assertIn("40 rows of version 1 of 'echo' are in "
                          f"{self.output}, 2 of them without a result; ", said)
        self.assertEqual(json.loads(self.results()["part-00001.errors.jsonl"]), {
            "row": 16, "place": f"{lines}:17", "status": "INVALID_ARGUMENT",
            "error": "input: expected the shape [16], found [3]"})
        self.assertIn("part-00002.errors.jsonl", self.results())
        self.assertEqual([row["row"] for row in self.objects() if "output" in row],
                         [i for i in range(40) if i not in (16, 20)])

    def test_folder_of_another_job_is_left_alone(self):
        lines = self.lines(20)
        with FerryProcess(models=["echo"]) as server:
            self.assertEqual(self.run_whole(server, lines, model="echo")[0], 0)
            before = self.results()
            self.lines(19)
            code, said = self.run_whole(server, lines, model="echo")
            self.assertEqual(code, 1)
            self.assertRegex(said.splitlines()[-1],
                             "expected the job that began here, with inputs .*, found "
                             ".*; give another folder for the output, or remove this "
                             "one$")
        self.assertEqual(self.results(), before)

    def test_rows_have_the_lowest_priority(self):
        """It alone has a queue of one here, which refuses, and is asked again."""
        with FerryProcess(models=["two_levels"]) as server:
            code, said = self.run_whole(server, self.lines(20), "--outstanding=5",
                                        model="two_levels")
            self.assertEqual(code, 0, said)
            self.assertGreater(server.metric("ferry_refused_total",
                                             reason="queue_level"), 0)
        self.assertNotIn("warning", said)
        self.assertEqual(len(self.objects()), 20)

    def test_token_and_certificates_open_a_server(self):
        authority = trust.Authority(str(self.folder))
        key, certificate = authority.sign("server")
        for name, token in (("right", "5ca1ab1e-token"), ("wrong", "c0ffee-token")):
            trust.write(str(self.folder / name), token + "\n")
        trust.write(str(self.folder / "tokens"),
                    trust.token_line("batch", "infer", "5ca1ab1e-token"))
        lines = self.lines(20)
        with FerryProcess(f"--tls-cert={certificate}", f"--tls-key={key}",
                          f"--auth-token-file={self.folder / 'tokens'}",
                          models=["echo"]) as server:
            address = server.address.replace("127.0.0.1", "localhost")
            trusted = f"--tls-ca={authority.certificate}"
            for name, expected, text in (("wrong", 1, ": UNAUTHENTICATED: "),
                                         ("right", 0, "20 rows of version 1")):
                code, said = self.run_whole(
                    address, lines, trusted,
                    f"--token-file={self.folder / name}", model="echo")
                self.assertEqual(code, expected, said)
                self.assertIn(text, said)


class ShippedFilesTest(unittest.TestCase):
    """Unit and Job have flags of ferry-batch, and its package what is tested."""

    def test_the_package_needs_what_is_pinned(self):
        told = tomllib.loads((DEPLOY / "batch" / "pyproject.toml").read_text())
        needed = (told["project"]["dependencies"] +
                  told["project"]["optional-dependencies"]["parquet"])
        pinned = "".join((DEPLOY.parent / "requirements" / name).read_text()
                         for name in ("python.txt", "batch.txt"))
        for each in needed:
            name = re.match(r"[\w-]+", each).group()
            self.assertRegex(pinned, rf"(?m)^{name}==")

    def test_the_unit_has_flags_that_are_known(self):
        from ferry_batch.flags import parse_flags
        units = DEPLOY / "systemd"
        given = dict(re.findall(r"^(\w+)=(.*)$", (units / "batch.env").read_text(),
                                re.MULTILINE))
        line = re.search(r"^ExecStart=\S+ (.*)$",
                         (units / "ferry-batch@.service").read_text(),
                         re.MULTILINE).group(1)
        flags = parse_flags(re.sub(
            r"\$\{?(\w+)\}?", lambda name: given[name.group(1)], line).split())
        self.assertEqual((flags.input, flags.keep_going, flags.address),
                         (["/srv/photos/rows.parquet"], True, "127.0.0.1:8101"))

    def test_the_job_has_flags_that_are_known(self):
        from ferry_batch.flags import parse_flags
        manifest = (DEPLOY / "kubernetes" / "batch_job.yaml").read_text()
        arguments = re.search(r"\n +args:\n((?: +- \S+\n)+)", manifest).group(1)
        flags = parse_flags(re.findall(r"- (\S+)\n", arguments))
        self.assertEqual((flags.input, str(flags.token_file)),
                         (["/data/rows.parquet"], "/token/token"))


if __name__ == "__main__":
    unittest.main()
