"""ferry_notice.py against metadata services that answer as those of the clouds."""

import contextlib
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from ferry_process import free_port, wait_until
from tools import ROOT

PROGRAM = ROOT / "deploy" / "cloud" / "ferry_notice.py"
TOKEN = "a-session"
NOTICE = '{"action": "terminate", "time": "2026-01-01T00:02:00Z"}'


class Service(http.server.ThreadingHTTPServer):
    """`notice` is what it tells, once it is there; `asked` are the paths."""

    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.notice, self.asked = None, []
        self.changed = threading.Event()
        self.fails = 0  # so many of the next questions
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def tell(self, notice):
        self.notice = notice
        self.changed.set()


class Handler(http.server.BaseHTTPRequestHandler):

    def reply(self, code, text="", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def fails(self):
        self.server.asked.append(self.path)
        if self.server.fails > 0:
            self.server.fails -= 1
            self.reply(503)
            return True
        return False

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class AwsHandler(Handler):

    def do_PUT(self):  # pylint: disable=invalid-name
        seconds = self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self.reply(200 if self.path == "/latest/api/token" and int(seconds) else 400,
                   TOKEN)

    def do_GET(self):  # pylint: disable=invalid-name
        if self.fails():
            return
        if self.headers["X-aws-ec2-metadata-token"] != TOKEN:
            self.reply(401)
        elif (self.path != "/latest/meta-data/spot/instance-action" or
              self.server.notice is None):
            self.reply(404)
        else:
            self.reply(200, self.server.notice)


class GcpHandler(Handler):

    def do_GET(self):  # pylint: disable=invalid-name
        if self.fails():
            return
        if self.headers["Metadata-Flavor"] != "Google":
            self.reply(403)
            return
        if "wait_for_change=true" in self.path:
            self.server.changed.wait(20)
        self.reply(200, self.server.notice or "FALSE", Metadata_Flavor="Google",
                   ETag=f"tag-{self.server.notice}")


class NoticeTest(unittest.TestCase):

    def service(self, handler):
        service = Service(handler)
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        return service

    @contextlib.contextmanager
    def started(self, cloud, url, *command):
        """Gives the process, of which the command is an end with 7."""
        command = command or (sys.executable, "-c", "raise SystemExit(7)")
        environment = os.environ | {"http_proxy": "http://127.0.0.1:1"}
        with subprocess.Popen([sys.executable, PROGRAM, "--cloud", cloud, "--url", url,
                               "--", *command], stderr=subprocess.PIPE, text=True,
                              env=environment) as process:
            try:
                yield process
            finally:
                process.kill()

    def check(self, cloud, handler, notice, said):
        service = self.service(handler)
        with self.started(cloud, service.url) as process:
            self.assertTrue(wait_until(lambda: len(service.asked) >= 2, 30))
            self.assertIsNone(process.poll(), "there was no notice")
            service.tell(notice)
            text = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 7, text)
        self.assertIn(f"notice: {said}; runs: ", text)

    def test_notice_of_aws_runs_the_command(self):
        self.check("aws", AwsHandler, NOTICE, "terminate at 2026-01-01T00:02:00Z")

    def test_notice_of_gcp_runs_the_command(self):
        self.check("gcp", GcpHandler, "TRUE", "preempted")

    def test_notice_that_cannot_be_read_is_one(self):
        self.check("aws", AwsHandler, "{", "an action that cannot be read: '{'")

    def test_service_that_fails_for_a_while_is_asked_again(self):
        service = self.service(GcpHandler)
        with self.started("gcp", service.url) as process:
            self.assertTrue(wait_until(lambda: service.asked, 30))
            service.fails = 1
            service.tell("FALSE")  # ends the question that waits
            self.assertTrue(wait_until(lambda: len(service.asked) >= 4, 30))
            service.tell("TRUE")
            text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 7, text)
        self.assertIn("does not answer (HTTP 503", text)

    def test_machine_of_no_cloud_is_told(self):
        with self.started("aws", f"http://127.0.0.1:{free_port()}") as process:
            text = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("error: expected the metadata service of aws at http://", text)

    def test_command_that_is_not_there_is_told(self):
        service = self.service(GcpHandler)
        service.tell("TRUE")
        with self.started("gcp", service.url, "/no/such/command") as process:
            text = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("/no/such/command: No such file", text)

    def test_it_needs_a_cloud_and_a_command(self):
        for arguments in ([], ["--cloud", "aws"], ["--cloud", "azure", "--", "true"]):
            ended = subprocess.run([sys.executable, PROGRAM, *arguments], check=False,
                                   capture_output=True, timeout=30)
            self.assertEqual(ended.returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main()
