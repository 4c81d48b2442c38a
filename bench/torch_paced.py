# SPDX-License-Identifier: Apache-2.0
"""torch_paced.py DIGITS WIDTH,WIDTH,... SAMPLES EPOCHS - train a network on the digits with products by cblas_sgemm

So bench/pace.c can delay them, as those of eddis-train in bench/real.  It cannot delay PyTorch's own products.
"""

import ctypes
import ctypes.util
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import eddis.torch as eddis

ROW_MAJOR, AS_IT_IS, TRANSPOSED = 101, 111, 112

ctypes.CDLL(ctypes.util.find_library("openblas"), mode=ctypes.RTLD_GLOBAL)
sgemm = ctypes.CDLL(None).cblas_sgemm  # the preloaded one, which finds the real one in OpenBLAS
sgemm.argtypes = [ctypes.c_int] * 6 + [ctypes.c_float, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                                       ctypes.c_float, ctypes.c_void_p, ctypes.c_int]
sgemm.restype = None


def product(a, b, transpose_a=False, transpose_b=False):
    """Return the matrix product of a and b, each optionally transposed, by cblas_sgemm."""
    a, b = a.contiguous(), b.contiguous()
    m, k = reversed(a.shape) if transpose_a else a.shape
    n = b.shape[0] if transpose_b else b.shape[1]
    c = torch.empty(m, n)
    sgemm(ROW_MAJOR, TRANSPOSED if transpose_a else AS_IT_IS, TRANSPOSED if transpose_b else AS_IT_IS, m, n, k, 1.0,
          a.data_ptr(), a.shape[1], b.data_ptr(), b.shape[1], 0.0, c.data_ptr(), n)
    return c


class Product(torch.autograd.Function):
    """x @ weight by product()."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return product(x, weight)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        return product(dy, weight, transpose_b=True) if ctx.needs_input_grad[0] else None, product(x, dy, True)


class Mlp(nn.Module):
    """Linear layers of these widths without bias, with ReLU between them."""

    def __init__(self, widths):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(n, m) / n ** 0.5 for n, m in zip(widths, widths[1:]))

    def forward(self, x):
        for i, weight in enumerate(self.weights):
            x = Product.apply(x if i == 0 else x.relu(), weight)
        return x


class Digits(Dataset):
    """A data set of so many samples, which repeats the digits."""

    def __init__(self, path, samples):
        with open(path) as f:
            rows = torch.tensor([[float(v) for v in line.split(",")] for line in f])
        self.x, self.y, self.samples = rows[:, :-1] / 16, rows[:, -1].long(), samples

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        return self.x[i % len(self.x)], self.y[i % len(self.y)]


def main():
    path, widths, samples, epochs = sys.argv[1:]
    torch.manual_seed(0)
    loader = eddis.loader(DataLoader(Digits(path, int(samples)), batch_size=256), epochs=int(epochs))
    model = Mlp([int(w) for w in widths.split(",")])
    optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), model=model)
    for _ in loader.epochs(int(epochs)):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            eddis.report(loss=loss)


if __name__ == "__main__":
    main()
