"""Hostile clients of every kind attack at once: each request of an honest client has
its answer meanwhile and after them, and the server lives."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import hostile_clients
import trust
from ending_test import Client, one_row
from ferry_process import FerryProcess

SECONDS = 10
CALL_S = 60
HONEST, HOSTILE = "honest-5ca1ab1e-token", "hostile-5ca1ab1e-token"


class HostileTest(unittest.TestCase):

    def setUp(self):
        self.folder = self.enterContext(
            tempfile.TemporaryDirectory(prefix="ferry-hostile-"))
        tokens = os.path.join(self.folder, "tokens")
        trust.write(tokens, trust.token_line("honest", "infer", HONEST) +
                    trust.token_line("hostile", "infer", HOSTILE))
        self.server = self.enterContext(FerryProcess(
            f"--auth-token-file={tokens}", "--open-health",
            models=hostile_clients.MODELS))

    def start(self, attack):
        """Starts an attack as a process of its own."""
        child = subprocess.Popen(
            [sys.executable, hostile_clients.__file__, attack.__name__,
             self.server.address, HOSTILE, str(SECONDS), self.path_of(attack)])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def path_of(self, attack):
        return os.path.join(self.folder, attack.__name__)

    def ask(self, client):
        reply = client.stub.ModelInfer(
            one_row("sim"), timeout=CALL_S, metadata=trust.bearer(HONEST))
        self.assertEqual(list(reply.raw_output_contents), [bytes(64)])

    def test_an_honest_client_is_answered(self):
        children = [self.start(attack) for attack in hostile_clients.ATTACKS]
        honest = self.enterContext(Client(self.server))
        while any(child.poll() is None for child in children):
            self.ask(honest)
        for attack, child in zip(hostile_clients.ATTACKS, children):
            with self.subTest(attack.__name__):
                self.assertEqual(child.returncode, 0)
                with open(self.path_of(attack), encoding="utf-8") as file:
                    account = json.load(file)
                self.assertGreater(sum(account["sent"].values()), 0)
        self.assertIsNone(self.server.process.poll())
        self.ask(honest)
        self.ask(self.enterContext(Client(self.server)))


if __name__ == "__main__":
    unittest.main()
