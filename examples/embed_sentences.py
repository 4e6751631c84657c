#!/usr/bin/env python3
"""Embeds sentences with a served MiniLM and prints each one's nearest.

    scripts/make_minilm.sh build/model_repository
    build/release/bin/ferry-server --model-repository build/model_repository &
    .venv/bin/python examples/embed_sentences.py --tokenizer \
        build/model_repository/minilm/tokenizer.json tests/data/minilm/sentences.txt

Sentences are tokenized here and sent one a request, all at once; the server
batches them.
"""

import argparse
import concurrent.futures
import pathlib
import sys

import numpy as np
import tokenizers
import tritonclient.grpc as triton

TOKENS = 128  # a sentence is padded or cut to so many


def tokenize(path: str, sentences: list[str]) -> list[tokenizers.Encoding]:
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    return tokenizer.encode_batch(sentences)


def request_inputs(encoding: tokenizers.Encoding) -> list[triton.InferInput]:
    inputs = []
    for name, values in (("input_ids", encoding.ids),
                         ("attention_mask", encoding.attention_mask)):
        tensor = triton.InferInput(name, [1, TOKENS], "INT64")
        tensor.set_data_from_numpy(np.array([values], dtype=np.int64))
        inputs.append(tensor)
    return inputs


def embed(client, model: str, encodings) -> np.ndarray:
    """Returns one embedding a row, in the order of the sentences."""

    def one(encoding):
        result = client.infer(model, request_inputs(encoding))
        return result.as_numpy("embedding")[0]

    with concurrent.futures.ThreadPoolExecutor(len(encodings)) as pool:
        return np.stack(list(pool.map(one, encodings)))


def print_nearest(sentences: list[str], embeddings: np.ndarray) -> None:
    similarity = embeddings @ embeddings.T  # rows are normalized: the cosine
    np.fill_diagonal(similarity, -1)
    for i, sentence in enumerate(sentences):
        nearest = int(similarity[i].argmax())
        print(f"{similarity[i, nearest]:.3f}  {sentence}\n"
              f"       {sentences[nearest]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sentences", help="a text file, one sentence a line")
    parser.add_argument("--tokenizer", required=True,
                        help="the model's tokenizer.json")
    parser.add_argument("--url", default="127.0.0.1:8001")
    parser.add_argument("--model", default="minilm")
    arguments = parser.parse_args()
    sentences = pathlib.Path(arguments.sentences).read_text().splitlines()
    encodings = tokenize(arguments.tokenizer, sentences)
    with triton.InferenceServerClient(arguments.url) as client:
        embeddings = embed(client, arguments.model, encodings)
    print_nearest(sentences, embeddings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
