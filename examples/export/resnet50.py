"""torchvision's ResNet-50 with seeded weights, for the exporter.

    scripts/export.sh examples/export/resnet50.py:resnet50 \
        --input x:FP32:-1,3,224,224 --output scores --max-batch-size 16 \
        --repository my_models

Weights of your own: --weights FILE, a state dict with torchvision's names.
"""

import torch
import torchvision

SEED = 1
# It weighs what a block adds to what passes it by. Trained networks weigh it little;
# with 1 the rounding errors of bf16 grow through 16 random blocks.
BLOCK_WEIGHT = 0.2


def resnet50():
    """Returns the network, normalized by the statistics of a seeded batch."""
    torch.manual_seed(SEED)
    module = torchvision.models.resnet50(weights=None).train()
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = None  # a plain mean over what was seen
        if isinstance(part, torchvision.models.resnet.Bottleneck):
            torch.nn.init.constant_(part.bn3.weight, BLOCK_WEIGHT)
    with torch.no_grad():
        module(torch.randn(4, 3, 224, 224))
    return module.eval()
