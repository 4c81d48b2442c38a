# SPDX-License-Identifier: Apache-2.0
"""trainers.py - models and batches for tests of Hugging Face's Trainer"""

from __future__ import annotations

import torch
import transformers
from torch import nn
from torch.nn import functional

import training

SIZES = dict(vocab_size=32, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)


class Numbers(torch.utils.data.Dataset):
    """A data set whose samples are their numbers n, or -1 - n to evaluate: the collate function makes batches of these.
    """

    def __init__(self, is_evaluated=False):
        self.is_evaluated = is_evaluated

    def __len__(self):
        return training.N

    def __getitem__(self, n):
        return -1 - n if self.is_evaluated else n


class Mean(nn.Module):
    """A module that returns its mean loss."""

    def __init__(self):
        super().__init__()
        self.inner = training.mlp().double()

    def forward(self, x, y):
        return {"loss": functional.cross_entropy(self.inner(x), y)}


class Own:
    tolerance, labels = 1e-12, ["y"]

    @staticmethod
    def model():
        torch.manual_seed(3)
        return Mean()

    @staticmethod
    def batch(numbers):
        x, y = training.data()
        return {"x": x[numbers], "y": y[numbers]}

    @staticmethod
    def loss(model, batch):
        return model(**batch)["loss"]


class Dropping(Mean):
    def forward(self, x, y):
        return super().forward(functional.dropout(x, 0.2, self.training), y)


class Dropped(Own):
    @staticmethod
    def model():
        torch.manual_seed(3)
        return Dropping()


class Tokens:
    """Its lines have unlike numbers of words."""

    tolerance, labels = 2e-6, ["labels"]

    @staticmethod
    def model():
        torch.manual_seed(3)
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(
            num_key_value_heads=4, max_position_embeddings=16, **SIZES))

    @staticmethod
    def batch(numbers):
        words, following = training.lines()
        is_word = torch.cat([torch.ones(training.N, 1, dtype=bool), following[:, :-1] != training.PAD], 1)[numbers]
        words = words[numbers] + 3
        return {"input_ids": words, "attention_mask": is_word.long(),
                "labels": words.masked_fill(~is_word, training.PAD)}

    @staticmethod
    def loss(model, batch):
        return model(**batch).loss


class Classes(Tokens):
    @staticmethod
    def model():
        torch.manual_seed(3)
        return transformers.BertForSequenceClassification(transformers.BertConfig(
            hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=3, **SIZES))

    @staticmethod
    def batch(numbers):
        made = Tokens.batch(numbers)
        return {**made, "labels": made["input_ids"][:, 0] % 3}


KINDS = {"own": Own, "dropped": Dropped, "tokens": Tokens, "classes": Classes}
