#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""characters.py [EPOCHS [TEXT]] - a small transformer learns the lines of a text, by default eddis' licence

Lines are of unlike lengths, and the loss is the mean over characters: set_weight has each worker's gradient count for
its characters in the place of its lines, so the result is that of one process with the whole batch.
"""

import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

import eddis.torch as eddis

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
TEXT = sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parent / "../../LICENSE"
LONGEST, WIDTH = 80, 64
PAD = -100  # of targets: counts nothing in cross_entropy


class Transformer(nn.Module):
    """Says at each place of a line how likely each character is the next one."""

    def __init__(self, characters):
        super().__init__()
        self.character = nn.Embedding(characters, WIDTH)
        self.place = nn.Embedding(LONGEST, WIDTH)
        block = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=2 * WIDTH, dropout=0, batch_first=True,
                                           norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, x):  # [lines, characters] of numbers
        n = x.shape[1]
        seen = nn.Transformer.generate_square_subsequent_mask(n)
        hidden = self.character(x) + self.place(torch.arange(n))
        return self.head(self.blocks(hidden, mask=seen, is_causal=True))


def batch_of(lines):
    """Lines of unlike lengths as (input, target) [lines, longest], the target one place ahead."""
    x = nn.utils.rnn.pad_sequence([line[:-1] for line in lines], batch_first=True)
    y = nn.utils.rnn.pad_sequence([line[1:] for line in lines], batch_first=True, padding_value=PAD)
    return x, y


def loss_of(model, x, y):
    """Mean over the characters that are no padding."""
    return functional.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=PAD)


torch.manual_seed(0)
text = pathlib.Path(TEXT).read_text()
number = {character: i for i, character in enumerate(sorted(set(text)))}
stripped = [line.strip()[:LONGEST - 2] for line in text.splitlines() if line.strip()]
lines = [torch.tensor([number[c] for c in "\n" + line + "\n"]) for line in stripped]
train, test = [line for i, line in enumerate(lines) if i % 10], lines[::10]

loader = eddis.loader(DataLoader(train, batch_size=16, shuffle=True, collate_fn=batch_of))
model = Transformer(len(number))
optimizer = eddis.DistributedOptimizer(torch.optim.AdamW(model.parameters(), lr=3e-3), model=model)
eddis.State(model=model, optimizer=optimizer)  # what the job's checkpoints keep

for epoch in loader.epochs(EPOCHS):
    for x, y in loader:
        characters = int((y != PAD).sum())
        eddis.set_weight(characters)
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        eddis.report(loss=loss, work=characters)

if eddis.rank() == 0:
    with torch.no_grad():
        loss = loss_of(model, *batch_of(test)).item()
    eddis.set_metric("test_loss", loss)
    print(f"test loss {loss:.3f}: {loss / math.log(2):.2f} bits a character")
