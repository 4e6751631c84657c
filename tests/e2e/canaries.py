"""Looks for secrets in what a server tells, in each form in which they may stand, and
reads what its process and its folders show."""

import base64
import glob
import json
import os
import subprocess

from google.protobuf import text_encoding

HEAD = 12  # characters of a text that is cut, as the name of a thread is


def in_base64(secret):
    """Yields what stands for it whatever stands before and behind it."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            begin = -(-before * 8 // 6)
            end = (before + len(secret)) * 8 // 6
            yield encode(bytes(before) + secret)[begin:end]


def forms(secret):
    """Returns the bytes that would tell it, by the name of the form."""
    digits = secret.hex()
    found = {"as it is": secret, "hexadecimal": digits.encode(),
             "HEXADECIMAL": digits.upper().encode(),
             "hexadecimal with colons": secret.hex(":").encode(),
             "escaped": "".join(f"\\x{byte:02x}" for byte in secret).encode(),
             "text of protobuf": text_encoding.CEscape(secret, False).encode(),
             "JSON": json.dumps(secret.decode("latin-1"))[1:-1].encode(),
             "URL": "".join(f"%{byte:02X}" for byte in secret).encode(),
             "numbers": ", ".join(map(str, secret)).encode(),
             "numbers without spaces": ",".join(map(str, secret)).encode()}
    found |= {f"base64 {i}": one for i, one in enumerate(in_base64(secret))}
    if secret.isascii() and secret.decode().isprintable():
        found |= {"UPPER CASE": secret.upper(), "lower case": secret.lower(),
                  "cut": secret[:HEAD]}
    # JSON escapes what was escaped before.
    return found | {f"{name}, in JSON": one.replace(b"\\", b"\\\\")
                    for name, one in found.items()
                    if name in ("escaped", "text of protobuf") and b"\\" in one}


class Canaries:
    """`secrets`: bytes by name."""

    def __init__(self, secrets):
        self.forms = [(name, form, text) for name, secret in secrets.items()
                      for form, text in forms(secret).items()]

    def hits(self, text):
        """Returns the names and forms of those that stand in it."""
        return [(name, form) for name, form, one in self.forms if one in text]


def scalar_of(key):
    """Returns the bytes of the secret number in the file of an EC key."""
    text = subprocess.run(["openssl", "ec", "-in", key, "-noout", "-text"],
                          check=True, capture_output=True, text=True).stdout
    digits = text.partition("priv:")[2].partition("pub:")[0]
    return bytes.fromhex(digits.replace(":", "").replace("\n", "").replace(" ", ""))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def process_texts(pid):
    """Returns what /proc shows of a process to others of its user, by its names
    there. Its memory, /proc/PID/mem, is not read, nor are the files in memory that
    gRPC has the key from: they hold what the server works with."""
    folder = f"/proc/{pid}"
    names = [line.split(maxsplit=5)[5] for line in
             read(f"{folder}/maps").decode().splitlines()
             if len(line.split(maxsplit=5)) == 6]
    links = []
    for link in glob.glob(f"{folder}/fd/*"):
        try:
            links.append(os.readlink(link))
        except FileNotFoundError:
            pass  # it was closed meanwhile
    return {"cmdline": read(f"{folder}/cmdline"),
            "environ": read(f"{folder}/environ"),
            "status": read(f"{folder}/status"),
            "threads": b"\n".join(read(path) for path in
                                  glob.glob(f"{folder}/task/*/comm")),
            "maps": "\n".join(names).encode(), "fd": "\n".join(links).encode()}


def folder_text(folder):
    """Returns names and contents of all files below it."""
    parts = []
    for where, folders, files in os.walk(folder):
        parts += [name.encode() for name in folders + files]
        parts += [read(path) for path in (os.path.join(where, name)
                                          for name in files)
                  if os.path.isfile(path)]
    return b"\n".join(parts)
