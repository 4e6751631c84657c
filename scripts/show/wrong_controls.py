"""Wrong requests beside inference: models asked about, loaded and unloaded,
shared memory, settings, health."""

from tritonclient.grpc import service_pb2 as pb

from answer_models import set_parameter
from asking import TIMEOUT_S, Case


UNKNOWN = "NOT_FOUND, as from every other call"


def about(rpc, what, name, version="", why=""):
    """Asks one of the RPCs that only name a model."""
    request = getattr(pb, rpc + "Request")(name=name, version=version)
    return Case(f"{rpc}: {what}", rpc, request, why)


ABOUT = []
for each, unknown in [("ModelReady", ""), ("ModelMetadata", ""),
                      ("ModelConfig", ""), ("ModelStatistics", UNKNOWN)]:
    ABOUT += [
        about(each, "model that does not exist", "nothing", why=unknown),
        about(each, "model that is not loaded", "spare", why=unknown),
        about(each, "version that does not exist", "echo", "9", unknown),
        about(each, "version that is no number", "echo", "new")]
ABOUT += [about("ModelReady", "no name", ""),
          about("ModelMetadata", "no name", ""),
          about("ModelStatistics", "a version without a name", "", "1",
                "a version alone names nothing; Triton answers for all")]


def load(what, name, why="", repository="", mode="explicit", **parameters):
    request = pb.RepositoryModelLoadRequest(model_name=name,
                                            repository_name=repository)
    for key, value in parameters.items():
        set_parameter(request.parameters[key.replace("__", ":")], value)
    return Case(f"load: {what}", "RepositoryModelLoad", request, why, mode=mode)


def unload(what, name, why="", repository="", mode="explicit", **parameters):
    request = pb.RepositoryModelUnloadRequest(model_name=name,
                                              repository_name=repository)
    for key, value in parameters.items():
        set_parameter(request.parameters[key], value)
    return Case(f"unload: {what}", "RepositoryModelUnload", request, why,
                mode=mode)


NOT_THE_SERVER = ("the request or the folder is wrong, not the server, and the "
                  "message says what")

REPOSITORY = [
    Case("index: of another repository", "RepositoryIndex",
         pb.RepositoryIndexRequest(repository_name="other")),
    load("model that does not exist", "nothing", NOT_THE_SERVER),
    load("no name", "", NOT_THE_SERVER),
    load("name that leads out of the repository", "../echo", NOT_THE_SERVER),
    load("of another repository", "spare", repository="other"),
    load("config with a dimension of 0", "unfit", NOT_THE_SERVER),
    load("model whose file is missing", "no_file",
         f"answered at once; Triton does not within {TIMEOUT_S} s"),
    load("model without a version", "no_version",
         "a folder is missing, the config is right"),
    load("unknown parameter", "spare", nothing="at all"),
    load("config that is no JSON", "spare", NOT_THE_SERVER, config="{"),
    load("config of another name", "spare", NOT_THE_SERVER,
         config='{"name": "other", "backend": "python"}'),
    load("config with an unknown field", "spare", NOT_THE_SERVER,
         config='{"nothing": 1}'),
    load("config as a number", "spare", config=1),
    load("file without a config", "spare",
         "files are not taken over the network, with or without a config",
         file__1__model=b"x"),
    load("in the mode none", "echo", mode="none"),
    unload("model that does not exist", "nothing"),
    unload("model that is not loaded", "spare"),
    unload("no name", ""),
    unload("of another repository", "echo", repository="other"),
    unload("unknown parameter", "nothing",
           "refused as by load, by both", nothing=True),
    unload("unload_dependents as a string", "nothing",
           unload_dependents="yes"),
    unload("in the mode none", "echo", mode="none"),
]

def shared(kind, what, rpc, **fields):
    rpc = f"{kind}SharedMemory{rpc}"
    return Case(f"{kind}: {what}", rpc, getattr(pb, rpc + "Request")(**fields),
                "shared memory is not offered, whatever is asked of it")


SHARED_MEMORY = [
    shared("System", "register what does not exist", "Register", name="region",
           key="/ferry_no_such_key", byte_size=64),
    shared("System", "status of what is not registered", "Status",
           name="nothing"),
    shared("System", "status of all", "Status"),
    shared("System", "unregister what is not registered", "Unregister",
           name="nothing"),
    shared("System", "unregister all", "Unregister"),
    shared("Cuda", "register what does not exist", "Register", name="region",
           raw_handle=bytes(64), byte_size=64),
    shared("Cuda", "status of what is not registered", "Status",
           name="nothing"),
    shared("Cuda", "unregister all", "Unregister"),
]


READ_ONLY = "settings can be read, not changed, rightly or wrongly"


def trace(what, model="", why=READ_ONLY, **settings):
    request = pb.TraceSettingRequest(model_name=model)
    for name, values in settings.items():
        request.settings[name].value.extend(values)
    return Case(f"trace: {what}", "TraceSetting", request, why)


def log(what, **settings):
    request = pb.LogSettingsRequest()
    for name, (field, value) in settings.items():
        setattr(request.settings[name], field, value)
    return Case(f"log: {what}", "LogSettings", request, READ_ONLY)


SETTINGS = [
    trace("model that does not exist", model="nothing", why=UNKNOWN),
    trace("setting that does not exist", nothing=["at all"]),
    trace("rate that is no number", trace_rate=["often"]),
    trace("level that does not exist", trace_level=["EVERYTHING"]),
    trace("a change that is right", trace_rate=["1000"]),
    log("setting that does not exist", nothing=("bool_param", True)),
    log("log_info as a string", log_info=("string_param", "yes")),
    log("format that does not exist", log_format=("string_param", "nothing")),
    log("a change that is right", log_info=("bool_param", True)),
]

HEALTH = [
    Case("Check: service that does not exist", "/grpc.health.v1.Health/Check",
         b"\x0a\x07nothing",
         "as the health protocol has it; Triton answers for any name"),
    Case("Check: bytes that are no message", "/grpc.health.v1.Health/Check",
         b"\xff"),
]

GROUPS = {
    "Asking about models": ABOUT,
    "Loading and unloading": REPOSITORY,
    "Shared memory": SHARED_MEMORY,
    "Settings": SETTINGS,
    "Health": HEALTH,
}
