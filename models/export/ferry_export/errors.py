"""The one exception of the exporter, and torch's words in one line."""

MAX_REASON = 300


class ExportError(Exception):
    """What cannot be exported, with what was expected and what was found."""


def reason(error):
    """Returns the line of an exception that says most: the first with words."""
    for line in str(error).splitlines():
        line = " ".join(line.split())
        if len(line) > 10 and not line.endswith((":", "...")):
            break
    else:
        line = " ".join(str(error).split())
    return f"{type(error).__name__}: {line[:MAX_REASON]}".rstrip(": ")
