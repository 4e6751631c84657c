"""model knows what a model takes and gives: it makes tensors of a row's values,
requests of tensors, and values of answers.

Shapes here are those of one row, without the dimension of the batch.
"""

import dataclasses
import math

import ml_dtypes
import numpy as np
from tritonclient.grpc import service_pb2 as pb

from .failures import Wrong

TYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16,
    "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "BF16": ml_dtypes.bfloat16, "BYTES": np.object_,
}
# NumPy's kinds of what may be given.
TRUTH = "b"
WHOLE = "iu"
NUMBER = "iuf"


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of a model; -1 is a size that may vary."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    is_optional: bool = False

    def array(self, value):
        """Makes an array of a row's value. Raises ValueError, with what was
        expected and found."""
        array = (self._strings(value) if self.datatype == "BYTES"
                 else self._numbers(value))
        if array.shape != self.shape and math.prod(self.shape) == 1 == array.size:
            array = array.reshape(self.shape)
        fits = len(array.shape) == len(self.shape) and all(
            expected in (-1, found)
            for expected, found in zip(self.shape, array.shape))
        if not fits:
            raise ValueError(f"{self.name}: expected the shape "
                             f"{list(self.shape)}, found {list(array.shape)}")
        return array

    def _strings(self, value):
        array = np.array(value, dtype=np.object_)
        for place, item in np.ndenumerate(array):
            if isinstance(item, str):
                array[place] = item.encode()
            elif not isinstance(item, bytes):
                raise ValueError(f"{self.name}: expected strings, found "
                                 f"{_shown(item)}")
        return array

    def _numbers(self, value):
        try:
            given = np.asarray(value)
        except ValueError:
            raise ValueError(f"{self.name}: expected lists of equal length, "
                             "found others") from None
        target = np.dtype(TYPES[self.datatype])
        if self.datatype == "BF16" and given.dtype == "V2":  # of a .npy file
            given = given.view(target)
        if given.dtype == target:
            return given
        expected = (TRUTH if self.datatype == "BOOL" else
                    WHOLE if "INT" in self.datatype else NUMBER)
        if given.size and given.dtype.kind not in expected:
            raise ValueError(f"{self.name}: expected {self.datatype}, found "
                             f"{_shown(value)}")
        if expected == WHOLE and given.size:
            bounds = np.iinfo(target)
            if int(given.min()) < bounds.min or int(given.max()) > bounds.max:
                raise ValueError(
                    f"{self.name}: expected {self.datatype}, {bounds.min} to "
                    f"{bounds.max}, found {_shown(value)}")
        with np.errstate(over="ignore"):
            array = given.astype(target)
        if expected == NUMBER and np.any(np.isinf(array) & ~np.isinf(given)):
            raise ValueError(f"{self.name}: expected a number that "
                             f"{self.datatype} has, found {_shown(value)}")
        return array


def _shown(value):
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclasses.dataclass(frozen=True)
class Model:
    """A version of a model, as its server describes it."""

    name: str
    version: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int  # 0: a request has no dimension of the batch
    priority_levels: int  # 0: the model knows none
    instances: int

    @classmethod
    def of(cls, metadata, config, version=""):
        """Reads ModelMetadata's and ModelConfig's answers."""
        versions = sorted(metadata.versions, key=lambda text: (len(text), text))
        if not versions:
            raise Wrong(f"model '{metadata.name}': expected a version that "
                        "serves, found none")
        optional = {tensor.name for tensor in config.input if tensor.optional}
        # The first size of a model that batches is the batch's.
        first = 1 if config.max_batch_size > 0 else 0

        def read(tensors):
            for tensor in tensors:
                if tensor.datatype not in TYPES:
                    raise Wrong(f"model '{metadata.name}', tensor '{tensor.name}': "
                                f"expected one of {', '.join(TYPES)}, found "
                                f"'{tensor.datatype}'")
                yield Tensor(tensor.name, tensor.datatype,
                             tuple(tensor.shape)[first:], tensor.name in optional)

        return cls(
            metadata.name, version or versions[-1], tuple(read(metadata.inputs)),
            tuple(read(metadata.outputs)), config.max_batch_size,
            config.dynamic_batching.priority_levels,
            max(1, sum(group.count for group in config.instance_group)))

    def arrays(self, values):
        """Makes the arrays of a row from its values by name. Raises ValueError."""
        unknown = values.keys() - {tensor.name for tensor in self.inputs}
        if unknown:
            raise ValueError(f"expected the inputs {self._named()}, found "
                             f"'{min(unknown)}'; --keep writes what is no input "
                             "beside the outputs")
        arrays = {}
        for tensor in self.inputs:
            value = values.get(tensor.name)
            if value is not None:
                arrays[tensor.name] = tensor.array(value)
            elif not tensor.is_optional:
                raise ValueError(f"expected the inputs {self._named()}, found no "
                                 f"'{tensor.name}'")
        return arrays

    def _named(self):
        return ", ".join(f"'{tensor.name}'" for tensor in self.inputs)

    def request(self, rows, priority):
        """Makes one request of rows whose arrays have equal shapes."""
        request = pb.ModelInferRequest(model_name=self.name,
                                       model_version=self.version)
        if priority:
            request.parameters["priority"].int64_param = priority
        for tensor in self.inputs:
            if tensor.name not in rows[0]:
                continue
            arrays = [row[tensor.name] for row in rows]
            batch = np.stack(arrays) if self.max_batch_size else arrays[0]
            request.inputs.add(name=tensor.name, datatype=tensor.datatype,
                               shape=batch.shape)
            request.raw_input_contents.append(_to_raw(batch, tensor.datatype))
        return request

    def results(self, answer, count):
        """Returns the outputs of each row of an answer, by name. Raises
        ValueError where it has not all outputs, or not as many rows."""
        if len(answer.outputs) != len(answer.raw_output_contents):
            raise ValueError(f"expected {len(answer.outputs)} raw_output_contents, "
                             f"found {len(answer.raw_output_contents)}")
        found = {output.name: (output, raw) for output, raw in
                 zip(answer.outputs, answer.raw_output_contents)}
        outputs = {}
        for tensor in self.outputs:
            if tensor.name not in found:
                raise ValueError(f"expected an output '{tensor.name}', found none")
            output, raw = found[tensor.name]
            array = _from_raw(raw, tensor.datatype, tuple(output.shape))
            if not self.max_batch_size:
                array = array[np.newaxis]
            if array.ndim != 1 + len(tensor.shape) or len(array) != count:
                raise ValueError(
                    f"{tensor.name}: expected {count} rows of the shape "
                    f"{list(tensor.shape)}, found the shape {list(output.shape)}")
            outputs[tensor.name] = array
        # With an ellipsis, as one number would be no array without.
        return [{name: array[row, ...] for name, array in outputs.items()}
                for row in range(count)]


def _to_raw(array, datatype):
    """Returns an array as raw_input_contents have it."""
    if datatype != "BYTES":
        return np.ascontiguousarray(array).tobytes()
    return b"".join(len(item).to_bytes(4, "little") + item for item in array.flat)


def _from_raw(raw, datatype, shape):
    """Returns what raw_output_contents have as an array."""
    if datatype != "BYTES":
        return np.frombuffer(raw, TYPES[datatype]).reshape(shape)
    items, place = [], 0
    while place < len(raw):
        begin = place + 4
        place = begin + int.from_bytes(raw[place:begin], "little")
        items.append(raw[begin:place])
    array = np.empty(len(items), np.object_)
    array[:] = items
    return array.reshape(shape)
