"""ledger keeps in SQLite which job a folder is of, and which of its shards are
finished.

A shard is finished once its row is committed, which is after its files are whole
under their names. One process at a time has the ledger, from its start to its end.
"""

import contextlib
import json
import sqlite3

from .failures import Unable, Wrong

NAME = "ferry-batch.sqlite"


class Ledger:
    """The ledger of a folder of results; without one it makes one, unless there
    are results. Each call raises Unable where the disk does not take it."""

    def __init__(self, folder):
        self._path = folder / NAME
        foreign = sorted(path.name for path in folder.glob("part-*"))
        if foreign and not self._path.exists():
            raise Wrong(f"{folder}: expected {NAME} beside results, found "
                        f"{foreign[0]} without it; give another folder for the "
                        "output, or remove this one")
        with self._told():
            self._file = sqlite3.connect(self._path, isolation_level=None,
                                         timeout=0)
            self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._file.execute("PRAGMA synchronous = FULL")
            self._file.execute("BEGIN EXCLUSIVE")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS job (number INTEGER PRIMARY KEY, "
                "about TEXT)")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS shard (number INTEGER PRIMARY KEY, "
                "rows INTEGER, failed INTEGER, files TEXT)")
            self._file.execute("COMMIT")

    def close(self):
        self._file.close()

    def job(self):
        """Returns what the job is that began here, by name, or None."""
        with self._told():
            began = self._file.execute("SELECT about FROM job").fetchone()
        return began and json.loads(began[0])

    def begin(self, job):
        """Begins the job, or goes on with it. Raises Wrong where the folder has
        finished shards of another one."""
        job, began = json.loads(json.dumps(job)), self.job()
        for name, value in job.items() if self.finished() else ():
            if value != began.get(name):
                raise Wrong(
                    f"{self._path}: expected the job that began here, with {name} "
                    f"{json.dumps(began.get(name))}, found {json.dumps(value)}; "
                    "give another folder for the output, or remove this one")
        if job != began:
            with self._told():
                self._file.execute("INSERT OR REPLACE INTO job VALUES (0, ?)",
                                   [json.dumps(job)])

    def finished(self):
        """Returns (failed rows, sizes of files by name) by shard."""
        with self._told():
            found = self._file.execute(
                "SELECT number, failed, files FROM shard").fetchall()
        return {number: (failed, json.loads(files))
                for number, failed, files in found}

    def finish(self, shard, rows, failed, files):
        """Commits a shard whose files, by name with their sizes, are whole."""
        with self._told():
            self._file.execute("INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?)",
                               [shard, rows, failed, json.dumps(files)])

    @contextlib.contextmanager
    def _told(self):
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise Unable(f"{self._path}: expected no other ferry-batch of this "
                             "folder, found one that runs; wait for its end") from None
            raise Unable(f"cannot write {self._path}: {error}; what is finished is "
                         "kept: mend that, and start the same command "
                         "again") from None
        except sqlite3.DatabaseError as error:
            raise Wrong(f"{self._path}: expected a ledger of ferry-batch, found "
                        f"another file: {error}; give another folder for the "
                        "output") from None
