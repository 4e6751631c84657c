"""Wrong requests for inference: their parameters, what they ask of outputs,
what the wire carries, streams, and what does not fit in time."""

import grpc

from answer_models import infer, right, set_parameter
from asking import Case
from wrong_tensors import ask

UNSIGNED = "uint64_param"


def given(what, why="", model="echo", **parameters):
    return ask(what, right(model, parameters=parameters), why)


def of_output(what, value, name="classification", model="echo", why=""):
    request = right(model, outputs=["output"])
    set_parameter(request.outputs[0].parameters[name], value)
    return ask(what, request, why)


def of_input(what, why="", without_bytes=False, **parameters):
    request = right("echo")
    if without_bytes:
        del request.raw_input_contents[:]
    for name, value in parameters.items():
        set_parameter(request.inputs[0].parameters[name], value)
    return ask(what, request, why)


SEQUENCES = ("a client that counts on state would get answers computed "
             "without; Triton drops the parameter")
SHARED = "shared memory is not offered, right or wrong"

PARAMETERS = [
    given("priority as a string", priority="high", model="levels"),
    given("priority as a bool", priority=True, model="levels"),
    given("priority as a double", priority=1.0, model="levels"),
    given("priority -1", priority=-1, model="levels"),
    given("priority 7 of 3", priority=(UNSIGNED, 7), model="levels"),
    given("priority of 2^64 - 1", priority=(UNSIGNED, (1 << 64) - 1),
          model="levels"),
    given("priority where there are no levels", priority=(UNSIGNED, 2)),
    given("timeout as a string", timeout="1 s"),
    given("timeout as an unsigned", timeout=(UNSIGNED, 1_000_000)),
    given("timeout as a double", timeout=1e6),
    given("timeout of -1", timeout=-1,
          why="Triton reads it as unsigned, which is no timeout at all"),
    given("timeout of 2^63 - 1 us", timeout=(1 << 63) - 1),
    given("sequence_id of a model without sequences", SEQUENCES,
          sequence_id=5),
    given("sequence_id as a string", SEQUENCES, sequence_id="five"),
    given("sequence_id as a bool", sequence_id=True),
    given("sequence_start of a model without sequences", SEQUENCES,
          sequence_start=True),
    given("sequence_start as a number", sequence_start=1),
    given("sequence_end as a string", sequence_end="yes"),
    given("triton_enable_empty_final_response as a string",
          triton_enable_empty_final_response="yes"),
    given("triton_ and something unknown", triton_nothing=1),
    given("unknown parameter", nothing="at all"),
    given("unknown parameter, a double", nothing=0.5),
    given("parameter without a value", "unknown parameters are "
          "passed over, whatever they hold", nothing=None),
    given("binary_data_output, which is HTTP's", binary_data_output=True),
    of_input("binary_data of an input, which is HTTP's", binary_data_size=64),
    of_input("shared memory that is not registered", SHARED, without_bytes=True,
             shared_memory_region="nothing", shared_memory_byte_size=64),
    of_input("shared memory without a size", SHARED, without_bytes=True,
             shared_memory_region="nothing"),
    of_input("shared memory region as a number", SHARED, without_bytes=True,
             shared_memory_region=1, shared_memory_byte_size=64),
    of_output("shared memory of an output that is not registered", "nothing",
              name="shared_memory_region", why=SHARED),
    of_output("binary_data of an output, which is HTTP's", True,
              name="binary_data"),
]

CLASSIFICATION = [
    of_output("classification of 0", 0),
    of_output("classification of -1", -1),
    of_output("classification as a string", "3"),
    of_output("classification as a bool", True),
    of_output("classification of more than there are", 100),
    of_output("classification of 2^40", 1 << 40,
              why="Triton cuts the number to 32 bits and answers 0 classes"),
    of_output("classification of BOOL", 1, model="bool"),
    of_output("classification of FP16", 1, model="fp16"),
    of_output("classification of BF16", 1, model="bf16"),
    of_output("classification of BYTES", 1, model="text",
              why="none of several texts is the largest"),
]

