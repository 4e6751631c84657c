"""torchvision's operators in models that the server serves.

Needs all of torch (scripts/setup.sh --full), torchvision's wheel for it (pip
install --no-deps torchvision==0.26.0) and libpython, with which that is linked;
skipped where one of them is missing.
"""

import importlib.util
import os
import pathlib
import shutil
import sys
import sysconfig
import tempfile
import unittest

import numpy as np
import tritonclient.grpc as triton

from ferry_process import FerryProcess, tensor

FP32 = 'parameters { key: "ferry.precision" value { string_value: "fp32" } }\n'
NMS = ('backend: "pytorch"\n' + FP32 + tensor("input", "boxes", "FP32", [-1, 4])
       + tensor("input", "scores", "FP32", [-1])
       + tensor("output", "kept", "INT64", [-1]))
ROI_ALIGN = ('backend: "pytorch"\nmax_batch_size: 8\ndynamic_batching {}\n' +
             FP32 + tensor("input", "image", "FP32", [3, 8, 8]) +
             tensor("input", "box", "FP32", [4]) +
             tensor("output", "pooled", "FP32", [3, 2, 2]))


def find_libraries():
    """Returns the libraries to open, in order, or None."""
    name = f"libpython3.{sys.version_info.minor}.so.1.0"
    python = [path for folder in (sysconfig.get_config_var("LIBDIR"),
                                  "/usr/lib/x86_64-linux-gnu")
              if (path := pathlib.Path(folder or "", name)).exists()]
    found = [importlib.util.find_spec(module)
             for module in ("torch", "torchvision")]
    if not python or not all(found):
        return None
    torch, vision = (pathlib.Path(spec.origin).parent for spec in found)
    try:
        import torch as _  # a lean installation lacks what this needs
    except (ImportError, OSError):
        return None
    return [python[0], torch / "lib" / "libtorch_python.so", vision / "_C.so"]


LIBRARIES = find_libraries()


def make_models():
    """Returns two scripted modules."""
    import torch
    torch.ops.load_library(str(LIBRARIES[-1]))

    class Nms(torch.nn.Module):
        def forward(self, boxes, scores):
            return torch.ops.torchvision.nms(boxes, scores, 0.5)

    class RoiAlign(torch.nn.Module):
        def forward(self, image, box):
            row = torch.arange(image.size(0)).to(image.dtype).unsqueeze(1)
            return torch.ops.torchvision.roi_align(
                image, torch.cat([row, box], 1), 1.0, 2, 2, 2, False)

    return {"nms": torch.jit.script(Nms()),
            "roi_align": torch.jit.script(RoiAlign())}


@unittest.skipUnless(LIBRARIES, "all of torch, torchvision and libpython")
class TorchvisionTest(unittest.TestCase):

    def test_operators_answer_as_in_python(self):
        import torch
        models = make_models()
        folder = tempfile.mkdtemp(prefix="ferry-e2e-")
        self.addCleanup(shutil.rmtree, folder)
        for name, config in (("nms", NMS), ("roi_align", ROI_ALIGN)):
            os.makedirs(os.path.join(folder, name, "1"))
            models[name].save(os.path.join(folder, name, "1", "model.pt"))
            with open(os.path.join(folder, name, "config.pbtxt"), "w") as file:
                file.write(config)
        boxes = np.array([[0, 0, 9, 9], [1, 1, 9, 9], [20, 20, 30, 30]],
                         np.float32)
        scores = np.array([.7, .9, .8], np.float32)
        generator = np.random.default_rng(7)
        images = generator.standard_normal((3, 3, 8, 8), np.float32)
        flags = [f"--op-library={path}" for path in LIBRARIES]
        with FerryProcess(f"--model-repository={folder}", *flags,
                          models=None) as server:
            client = triton.InferenceServerClient(server.address)
            for name, output, inputs in [
                    ("nms", "kept", {"boxes": boxes, "scores": scores}),
                    ("roi_align", "pooled", {"image": images, "box": boxes})]:
                expected = models[name](*map(torch.from_numpy,
                                             inputs.values())).numpy()
                found = client.infer(name, self.to_wire(inputs))
                np.testing.assert_allclose(found.as_numpy(output), expected,
                                           rtol=1e-5, atol=1e-5)

    def to_wire(self, arrays):
        inputs = []
        for name, array in arrays.items():
            inputs.append(triton.InferInput(name, array.shape, "FP32"))
            inputs[-1].set_data_from_numpy(array)
        return inputs


if __name__ == "__main__":
    unittest.main()
