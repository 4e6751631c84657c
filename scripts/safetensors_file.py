"""safetensors_file writes weights in fp32 as a .safetensors file: the length of the
header, the header as JSON, the bytes in its order (the format's own page)."""

import json


def write_safetensors(path, tensors):
    """`tensors`: arrays of NumPy in fp32, by name."""
    header, place = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape,
                        "data_offsets": [place, place + values.nbytes]}
        place += values.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            stream.write(values.tobytes())
