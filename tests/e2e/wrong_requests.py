"""Requests that are wrong in one thing each, and what Ferry says to them.

Each is made from a right request for the model "echo" of ferry_process.py.
`expected` and `found` are parts of the message: what the server wants, and what
the client sent.
"""

import dataclasses
import typing

from tritonclient.grpc import service_pb2 as pb

HUGE = 2**63 - 1
ROWS = bytes(range(128))  # of the right request


@dataclasses.dataclass(frozen=True)
class Wrong:
    what: str
    spoil: typing.Callable[[pb.ModelInferRequest], None]
    expected: str
    found: str
    code: str = "INVALID_ARGUMENT"

    def request(self):
        request = right_request()
        self.spoil(request)
        return request


def right_request(request_id="r"):
    request = pb.ModelInferRequest(model_name="echo", id=request_id)
    request.inputs.add(name="input", datatype="FP32", shape=[2, 16])
    request.raw_input_contents.append(ROWS)
    return request


# --- what spoils a request ---

def fields(**values):
    def spoil(request):
        for name, value in values.items():
            setattr(request, name, value)
    return spoil


def tensor(**values):
    def spoil(request):
        for name, value in values.items():
            setattr(request.inputs[0], name, value)
    return spoil


def shape(*dims):
    def spoil(request):
        request.inputs[0].shape[:] = dims
    return spoil


def raw(*contents):
    def spoil(request):
        request.raw_input_contents[:] = contents
    return spoil


def typed(**contents):
    def spoil(request):
        del request.raw_input_contents[:]
        request.inputs[0].contents.SetInParent()
        for name, values in contents.items():
            getattr(request.inputs[0].contents, name).extend(values)
    return spoil


def of_model(name, data_type, dims, contents, input_name="input"):
    def spoil(request):
        request.model_name = name
        tensor(name=input_name, datatype=data_type)(request)
        shape(*dims)(request)
        if isinstance(contents, dict):
            typed(**contents)(request)
        else:
            raw(contents)(request)
    return spoil


def no_inputs(request):
    del request.inputs[:], request.raw_input_contents[:]


def input_twice(request):
    request.inputs.append(request.inputs[0])
    request.raw_input_contents.append(ROWS)


def raw_and_typed(request):
    request.inputs[0].contents.fp32_contents.extend([1] * 32)


def outputs(*names, **parameters):
    def spoil(request):
        for name in names:
            output = request.outputs.add(name=name)
            for key, value in parameters.items():
                set_parameter(output.parameters[key], value)
    return spoil


def parameter(name, value):
    return lambda request: set_parameter(request.parameters[name], value)


def set_parameter(target, value):
    if value is None:
        target.SetInParent()
        return
    kind = {bool: "bool_param", int: "int64_param", float: "double_param",
            str: "string_param"}[type(value)]
    setattr(target, kind, value)


def shared_memory_input(request):
    set_parameter(request.inputs[0].parameters["shared_memory_region"], "x")


# --- the table ---

UNIMPLEMENTED = "UNIMPLEMENTED"
NOT_FOUND = "NOT_FOUND"
SHAPE = "Expected [-1,16]"

NAMES = [
    Wrong("no model", fields(model_name=""), "unknown model", "''", NOT_FOUND),
    Wrong("unknown model", fields(model_name="none"), "unknown model",
          "'none'", NOT_FOUND),
    Wrong("path as a model", fields(model_name="../echo"), "unknown model",
          "'../echo'", NOT_FOUND),
    Wrong("endless name", fields(model_name="x" * 100_000), "unknown model",
          "xxx...'", NOT_FOUND),
    Wrong("unknown version", fields(model_version="9"), "unknown model",
          "version 9 is not found", NOT_FOUND),
    Wrong("version that is no number", fields(model_version="new"),
          "expected a number of at least 0", "got 'new'"),
    Wrong("version past 64 bits", fields(model_version="9" * 20),
          "expected a number of at least 0", "got '999"),
    Wrong("other input", tensor(name="wrong"), "expected 'input'", "'wrong'"),
    Wrong("input without a name", tensor(name=""), "expected 'input'", "''"),
    Wrong("input twice", input_twice, "expected once", "given twice"),
    Wrong("no input", no_inputs, "expected 1 inputs", "got 0 inputs"),
    Wrong("other output", outputs("wrong"), "expected 'output'", "'wrong'"),
    Wrong("output twice", outputs("output", "output"), "expected once",
          "requested twice"),
]