TOO_LATE = ("refused at admission, with time left to ask elsewhere "
            "(decision 0004)")

TIME = [
    ask("more at once than the queue holds", right("slow"),
        "come back later is not go elsewhere (decision 0004); UNAVAILABLE with "
        "--triton-status-codes", crowd=8),
    ask("timeout of 200 ms of a model that takes 500 ms, 3 at once",
        right("slow", parameters={"timeout": 200_000}), TOO_LATE, crowd=3),
    ask("gRPC deadline of 200 ms of a model that takes 500 ms", right("slow"),
        TOO_LATE, options={"timeout": 0.2}),
    ask("a model that fails", right("failing"), model="echo"),
]


def sent(what, content, rpc="ModelInfer", why="", **more):
    return Case(what, rpc, content, why, **more)


NO_MESSAGE = "the request is wrong, not the server"
COMPRESSED = "off by default: gRPC inflates before it looks at the size"
BOUNDED = "bounded by 1,024, so that a small message makes little work"

WIRE = [
    sent("nothing at all", b""),
    sent("bytes that are no message", b"\xff\xff\xff\xff",
         why=NO_MESSAGE),
    sent("message that is cut off", right("echo").SerializeToString()[:-10],
         why=NO_MESSAGE),
    sent("field of a wrong wire type", b"\x08\x01"),
    sent("unknown field",
         right("echo").SerializeToString() + b"\xfa\x7f\x01x"),
    sent("method that does not exist", b"", rpc="NoSuch"),
    sent("service that does not exist", b"", rpc="/a.Service/Method"),
    sent("65 MiB", infer("echo", ("input", "FP32", [1, 16]),
                         raw=[bytes(65 << 20)]),
         why="messages are bounded, by 64 MiB where "
         "--grpc-max-message-bytes does not say otherwise"),
    sent("right, but compressed by gzip", right("echo"), why=COMPRESSED,
         options={"compression": grpc.Compression.Gzip}),
    sent("right, but compressed by deflate", right("echo"), why=COMPRESSED,
         options={"compression": grpc.Compression.Deflate}),
    sent("2,000 inputs", infer("echo", *[("input", "FP32", [1, 16])] * 2000)),
    sent("2,000 requested outputs", right("echo", outputs=["output"] * 2000),
         why=BOUNDED),
    sent("2,000 parameters", right("echo", parameters={
        f"p{number}": number for number in range(2000)}), why=BOUNDED),
]


def stream(what, *requests, why="", **more):
    return Case(what, "ModelStreamInfer", list(requests), why, **more)


WRONG_SHAPE = infer("echo", ("input", "FP32", [1, 15]))
NO_MODEL = infer("nothing", ("input", "FP32", [1, 16]))
END_AT_ERRORS = {"metadata": [("triton_grpc_error", "true")]}

AS_ASKED = ("every error ends the stream, as the client asked; in Triton only "
            "those of models")

STREAMS = [
    stream("model that does not exist", NO_MODEL),
    stream("wrong shape", WRONG_SHAPE),
    stream("wrong between two right", right("echo"), WRONG_SHAPE,
           right("echo")),
    stream("a model that fails", right("failing")),
    stream("wrong, errors end the stream", WRONG_SHAPE, why=AS_ASKED,
           options=END_AT_ERRORS),
    stream("right, then wrong, errors end the stream", right("echo"),
           WRONG_SHAPE, why=AS_ASKED, options=END_AT_ERRORS),
    stream("a model that fails, errors end the stream", right("failing"),
           options=END_AT_ERRORS),
    stream("no request"),
]

GROUPS = {
    "Parameters": PARAMETERS,
    "Classification": CLASSIFICATION,
    "Time and failure": TIME,
    "On the wire": WIRE,
    "Streams": STREAMS,
}
