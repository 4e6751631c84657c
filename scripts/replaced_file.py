"""Replaces files as a whole, for the scripts that write results."""

import os
import pathlib


def replace(path, content):
    """Writes text or bytes beside `path` and renames: a full disk leaves what was
    there."""
    path = pathlib.Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as stream:
            stream.write(content if isinstance(content, bytes) else
                         content.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
