"""The models that serving.py serves: their folders in a repository, what they are
asked, and what they must answer.

The files are those of tests/scripts/ in the bundle, which tests/e2e/write_scripts.cc
says more of.

Thread safety: a model may be asked by any number of threads, each with a
connection of its own.
Errors: Wrong for an answer that is another; those of client.py.
"""

import array
import pathlib
import random
import shutil

from programs import Wrong

WEIGHT = ((1, 2, 3), (4, 5, 6))  # of the products, y = x * transposed
# It is for values up to 15, of which bf16 keeps 8 bits; larger ones in proportion.
TOLERANCE = 0.1
MOST_ROWS = 8

CONFIG = """platform: "pytorch_libtorch"
max_batch_size: %d
input { name: "x" data_type: TYPE_FP32 dims: [ %d ] }
output { name: "y" data_type: TYPE_FP32 dims: [ %d ] }
dynamic_batching {}
"""
NETWORK_CONFIG = """backend: "ferry_network"
max_batch_size: 8
input { name: "input" data_type: TYPE_FP32 dims: [ %(first)s ] }
output { name: "output" data_type: TYPE_FP32 dims: [ %(last)s ] }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "%(widths)s" } }
"""


def floats(data):
    return array.array("f", data)


def write_folder(repository, name, config, file=None):
    """Makes the model's folder, of a file of TorchScript or none."""
    version = pathlib.Path(repository) / name / "1"
    version.mkdir(parents=True)
    (version.parent / "config.pbtxt").write_text(config)
    if file is not None:
        shutil.copy(file, version / "model.pt")


def require_near(model, found, expected, tolerances):
    """Raises Wrong unless each number is that far at most."""
    if len(found) != len(expected):
        raise Wrong(f"expected {len(expected)} numbers of {model}, got "
                    f"{len(found)}")
    # A NaN is near nothing.
    for place, (one, other) in enumerate(zip(found, expected)):
        if not abs(one - other) <= tolerances[place]:
            raise Wrong(f"expected {other:.4g} at place {place} of an answer of "
                        f"{model}, got {one:.4g}")


class Product:
    """A model of y [rows, 2] = x [rows, 3] times the weight."""

    inputs, outputs = 3, 2

    def __init__(self, name, file=None):
        self.name, self.file = name, file or name

    def write(self, repository, scripts):
        write_folder(repository, self.name,
                     CONFIG % (MOST_ROWS, self.inputs, self.outputs),
                     scripts / f"{self.file}.pt")

    def rows(self, count, seed):
        draw = random.Random(seed)
        return [[draw.random() for _ in range(3)] for _ in range(count)]

    def ask(self, connection, rows=1, seed=0):
        self.ask_rows(connection, self.rows(rows, seed))

    def ask_rows(self, connection, x):
        """Asks for these rows; returns y."""
        (reply,) = connection.infer(self.name, "x", (len(x), 3),
                                    floats(sum(x, [])).tobytes())
        y = floats(reply)
        self.require(y, [sum(a * b for a, b in zip(row, of))
                         for row in x for of in WEIGHT],
                     [TOLERANCE * max(1, *row) for row in x for _ in WEIGHT])
        return y

    def require(self, found, expected, tolerances):
        require_near(self.name, found, expected, tolerances)


class Drawing(Product):
    """The product with a number from 0 to 1 added to each column, drawn for each
    batch anew."""

    def require(self, found, expected, tolerances):
        require_near(self.name, found, [one + 0.5 for one in expected],
                     [0.5 + one for one in tolerances])


class Copy:
    """Gives its rows of 1 MiB back."""

    name, floats_of_row = "pixels", 1 << 18

    def write(self, repository, scripts):
        write_folder(repository, self.name,
                     CONFIG % (2, self.floats_of_row, self.floats_of_row),
                     scripts / "pixels.pt")

    def row(self, seed):
        """Returns the bytes of a row that bf16 holds exactly."""
        return floats([seed % 127, (seed + 1) % 127] *
                      (self.floats_of_row // 2)).tobytes()

    def shape(self):
        return 1, self.floats_of_row

    def ask(self, connection, seed=0, **_):
        (reply,) = connection.infer(self.name, "x", self.shape(),
                                    self.row(seed))
        self.require(reply, seed)

    def require(self, reply, seed):
        if reply != self.row(seed):
            raise Wrong(f"expected the row of {self.name} back, got "
                        f"{len(reply)} other bytes")


class Layers:
    """A network of Ferry's own, whose answers are held against what it said
    first, alone: its weights are the same in each load."""

    SEEDS = 8
    # It is a part of the largest number; docs/devices.md says what bf16 is off by.
    TOLERANCE = 0.02

    def __init__(self, name, widths):
        self.name, self.widths = name, widths
        self.first = {}  # by seed

    def write(self, repository, _):
        write_folder(repository, self.name, NETWORK_CONFIG % {
            "first": self.widths[0], "last": self.widths[-1],
            "widths": ",".join(map(str, self.widths))})

    def row(self, seed):
        draw = random.Random(seed)
        return floats([draw.uniform(-1, 1) for _ in range(self.widths[0])])

    def infer(self, connection, rows):
        (reply,) = connection.infer(
            self.name, "input", (len(rows), self.widths[0]),
            b"".join(row.tobytes() for row in rows))
        return floats(reply)

    def remember(self, connection):
        """Asks each row alone, and keeps the answers."""
        for seed in range(self.SEEDS):
            self.first[seed] = self.infer(connection, [self.row(seed)])
        largest = max(map(max, self.first.values()))
        if max(abs(a - b) for a, b in zip(
                self.first[0], self.first[1])) < 2 * self.TOLERANCE * largest:
            raise Wrong(f"expected different answers of {self.name} to "
                        "different rows, got the same")

    def ask(self, connection, rows=1, seed=0):
        seeds = [(seed + row) % self.SEEDS for row in range(rows)]
        found = self.infer(connection, [self.row(one) for one in seeds])
        expected = sum((self.first[one] for one in seeds), floats([]))
        largest = max(map(abs, expected))
        require_near(self.name, found, expected,
                     [self.TOLERANCE * largest] * len(expected))
