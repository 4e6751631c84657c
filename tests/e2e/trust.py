"""What a server and its clients show of themselves: certificates and tokens."""

import datetime
import functools
import hashlib
import os
import ssl
import subprocess
import tempfile

import grpc


CA_CONFIG = """[ca]
default_ca = this
[this]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
default_startdate = 20200101000000Z
policy = any
copy_extensions = copyall
[any]
commonName = supplied
"""


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    """Signs certificates; its own is in `certificate`."""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.key, self.certificate = self.paths(name)
        openssl("req", "-x509", *self.new_key(), "-keyout", self.key, "-out",
                self.certificate, "-subj", f"/CN={name}", "-days", "2")

    @staticmethod
    def new_key():
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes"]

    def paths(self, name):
        return [os.path.join(self.folder, f"{name}.{kind}")
                for kind in ("key", "pem")]

    def sign(self, name, into=None):
        """Returns the files of a key and its certificate, of localhost."""
        key, certificate = self.paths(into or name)
        made = [path + ".new" for path in (key, certificate)]
        openssl("req", "-x509", *self.new_key(), "-keyout", made[0], "-out",
                made[1], "-subj", f"/CN={name}", "-days", "2", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-CA",
                self.certificate, "-CAkey", self.key)
        os.chmod(made[0], 0o600)
        for old, new in zip(made, (key, certificate)):
            os.replace(old, new)
        return key, certificate


    def shorten(self, name, seconds, begins=0):
        """Signs what is in `name` anew, for so long from `begins` seconds from now
        on; returns when it ends, in seconds since the epoch."""
        key, certificate = self.paths(name)
        start = (datetime.datetime.now(datetime.timezone.utc) +
                 datetime.timedelta(seconds=begins)).replace(microsecond=0)
        end = start + datetime.timedelta(seconds=seconds)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = os.path.join(folder, "config")
            with open(path, "w") as config:
                config.write(CA_CONFIG.format(folder=folder))
            with open(os.path.join(folder, "index"), "w"):
                pass
            request = os.path.join(folder, "request")
            openssl("x509", "-x509toreq", "-copy_extensions", "copyall", "-in",
                    certificate, "-signkey", key, "-out", request)
            made = os.path.join(folder, "made")
            openssl("ca", "-batch", "-notext", "-config", path, "-cert",
                    self.certificate, "-keyfile", self.key, "-in", request,
                    "-out", made, "-startdate", start.strftime("%Y%m%d%H%M%SZ"),
                    "-enddate", end.strftime("%Y%m%d%H%M%SZ"))
            os.replace(made, certificate)
        return end.timestamp()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def credentials(authority, pair=None):
    """Returns those of a client, with its own certificate where it has one."""
    key, certificate = pair or (None, None)
    return grpc.ssl_channel_credentials(
        read(authority.certificate), key and read(key),
        certificate and read(certificate))


def wrapper(certificate):
    """Returns what makes a client's TLS of a socket, for HTTP/2; `certificate`: the
    authority's."""
    context = ssl.create_default_context(cafile=certificate)
    context.set_alpn_protocols(["h2"])
    return functools.partial(context.wrap_socket, server_hostname="localhost")


def token_line(name, scopes, token):
    return f"{name} {scopes} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"


def write(path, text, mode=0o600):
    """A rename puts it there, so that it is never half there."""
    made = path + ".new"
    with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode),
              "w") as file:
        file.write(text)
    os.chmod(made, mode)
    os.replace(made, path)


def bearer(token):
    return (("authorization", f"Bearer {token}"),)
