#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""predict.py MODEL DIGITS.csv - what a softmax or mlp of `eddis-train --save MODEL` makes of the last 360 digits"""

import json
import sys

import numpy as np

if len(sys.argv) != 3:
    sys.exit(f"usage: {__doc__}")
raw = open(sys.argv[1], "rb").read()
start = 8 + int.from_bytes(raw[:8], "little")
header = json.loads(raw[8:start])
about = header.pop("__metadata__")
array = {name: np.frombuffer(raw[start:], "<f4", np.prod(t["shape"]), t["data_offsets"][0]).reshape(t["shape"])
         for name, t in header.items()}
rows = np.genfromtxt(sys.argv[2], delimiter=",")[-360:]  # a line of names is not a number
x = rows[:, :-1] * float(about["scale"]) * array.pop("scale", 1)  # of --scale column: a factor for each feature
n = len(array) // 2
for i in range(1, n + 1):
    x = x @ array[f"dense{i}.weight"] + array[f"dense{i}.bias"]
    x = np.maximum(x, 0) if i < n else x
print(f"{(x.argmax(1) == rows[:, -1]).sum()} of {len(rows)} right")
