#!/usr/bin/env python3
"""ferry_notice waits until the cloud says that it takes this machine back, and runs a
command then: what drains servers, or stops a job.

  ferry_notice.py --cloud aws -- systemctl stop ferry.target 'ferry-batch@*'

aws  a spot instance: the metadata service is asked every five seconds, as its guide
     advises, and tells it two minutes before, as a rule; no signal comes with it.
     (Amazon EC2 User Guide, Spot Instance interruption notices)
gcp  a spot or preemptible VM: the metadata server answers when it is so, 30 seconds
     before the end. (Compute Engine, Spot VMs)

In Kubernetes the cloud's own handler drains the node; this is for machines without.

Exit codes: the command's, or 1 where there is no metadata service of that cloud.
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

AWS = "http://169.254.169.254"
GCP = "http://metadata.google.internal"
TOKEN_S = 21_600  # of a session with AWS's service, its most
ASK_EVERY_S = 5
ANSWER_S = 2
WAIT_S = 60  # that Google's server holds a question
TRIES = 3  # at the start


def say(text):
    print(f"ferry_notice: {text}", file=sys.stderr, flush=True)


def ask(url, timeout=ANSWER_S, method="GET", **headers):
    """Returns (code, text, headers). Errors: OSError where nothing answers."""
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        # No proxy of the environment: the address is this machine's own.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=timeout) as reply:
            text = reply.read(65536).decode(errors="replace")
            return reply.status, text, reply.headers
    except urllib.error.HTTPError as error:
        return error.code, "", error.headers


class Aws:
    """Version 2 of the instance metadata service."""

    pause_s = ASK_EVERY_S

    def __init__(self, base):
        self._base = base
        self._token, self._until = "", 0.0

    def token(self):
        if time.monotonic() >= self._until:
            code, self._token, _ = ask(
                f"{self._base}/latest/api/token", method="PUT",
                **{"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_S)})
            if code != 200:
                raise OSError(f"HTTP {code} for a token")
            self._until = time.monotonic() + TOKEN_S / 2
        return self._token

    def notice(self):
        """Returns what is to happen and when, or None."""
        code, text, _ = ask(f"{self._base}/latest/meta-data/spot/instance-action",
                            **{"X-aws-ec2-metadata-token": self.token()})
        if code == 404:  # nothing is to happen
            return None
        if code == 401:
            self._until = 0.0  # the service was started anew
        if code != 200:
            raise OSError(f"HTTP {code} for spot/instance-action")
        try:
            told = json.loads(text)
            return f"{told['action']} at {told['time']}"
        except (ValueError, KeyError, TypeError):
            return f"an action that cannot be read: {text[:100]!r}"


class Gcp:
    """The question is held until the answer changes."""

    pause_s = 0

    def __init__(self, base):
        self._url = f"{base}/computeMetadata/v1/instance/preempted"
        self._tag = ""

    def notice(self):
        wait = (f"?wait_for_change=true&timeout_sec={WAIT_S}&last_etag={self._tag}"
                if self._tag else "")
        code, text, headers = ask(self._url + wait, timeout=WAIT_S + ANSWER_S,
                                  **{"Metadata-Flavor": "Google"})
        if code != 200 or headers.get("Metadata-Flavor") != "Google":
            raise OSError(f"HTTP {code} for instance/preempted")
        self._tag = headers.get("ETag", "")
        if not self._tag:
            time.sleep(ASK_EVERY_S)
        return "preempted" if text.strip() == "TRUE" else None


CLOUDS = {"aws": (Aws, AWS), "gcp": (Gcp, GCP)}


def wait_for_notice(cloud):
    """Returns the notice. Errors: OSError where the service never answered; one that
    did is asked again for ever."""
    has_answered, failures = False, 0
    while True:
        try:
            notice = cloud.notice()
            if notice is not None:
                return notice
            if failures and has_answered:
                say("the metadata service answers again")
            has_answered, failures = True, 0
        except OSError as error:
            failures += 1
            if not has_answered and failures == TRIES:
                raise
            if failures == 1:
                say(f"the metadata service does not answer ({error}); "
                    "it is asked again")
            time.sleep(ASK_EVERY_S if has_answered else 1)
        time.sleep(cloud.pause_s)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="ferry_notice.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloud", choices=sorted(CLOUDS), required=True)
    parser.add_argument("--url", help="the metadata service, where it is elsewhere")
    parser.add_argument("command", nargs="+", help="what runs then, after --")
    options = parser.parse_args(arguments)
    kind, base = CLOUDS[options.cloud]
    base = options.url or base
    say(f"waits for a notice of {options.cloud} at {base}")
    try:
        notice = wait_for_notice(kind(base))
    except OSError as error:
        say(f"error: expected the metadata service of {options.cloud} at {base}, got "
            f"{error}: does this machine run there, and may this process reach it?")
        return 1
    say(f"notice: {notice}; runs: {' '.join(options.command)}")
    try:
        return subprocess.run(options.command, check=False).returncode
    except OSError as error:
        say(f"error: {options.command[0]}: {error.strerror}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
