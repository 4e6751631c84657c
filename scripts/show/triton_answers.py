"""B2: what Triton and Ferry answer to the same wrong requests, side by side.

Each difference in code has a reason, which stands with the request; after each
the server must still answer a right one. scripts/tritonserver.sh fetches Triton.
"""

from tritonclient.grpc import service_pb2 as pb

import both_servers
import measuring
import wrong_controls
import wrong_parameters
import wrong_tensors

GROUPS = {**wrong_tensors.GROUPS, **wrong_parameters.GROUPS,
          **wrong_controls.GROUPS}
SHOWN = 240  # characters of a message in the page
KEPT = 2000  # in the result
RIGHT = "answers rightly"
UNKNOWN_ID = "[request id: <id_unknown>] "


def cut(text, length):
    return text if len(text) <= length else text[:length] + "..."


def ask(server, case):
    """Returns what is told of one server and one case."""
    answer = server.masked(server.asker.ask(case))
    told = {"code": answer.code, "message": cut(answer.message, KEPT),
            "afterwards": RIGHT}
    if not server.asker.answers_rightly(case.model):
        ended = server.process.poll() is not None
        told["afterwards"] = ("the server has ended" if ended else
                              f"'{case.model}' no longer answers")
        server.begin_anew()
    return told


def is_right(told):
    return told["afterwards"] == RIGHT


def complaints(case, triton, ferry):
    """Yields what is wrong with Ferry's answer, or with what the case says of
    it."""
    differs = triton["code"] != ferry["code"] or not is_right(triton)
    if differs and not case.why:
        yield "differs without a reason"
    if case.why and not differs:
        yield "has a reason for a difference that is none"
    if not is_right(ferry):
        yield ferry["afterwards"]
    if ferry["code"] == "no answer":
        yield "has no answer"
    if triton["message"] and ferry["code"] != "OK" and not ferry["message"]:
        yield "has no message"


def compare(servers, group, case):
    told = {name: ask(servers[name][case.mode], case)
            for name in ("triton", "ferry")}
    wrong = list(complaints(case, told["triton"], told["ferry"]))
    for text in wrong:
        measuring.say(f"{group}: {case.what}: {text}: {told}")
    return {"group": group, "case": case.what, "rpc": case.rpc, **told,
            "why": case.why, "complaints": wrong}


def compare_all(servers):
    """Returns the comparisons, and the cases that Ferry has no model for."""
    done, left_out = [], []
    refused = servers["ferry"]["explicit"].refused
    for group, cases in GROUPS.items():
        for case in cases:
            if case.model in refused:
                left_out.append(case.what)
            else:
                done.append(compare(servers, group, case))
        measuring.say(f"{group}: {len(cases)} asked")
    return done, {"cases": left_out, "refused": refused}


# ---------------------------------------------------------------------------
# The page

def code_span(text):
    """Returns a message as a cell of a table shows it."""
    text = " ".join(cut(text.removeprefix(UNKNOWN_ID), SHOWN).split())
    text = text.replace("`", "'").replace("|", "\\|")
    return f"`{text}`" if text else ""


def remark(comparison):
    triton = comparison["triton"]
    after = "" if is_right(triton) else f"Triton: {triton['afterwards']}. "
    return after + comparison["why"]


def table(comparisons):
    return measuring.table(
        ["asked", "Triton", "its message", "Ferry", "its message", "remark"],
        [[c["case"], c["triton"]["code"], code_span(c["triton"]["message"]),
          c["ferry"]["code"], code_span(c["ferry"]["message"]), remark(c)]
         for c in comparisons])


def page_of(comparisons, left_out, versions):
    same = sum(c["triton"]["code"] == c["ferry"]["code"] for c in comparisons)
    survived = sum(is_right(c["triton"]) for c in comparisons)
    text = (f"Triton {versions['triton']} with its Python backend, Ferry "
            f"{versions['ferry']}. Of {len(comparisons)} requests "
            f"{same} get the same code from both, "
            f"{len(comparisons) - same} deliberately another. Afterwards Ferry "
            f"answered rightly {sum(is_right(c['ferry']) for c in comparisons)} "
            f"times, Triton {survived}. `{UNKNOWN_ID.strip()}` before messages "
            "is left out here; of a stream the code is its end's, after what "
            "was in it.\n\n")
    if left_out["cases"]:
        text += (f"Left out, because this Ferry does not serve their model: "
                 f"{', '.join(left_out['cases'])}.\n\n")
    for group in GROUPS:
        of_group = [c for c in comparisons if c["group"] == group]
        if of_group:
            text += f"## {group}\n\n{table(of_group)}\n"
    return text


def measure(options):
    result = measuring.describe(
        "B2", "Triton's and Ferry's answers to the same wrong requests: each "
        "difference in code is deliberate, and Ferry answers rightly "
        "afterwards", options.command)
    with both_servers.serve(options.programs) as servers:
        versions = {
            name: modes["none"].asker.stub.ServerMetadata(
                pb.ServerMetadataRequest()).version
            for name, modes in servers.items()}
        comparisons, left_out = compare_all(servers)
    result |= {"versions": versions, "comparisons": comparisons,
               "left_out": left_out,
               "passed": not any(c["complaints"] for c in comparisons)}
    return result, page_of(comparisons, left_out, versions)
