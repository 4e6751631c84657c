"""command wires a job from flags: inputs, folder, server and signals."""

import asyncio
import math
import signal

from .asker import Asker
from .connection import connect, metadata
from .failures import Unable, Wrong
from .flags import MOST_ROWS
from .job import Job, Limits
from .ledger import Ledger
from .progress import Progress, say
from .shard_files import ShardFiles
from .sources import open_source

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def priority_of(flags, model):
    """Returns the level to ask for; says where online work has none."""
    if flags.priority is not None:
        if flags.priority > model.priority_levels:
            raise Wrong(f"--priority: expected at most {model.priority_levels}, the "
                        f"priority_levels of '{model.name}', found {flags.priority}")
        return flags.priority
    if model.priority_levels < 2:
        say(f"warning: model '{model.name}' has one level of priority, so these rows "
            "wait among those of its other clients; priority_levels in its config "
            "gives them a level of their own")
        return 0
    return model.priority_levels


def limits_of(flags, model):
    """Returns how much is asked for at once."""
    most = max(1, model.max_batch_size)
    rows = flags.rows_per_request or min(most, MOST_ROWS)
    if rows > most:
        raise Wrong(f"--rows-per-request: expected at most {most}, the "
                    f"max_batch_size of '{model.name}', found {rows}")
    batch = math.ceil(most / rows)
    return Limits(rows, flags.outstanding or 2 * model.instances * batch + 1,
                  flags.shard_rows, flags.grace)


def check_names(flags, model, form, source):
    """Raises Wrong where two columns of the results would have one name."""
    if flags.keep and form != source.form or form == "npy" and flags.keep:
        raise Wrong("--keep: expected inputs and results both of .jsonl, or both of "
                    f".parquet, found {source.form} and {form}")
    outputs = {tensor.name for tensor in model.outputs}
    taken = outputs | {"row"} | {tensor.name for tensor in model.inputs}
    for name in flags.keep:
        if name in taken:
            raise Wrong("--keep: expected no name of an input or an output, nor "
                        f"'row', found '{name}'")
    if "row" in outputs:
        raise Wrong(f"model '{model.name}': expected outputs of other names than "
                    "'row', which is the number of a row, found one")


def take_signals(stop, loop):
    """Has signals set `stop`. Once the loop is closed they change nothing, as the
    results are there."""
    def take(*_):
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
    for each in SIGNALS:
        signal.signal(each, take)


async def compute(flags, source, ledger):
    """Computes all rows of the source. Raises Failure."""
    stop = asyncio.Event()
    take_signals(stop, asyncio.get_running_loop())
    began = ledger.job()
    async with connect(flags) as channel:
        asker = Asker(channel, metadata(flags), flags.timeout, flags.give_up, stop,
                      lambda why: say(f"waits for {flags.address}: {why}"))
        model = await asker.described(
            flags.model,
            flags.model_version or (began["version"] if began else ""))
        source.match(model, flags.keep)
        form = flags.output_format or source.form
        check_names(flags, model, form, source)
        ledger.begin({
            "model": model.name, "version": model.version,
            "inputs": source.files, "format": form, "keep": flags.keep,
            "shard_rows": flags.shard_rows})
        priority, limits = priority_of(flags, model), limits_of(flags, model)
        progress = Progress(source.count)
        job = Job(asker=asker, model=model, priority=priority, source=source,
                  files=ShardFiles(flags.output, form, model.outputs, source.kinds),
                  ledger=ledger, limits=limits, kept=flags.keep,
                  keep_going=flags.keep_going, progress=progress, stop=stop)
        try:
            await job.run()
        finally:
            progress.close()
        failed = f", {job.failed:,} of them without a result" if job.failed else ""
        say(f"{source.count:,} rows of version {model.version} of '{model.name}' are "
            f"in {flags.output}{failed}; {progress.rate():,.0f} rows/s, "
            f"{asker.retries:,} requests were sent again")


def run(flags):
    """Opens inputs and folder, and computes. Raises Failure."""
    source = open_source(flags.input)
    try:
        flags.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unable(f"--output: cannot make {flags.output}: {error.strerror}; make "
                     "room or give another folder") from None
    ledger = Ledger(flags.output)
    try:
        asyncio.run(compute(flags, source, ledger))
    finally:
        ledger.close()