TYPES_AND_SHAPES = [
    Wrong("other datatype", tensor(datatype="INT32"), "expects 'FP32'",
          "is 'INT32'"),
    Wrong("datatype of configs", tensor(datatype="TYPE_FP32"),
          "expects 'FP32'", "is 'TYPE_FP32'"),
    Wrong("no datatype", tensor(datatype=""), "expects 'FP32'", "is ''"),
    Wrong("one dim less", shape(32), SHAPE, "got [32]"),
    Wrong("one dim more", shape(2, 16, 1), SHAPE, "got [2,16,1]"),
    Wrong("no dims", shape(), SHAPE, "got []"),
    Wrong("absurdly many dims", shape(*[1] * 100_000), SHAPE,
          "got [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...]"),
    Wrong("other dim", shape(2, 15), SHAPE, "got [2,15]"),
    Wrong("negative dim", shape(2, -16), SHAPE, "got [2,-16]"),
    Wrong("zero rows", shape(0, 16), SHAPE, "got [0,16]"),
    Wrong("negative rows", shape(-2, 16), SHAPE, "got [-2,16]"),
    Wrong("rows past 32 bits", shape(2**32 + 2, 16), "must be <= 67108864",
          "got 4294967298"),
    Wrong("rows past all bounds", shape(HUGE, 16), "must be <= 67108864",
          f"got {HUGE}"),
    Wrong("any size as a size", of_model("any_shape", "FP32", [1, -1], b""),
          "Expected [-1,-1]", "got [1,-1]; a request says its own sizes"),
    Wrong("more bytes than can be counted",
          of_model("any_shape", "FP32", [2, HUGE], ROWS),
          "more bytes than can be counted", f"got 2 rows of [{HUGE}]"),
    Wrong("bytes that wrap to those sent",
          of_model("any_shape", "FP32", [2, 2**61 + 16], ROWS),
          "more bytes than can be counted", f"got 2 rows of [{2**61 + 16}]"),
    Wrong("batch dimension where the model has none",
          of_model("whole", "FP32", [1, 2, 3], bytes(24)), "Expected [2,3]",
          "got [1,2,3]"),
]

CONTENTS = [
    Wrong("a byte less", raw(ROWS[1:]), "Expected 128", "got 127"),
    Wrong("a byte more", raw(ROWS + b"\0"), "Expected 128", "got 129"),
    Wrong("no bytes", raw(b""), "Expected 128", "got 0"),
    Wrong("bytes of fewer rows than the shape says", shape(3, 16),
          "Expected 192", "got 128"),
    Wrong("raw contents of no input", raw(ROWS, b"x"),
          "expected 1 raw_input_contents", "got 2"),
    Wrong("neither raw nor typed", raw(),
          "expected raw_input_contents or contents", "got neither"),
    Wrong("raw and typed", raw_and_typed, "contents field must not be",
          "when using raw_input_contents"),
    Wrong("empty contents", typed(), "expected 32", "got 0"),
    Wrong("an element less", typed(fp32_contents=[1] * 31), "expected 32",
          "got 31"),
    Wrong("elements of another type", typed(int_contents=[1] * 32),
          "expected datatype 'FP32'", "in int_contents"),
    Wrong("elements of two types",
          typed(fp32_contents=[1] * 32, bytes_contents=[b"x"]),
          "expected datatype 'FP32'", "in bytes_contents"),
    Wrong("bool of 2", of_model("flags", "BOOL", [1, 3], b"\0\1\2"),
          "expected bytes of 0 or 1", "got another value"),
    Wrong("value past its type",
          of_model("small", "INT8", [1, 3], {"int_contents": [1, 2, 128]}),
          "expected -128 to 127", "value 128 at index 2"),
    Wrong("typed FP16",
          of_model("half", "FP16", [1, 3], {"fp32_contents": [1, 2, 3]}),
          "expected raw_input_contents", "'FP16' has no typed field"),
]

MICROS = "expected 0 or more microseconds"

PARAMETERS = [
    Wrong("timeout as text", parameter("timeout", "1"),
          "expected int64_param", "got string_param"),
    Wrong("timeout without a value", parameter("timeout", None),
          "expected int64_param", "got no value"),
    Wrong("negative timeout", parameter("timeout", -1), MICROS, "got -1"),
    Wrong("priority as text", parameter("priority", "high"),
          "expected uint64_param", "got string_param"),
    Wrong("negative priority", parameter("priority", -2),
          "expected at least 0", "got -2"),
    Wrong("sequence", parameter("sequence_id", 1), "sequences are not",
          "'sequence_id'", UNIMPLEMENTED),
    Wrong("start of a sequence", parameter("sequence_start", True),
          "sequences are not", "'sequence_start'", UNIMPLEMENTED),
    Wrong("sequence as a fraction", parameter("sequence_id", 1.5),
          "expected int64_param or string_param", "got double_param"),
    Wrong("reserved name", parameter("triton_other", True),
          "expected 'triton_enable_empty_final_response'", "'triton_other'"),
    Wrong("final response as a number",
          parameter("triton_enable_empty_final_response", 1),
          "expected bool_param", "got int64_param"),
    Wrong("no classes", outputs("output", classification=0),
          "expected 1 to 4096", "got 0"),
    Wrong("too many classes", outputs("output", classification=4097),
          "expected 1 to 4096", "got 4097"),
    Wrong("classes as text", outputs("output", classification="3"),
          "expected int64_param", "got string_param"),
    Wrong("input in shared memory", shared_memory_input,
          "send and receive tensors in the messages",
          "'shared_memory_region'", UNIMPLEMENTED),
    Wrong("output in shared memory",
          outputs("output", shared_memory_region="x"),
          "send and receive tensors in the messages",
          "'shared_memory_region'", UNIMPLEMENTED),
]

ALL = NAMES + TYPES_AND_SHAPES + CONTENTS + PARAMETERS
