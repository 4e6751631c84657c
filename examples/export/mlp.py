"""A user's own network, for the exporter.

    scripts/export.sh examples/export/mlp.py:Mlp --input x:FP32:-1,64 \
        --output scores --repository my_models

With weights of your own training, and another width:

    torch.save(module.state_dict(), "mlp.pt")
    scripts/export.sh examples/export/mlp.py:Mlp --arguments '{"width": 512}' \
        --weights mlp.pt --input x:FP32:-1,64 --repository my_models
"""

import torch
from torch import nn

SEED = 1


class Mlp(nn.Module):
    """x [rows, 64] to scores [rows, 10]; weights are seeded."""

    def __init__(self, width=256):
        super().__init__()
        torch.manual_seed(SEED)
        self.layers = nn.Sequential(nn.Linear(64, width), nn.ReLU(),
                                    nn.Linear(width, width), nn.ReLU(),
                                    nn.Linear(width, 10))

    def forward(self, x):
        return self.layers(x)
