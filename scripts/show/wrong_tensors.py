"""Wrong requests for inference: which model, its tensors, their bytes."""

from answer_models import infer, right
from asking import Case

MAX = (1 << 63) - 1


def ask(what, request, why="", **more):
    model = getattr(request, "model_name", "")
    return Case(what, "ModelInfer", request, why, **{"model": model, **more})


def of_version(version):
    return right("echo", version=version)


def typed(model, data_type, shape, **contents):
    request = infer(model, ("input", data_type, shape), raw=[])
    message = request.inputs[0].contents
    message.SetInParent()
    for field, values in contents.items():
        getattr(message, field).extend(values)
    return request


def shaped(what, *shape, model="echo", why="", bytes_=64):
    request = infer(model, ("input", "FP32", shape), raw=[bytes(bytes_)])
    return ask(what, request, why)


def raw(what, model, *contents, why=""):
    request = right(model)
    del request.raw_input_contents[:]
    request.raw_input_contents.extend(contents)
    return ask(what, request, why)


def both_contents():
    request = right("echo")
    request.inputs[0].contents.fp32_contents.extend([0] * 16)
    return request


A, B = ("a", "FP32", [1, 4]), ("b", "INT32", [1, 4])
ROW = ("input", "FP32", [1, 16])

MODELS = [
    ask("model that does not exist", infer("nothing", ROW), model="echo"),
    ask("model without a name", infer("", ROW), model="echo"),
    ask("model name that leads out of the repository",
        infer("../echo", ROW), model="echo"),
    ask("model name of 10,000 letters", infer("x" * 10_000, ROW), model="echo"),
    ask("model that is not loaded", right("spare"), model="echo"),
    ask("version that does not exist", of_version("9")),
    ask("version that is no number", of_version("new")),
    ask("version 0", of_version("0"),
        "versions begin at 1: refused as -1 is, by both"),
    ask("version -1", of_version("-1")),
    ask("version 01", of_version("01")),
    ask("version 1.5", of_version("1.5"),
        "there is no such version; Triton reads the 1 and drops the rest"),
    ask("version of 30 digits", of_version("9" * 30)),
]

NAMES = [
    ask("no input", infer("echo")),
    ask("one of two inputs missing", infer("pair", A)),
    ask("an input too many", infer("echo", ROW, ("more", "FP32", [1, 4]))),
    ask("an input under another name", infer("echo", ("x", "FP32", [1, 16]))),
    ask("an input without a name", infer("echo", ("", "FP32", [1, 16]))),
    ask("an input twice", infer("echo", ROW, ROW)),
    ask("one of two inputs twice", infer("pair", A, A)),
    ask("output that does not exist", right("echo", outputs=["nothing"])),
    ask("output without a name", right("echo", outputs=[""])),
    ask("an output twice", right("echo", outputs=["output", "output"]),
        "Triton answers it once, so that outputs no longer stand where they "
        "were asked for"),
]

OVERFLOWS = "the product is checked"

TYPES_AND_SHAPES = [
    ask("another type", infer("echo", ("input", "INT32", [1, 16]))),
    ask("type that does not exist",
        infer("echo", ("input", "FP8", [1, 16]), raw=[bytes(64)])),
    ask("type in small letters",
        infer("echo", ("input", "fp32", [1, 16]), raw=[bytes(64)])),
    ask("no type", infer("echo", ("input", "", [1, 16]), raw=[bytes(64)])),
    shaped("row too short", 1, 15, bytes_=60),
    shaped("row too long", 1, 17, bytes_=68),
    shaped("no batch dimension", 16),
    shaped("a dimension too many", 1, 16, 1),
    shaped("no shape"),
    shaped("batch of 0 rows", 0, 16, bytes_=0),
    shaped("batch of -1 rows", -1, 16),
    shaped("more rows than max_batch_size", 9, 16, bytes_=9 * 64,
           why="served in parts, whose answers are joined"),
    shaped("batch of 2^40 rows", 1 << 40, 16,
           why="the request is wrong, not the server; Triton's size overflows "
           "and reaches the backend"),
    shaped("batch of 2^63 - 1 rows", MAX, 16),
    shaped("batch of 2^32 + 1 rows", (1 << 32) + 1, 16,
           why="Triton cuts the size to 32 bits and answers for 1 row"),
    shaped("dimension of -16", 1, -16),
    shaped("dimension of -1 where sizes vary", 1, -1, model="any_shape"),
    shaped("dimension of 0 where sizes vary", 1, 0, model="any_shape",
           bytes_=0, why="a row without elements is nothing to compute, and "
           "many models fail on it, with all of their batch"),
    shaped("dimensions whose product overflows to 0", 1, 1 << 32, 1 << 32,
           model="any_plane", bytes_=0, why=OVERFLOWS),
    shaped("dimensions whose bytes overflow to 64", 1, (1 << 62) + 16,
           model="any_shape", why=OVERFLOWS),
    shaped("dimension of 2^63 - 1", 1, MAX, model="any_shape"),
    shaped("1,000 dimensions", *[1] * 999, 16),
    shaped("1,000 dimensions where sizes vary", *[1] * 1000,
           model="any_plane", bytes_=4),
    shaped("batch dimension where there is none", 1, 2, 3, model="whole",
           bytes_=24),
    ask("inputs of different batch sizes",
        infer("pair", ("a", "FP32", [1, 4]), ("b", "INT32", [2, 4]))),
]

