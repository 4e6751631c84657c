"""The sentence encoder all-MiniLM-L6-v2 in plain torch, for the exporter.

    scripts/export.sh examples/export/minilm.py:MiniLm --weights model.safetensors \
        --samples examples/export/minilm.py:sentences \
        --input input_ids:INT64:-1,128 --input attention_mask:INT64:-1,128 \
        --output embedding --repository my_models --name minilm

Token ids to one embedding of unit length: word, position and type 0 embeddings,
six layers of self-attention and feed-forward with layer normalization after
each, the mean over the tokens that the mask keeps, division by the length.
Parameters have the names of the published weights.
"""

import json
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional

VOCABULARY, HIDDEN, LAYERS, HEADS, INTERMEDIATE = 30_522, 384, 6, 12, 1536
POSITIONS, EPSILON = 512, 1e-12
REFERENCE = (pathlib.Path(__file__).parents[2] / "tests" / "data" / "minilm" /
             "reference.json")


def norm():
    return nn.LayerNorm(HIDDEN, eps=EPSILON)


def named(**modules):
    """Returns a parent for parameters that are named with one more part."""
    return nn.ModuleDict(modules)


class Layer(nn.Module):
    """Self-attention and feed-forward, x [rows, tokens, HIDDEN]."""

    def __init__(self):
        super().__init__()
        self.attention = named(
            self=named(query=nn.Linear(HIDDEN, HIDDEN),
                       key=nn.Linear(HIDDEN, HIDDEN),
                       value=nn.Linear(HIDDEN, HIDDEN)),
            output=named(dense=nn.Linear(HIDDEN, HIDDEN), LayerNorm=norm()))
        self.intermediate = named(dense=nn.Linear(HIDDEN, INTERMEDIATE))
        self.output = named(dense=nn.Linear(INTERMEDIATE, HIDDEN),
                            LayerNorm=norm())

    def forward(self, x, mask):
        attention, output = self.attention["self"], self.attention["output"]
        heads = [attention[part](x).unflatten(2, (HEADS, -1)).transpose(1, 2)
                 for part in ("query", "key", "value")]
        attended = functional.scaled_dot_product_attention(*heads, mask)
        attended = attended.transpose(1, 2).flatten(2)
        y = output["LayerNorm"](output["dense"](attended) + x)
        wide = functional.gelu(self.intermediate["dense"](y))
        return self.output["LayerNorm"](self.output["dense"](wide) + y)


class MiniLm(nn.Module):
    """input_ids and attention_mask [rows, tokens] to [rows, HIDDEN]."""

    # Published beside the parameters, and of no use here.
    unused_weights = ("embeddings.position_ids", "pooler.*")

    def __init__(self):
        super().__init__()
        self.embeddings = named(
            word_embeddings=nn.Embedding(VOCABULARY, HIDDEN),
            position_embeddings=nn.Embedding(POSITIONS, HIDDEN),
            token_type_embeddings=nn.Embedding(2, HIDDEN), LayerNorm=norm())
        self.encoder = named(layer=nn.ModuleList(Layer()
                                                 for _ in range(LAYERS)))

    def forward(self, input_ids, attention_mask):
        parts = self.embeddings
        x = (parts["word_embeddings"](input_ids) +
             parts["position_embeddings"].weight[:input_ids.size(1)] +
             parts["token_type_embeddings"].weight[0])
        x = parts["LayerNorm"](x)
        keep = attention_mask.ne(0)
        # What attention adds to the scores, [rows, 1, 1, tokens].
        mask = torch.zeros_like(keep, dtype=x.dtype).masked_fill(
            ~keep, -3e38)[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        weights = keep.float().unsqueeze(2)
        mean = (x.float() * weights).sum(1) / weights.sum(1).clamp_min(1e-9)
        return functional.normalize(mean, dim=1)


def sentences(rows):
    """Returns token ids and masks of real sentences, padded to 128."""
    texts = json.loads(REFERENCE.read_text())["sentences"]
    ids = np.zeros((rows, 128), np.int64)
    mask = np.zeros((rows, 128), np.int64)
    for row in range(rows):
        tokens = texts[row % len(texts)]["input_ids"]
        ids[row, :len(tokens)] = tokens
        mask[row, :len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask}
