"""The live page and /status.json: by the schema, and in a real browser, from the
server itself and, with what it told, light and dark, narrow and wide.

FERRY_LIVE_SHOTS: a folder in which to keep screenshots.
"""

import html
import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

import jsonschema

import browser
import trust
from ending_test import Client, code_of, one_row
from ferry_process import FerryProcess, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "status.schema.json").read_text())
SHOTS = os.environ.get("FERRY_LIVE_SHOTS")
WIDTHS = (390, 1600)
LEAST_COLORS = 8
# Without a device those of memory, power and temperature are not drawn.
CHARTS = 8


class LivePageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = FerryProcess(models=["sim", "echo"])
        cls.addClassCleanup(cls.server.stop)
        with Client(cls.server) as client:

            def has_history():
                assert code_of(client.start(one_row("sim"))) == "OK"
                return len([rate for model in cls.status()["models"]
                            for rate in model["samples"]["requests_per_second"]
                            if rate]) > 1

            assert wait_until(has_history, 60)
        cls.told = cls.status()

    @classmethod
    def status(cls):
        return json.loads(cls.server.get("/status.json")[1])

    def page(self):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.server.metrics_port}/") as reply:
            return reply.headers, reply.read().decode()

    def test_status_follows_its_schema(self):
        jsonschema.Draft202012Validator(SCHEMA).validate(self.told)
        for model in self.told["models"]:
            columns = dict(model["samples"])
            columns |= columns.pop("closed_per_second")
            for name, column in columns.items():
                self.assertEqual(len(column), len(self.told["seconds_ago"]), name)
        (sim,) = [one for one in self.told["models"] if one["name"] == "sim"]
        self.assertTrue(sim["simulated"])
        self.assertGreater(sim["capacity_rows_per_second"], 0)
        self.assertGreater(max(one or 0 for one in sim["samples"]["p99_ms"]), 2)

    def test_page_may_ask_its_server_alone(self):
        headers, text = self.page()
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertIn("connect-src 'self'", policy)
        self.assertNotIn("unsafe", policy)
        nonce = re.search(r"'nonce-([^']+)'", policy).group(1)
        self.assertEqual(text.count(f'nonce="{nonce}"'), 3)
        again, _ = self.page()
        self.assertNotIn(nonce, again["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(re.findall(r'(?:src|href)="([^"]*)"', text), ["data:,"])

    @staticmethod
    def open(server):
        """Returns what the browser wrote, the page as it then is first."""
        with tempfile.TemporaryDirectory(prefix="ferry-page-") as folder:
            return subprocess.run(
                [browser.CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                 "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--enable-logging=stderr",
                 f"--user-data-dir={folder}", "--virtual-time-budget=7000",
                 "--dump-dom", f"http://127.0.0.1:{server.metrics_port}/"],
                capture_output=True, text=True, timeout=browser.LIMIT_S,
                check=True)

    @unittest.skipUnless(browser.CHROMIUM, "chromium is not installed: "
                         "scripts/setup.sh --browser")
    def test_page_asks_for_a_token_where_one_is_needed(self):
        with tempfile.NamedTemporaryFile("w") as tokens:
            tokens.write(trust.token_line("page", "read", "page-token"))
            tokens.flush()
            with FerryProcess(f"--auth-token-file={tokens.name}") as server:
                page = self.open(server).stdout
        self.assertIn('<form id="ask">', page)
        self.assertIn("expected metadata 'authorization: Bearer TOKEN'", page)
        self.assertNotIn("<dd>", page)

    @unittest.skipUnless(browser.CHROMIUM, "chromium is not installed: "
                         "scripts/setup.sh --browser")
    def test_page_of_the_server_draws_without_a_complaint(self):
        told = self.open(self.server)
        self.assertEqual(re.findall("CONSOLE.*", told.stderr), [])
        self.assertGreater(told.stdout.count("<dd>"), 8)
        labels = [html.unescape(one) for one in
                  re.findall(r'<canvas[^>]*aria-label="([^"]*)"', told.stdout)]
        self.assertEqual(len(labels), CHARTS)
        self.assertTrue(any(one.startswith("Request time, ms. p50:")
                            for one in labels), labels)

    @unittest.skipUnless(browser.CHROMIUM, "chromium is not installed: "
                         "scripts/setup.sh --browser")
    def test_page_fits_phones_and_desks_light_and_dark(self):
        _, text = self.page()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "live.html"
            path.write_text(browser.with_status(text, json.dumps(self.told)),
                            encoding="utf-8")
            for width, is_dark in itertools.product(WIDTHS, (False, True)):
                with self.subTest(width=width, dark=is_dark):
                    page = browser.Page(path, width, is_dark,
                                        shoots=bool(SHOTS))
                    told = page.told
                    self.assertEqual((told["width"], told["isDark"]),
                                     (width, is_dark))
                    self.assertLessEqual(told["documentWidth"], width)
                    self.assertEqual(page.console, [])
                    self.assertEqual(told["fetched"], [])
                    self.assertEqual(len(told["canvases"]), CHARTS)
                    for canvas in told["canvases"]:
                        self.assertGreater(canvas["colors"], LEAST_COLORS,
                                           canvas["label"])
                    self.assertIn("Load, last minute", told["text"])
                    self.assertIn("ready", told["text"])
                    # The model that was asked for, though not the first.
                    self.assertIn("is simulated", told["text"])
                    if SHOTS:
                        name = f"live-{width}-{'dark' if is_dark else 'light'}"
                        pathlib.Path(SHOTS, name + ".png").write_bytes(
                            page.screenshot)


if __name__ == "__main__":
    unittest.main()
