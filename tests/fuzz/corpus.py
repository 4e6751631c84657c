"""The kept corpus of a fuzz target, as text in git and as inputs on disk.

    corpus.py unpack SOURCE INPUTS   writes the inputs of SOURCE and
                                     SOURCE.found to INPUTS, and INPUTS.list,
                                     their paths with commas between
    corpus.py pack SOURCE INPUTS     writes what INPUTS holds beside the inputs
                                     of SOURCE to SOURCE.found

SOURCE is a folder of inputs that people wrote, by ending:

    .textproto       a ModelInferRequest, encoded by protoc
    .hex             bytes, "#" begins a comment
    .safetensors     the header's JSON: its size is put before it, and zeros as
                     many as its data_offsets say behind it
    anything else    as it is

SOURCE.found holds what a fuzzer found, an input a line in base64, shortest
first: git keeps it as text, and differences are lines. Errors: a traceback;
nothing here reads what a stranger sent.
"""

import base64
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUEST = "inference.ModelInferRequest"


def encode_request(text):
    return subprocess.run(
        ["protoc", f"--encode={REQUEST}", f"--proto_path={ROOT}",
         "proto/inference.proto"],
        input=text, stdout=subprocess.PIPE, check=True).stdout


def decode_hex(text):
    return bytes.fromhex(re.sub(rb"#.*", b"", text).decode())


def frame_weights(text):
    text = text.strip()
    ends = [about["data_offsets"][1] for about in json.loads(text).values()
            if "data_offsets" in about]
    return struct.pack("<Q", len(text)) + text + bytes(max(ends, default=0))


READERS = {".textproto": encode_request, ".hex": decode_hex,
           ".safetensors": frame_weights}


def written_inputs(source):
    """Yields name and bytes of each input that a person wrote."""
    for path in sorted(source.iterdir()):
        text = path.read_bytes()
        yield path.name, READERS.get(path.suffix, bytes)(text)


def found_inputs(source):
    found = source.with_suffix(".found")
    lines = found.read_text().split() if found.exists() else []
    for number, line in enumerate(lines):
        yield f"found-{number:04}", base64.b64decode(line)


def unpack(source, inputs):
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    paths = []
    for name, content in [*written_inputs(source), *found_inputs(source)]:
        path = inputs / name
        path.write_bytes(content)
        paths.append(str(path))
    inputs.with_suffix(".list").write_text(",".join(paths))


def pack(source, inputs):
    written = {content for _, content in written_inputs(source)}
    found = {path.read_bytes() for path in inputs.iterdir()} - written
    lines = [base64.b64encode(content).decode() + "\n"
             for content in sorted(found, key=lambda text: (len(text), text))]
    source.with_suffix(".found").write_text("".join(lines))
    print(f"{source.with_suffix('.found')}: {len(lines)} inputs, "
          f"{sum(map(len, lines))} bytes")


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack}[sys.argv[1]](
        pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
