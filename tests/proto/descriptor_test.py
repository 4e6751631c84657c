"""Compares our wire contract, field by field, with a published client's.

Usage: descriptor_test.py --protoc PROGRAM --source DIR

Compiles proto/*.proto to descriptors and puts them beside those inside the
tritonclient package: messages, fields (name, number, type, label, oneof),
map entries, enum values, RPCs and their streaming, in both directions. Exits
1 with one line a difference.

Not compared: comments, the order of declarations, file names.
"""

import argparse
import copy
import os
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

Field = descriptor_pb2.FieldDescriptorProto
ARGS = None


def facts_of_field(message, field):
    """Returns all about a field that the wire or a client depends on."""
    facts = {
        "number": field.number,
        "type": Field.Type.Name(field.type),
        "label": Field.Label.Name(field.label),
        "of": field.type_name,
        "optional": field.proto3_optional,
        "options": str(field.options).strip(),
    }
    if field.HasField("oneof_index"):
        facts["oneof"] = message.oneof_decl[field.oneof_index].name
    return facts


def add_enum(facts, path, enum):
    for value in enum.value:
        facts[f"{path}.{enum.name}.{value.name}"] = {"value": value.number}


def add_message(facts, path, message):
    path = f"{path}.{message.name}"
    facts[path] = {
        "message": True,
        "map_entry": message.options.map_entry,
        "oneofs": sorted(oneof.name for oneof in message.oneof_decl),
    }
    for field in message.field:
        facts[f"{path}.{field.name}"] = facts_of_field(message, field)
    for nested in message.nested_type:
        add_message(facts, path, nested)
    for enum in message.enum_type:
        add_enum(facts, path, enum)


def facts_of_file(file):
    """Returns {path of a declaration: its facts} for one file."""
    facts = {"file": {"package": file.package, "syntax": file.syntax}}
    for message in file.message_type:
        add_message(facts, file.package, message)
    for enum in file.enum_type:
        add_enum(facts, file.package, enum)
    for service in file.service:
        for method in service.method:
            facts[f"{file.package}.{service.name}/{method.name}"] = {
                "request": method.input_type,
                "request_streams": method.client_streaming,
                "response": method.output_type,
                "response_streams": method.server_streaming,
            }
    return facts


def differences(expected, got):
    """Returns a line for each declaration that is not the same in both."""
    lines = []
    for path in sorted(expected.keys() | got.keys()):
        if path not in got:
            lines.append(f"{path}: missing, expected {expected[path]}")
        elif path not in expected:
            lines.append(f"{path}: not in the published protocol")
        elif expected[path] != got[path]:
            for fact in expected[path].keys() | got[path].keys():
                want, have = expected[path].get(fact), got[path].get(fact)
                if want != have:
                    lines.append(f"{path}: {fact}: expected {want}, got {have}")
    return lines


def published(module):
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


def ours():
    """Returns {file name: descriptor}, compiled from our sources."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "descriptors")
        subprocess.run(
            [ARGS.protoc, "-I", ARGS.source, "--include_imports",
             f"--descriptor_set_out={out}", "proto/inference.proto"],
            cwd=ARGS.source, check=True)
        with open(out, "rb") as stream:
            files = descriptor_pb2.FileDescriptorSet.FromString(stream.read())
    return {file.name: file for file in files.file}


class DescriptorTest(unittest.TestCase):

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.files = ours()

    def assert_same(self, name, module):
        lines = differences(facts_of_file(published(module)),
                            facts_of_file(self.files[name]))
        if lines:
            self.fail(f"{name} differs:\n  " + "\n  ".join(lines))

    def test_model_config_equals_the_published_one(self):
        self.assert_same("proto/model_config.proto", model_config_pb2)

    def test_inference_equals_the_published_one(self):
        self.assert_same("proto/inference.proto", service_pb2)

    def test_service_has_all_twenty_rpcs(self):
        (service,) = self.files["proto/inference.proto"].service
        self.assertEqual(service.name, "GRPCInferenceService")
        self.assertEqual(len(service.method), 20)

    def test_any_changed_fact_is_noticed(self):
        """Guards the comparison itself: changes one thing at a time."""
        file = published(service_pb2)

        def field(changed, name):
            request = next(message for message in changed.message_type
                           if message.name == "ModelInferRequest")
            return next(f for f in request.field if f.name == name)

        def renumber(changed):
            field(changed, "raw_input_contents").number = 8

        def rename(changed):
            field(changed, "model_name").name = "model"

        def retype(changed):
            field(changed, "id").type = Field.TYPE_BYTES

        def make_single(changed):
            field(changed, "inputs").label = Field.LABEL_OPTIONAL

        def drop(changed):
            del changed.message_type[-1]

        def add(changed):
            changed.message_type.add().name = "Extra"

        def stop_streaming(changed):
            method = next(m for m in changed.service[0].method
                          if m.name == "ModelStreamInfer")
            method.server_streaming = False

        for change in (renumber, rename, retype, make_single, drop, add,
                       stop_streaming):
            with self.subTest(change.__name__):
                changed = copy.deepcopy(file)
                change(changed)
                self.assertTrue(
                    differences(facts_of_file(file), facts_of_file(changed)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--protoc", required=True)
    parser.add_argument("--source", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