BYTES = [
    raw("a byte too few", "echo", bytes(63)),
    raw("a byte too many", "echo", bytes(65)),
    raw("an element too few", "echo", bytes(60)),
    raw("empty bytes", "echo", b""),
    raw("neither bytes nor contents", "echo"),
    raw("bytes of one of two inputs", "pair", bytes(16)),
    raw("bytes of three inputs for two", "pair", bytes(16), bytes(16),
        bytes(16), why="whose bytes are whose is a guess; Triton passes over "
        "the last"),
    ask("bytes and contents of one input", both_contents()),
    ask("contents with an element too few",
        typed("echo", "FP32", [1, 16], fp32_contents=[0] * 15)),
    ask("contents with an element too many",
        typed("echo", "FP32", [1, 16], fp32_contents=[0] * 17)),
    ask("contents that are empty", typed("echo", "FP32", [1, 16])),
    ask("contents of another type",
        typed("echo", "FP32", [1, 16], int_contents=[0] * 16)),
    ask("contents of two types",
        typed("echo", "FP32", [1, 16], fp32_contents=[0] * 16,
              int_contents=[0] * 16)),
    ask("contents for FP16",
        typed("fp16", "FP16", [1, 3], fp32_contents=[0] * 3)),
    ask("contents for BF16",
        typed("bf16", "BF16", [1, 3], fp32_contents=[0] * 3)),
    ask("300 in the contents of INT8",
        typed("int8", "INT8", [1, 3], int_contents=[300, 0, 0]),
        "Triton keeps the low 8 bits and computes with 44"),
    ask("256 in the contents of UINT8",
        typed("uint8", "UINT8", [1, 3], uint_contents=[256, 0, 0]),
        "Triton keeps the low 8 bits and computes with 0"),
    ask("numbers as contents of BOOL",
        typed("bool", "BOOL", [1, 3], int_contents=[1, 0, 1])),
    raw("a byte of 2 as BOOL", "bool", b"\1\0\2",
        why="a bool that is neither 0 nor 1 is undefined in what computes "
        "with it"),
]

TEXTS = [
    raw("text whose length is cut off", "text", b"\0\0\0\0\0\0\0\0\1\0"),
    raw("text that is shorter than its length", "text",
        b"\0\0\0\0\0\0\0\0\5\0\0\0abc"),
    raw("text of 2^32 - 1 bytes that are not there", "text",
        b"\0\0\0\0\0\0\0\0\xff\xff\xff\xff"),
    raw("a text too few", "text", bytes(8)),
    raw("a text too many", "text", bytes(16)),
    raw("bytes after the last text", "text", bytes(13)),
    raw("no text", "text", b""),
    ask("contents with a text too few",
        typed("text", "BYTES", [1, 3], bytes_contents=[b"a", b"b"])),
    ask("contents with a text too many",
        typed("text", "BYTES", [1, 3], bytes_contents=[b""] * 4)),
    ask("numbers as contents of BYTES",
        typed("text", "BYTES", [1, 3], int_contents=[1, 2, 3])),
]

GROUPS = {
    "Which model": MODELS,
    "Names of tensors": NAMES,
    "Types and shapes": TYPES_AND_SHAPES,
    "Bytes and contents": BYTES,
    "Texts": TEXTS,
}
