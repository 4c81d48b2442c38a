# SPDX-License-Identifier: Apache-2.0
"""files.py - reads and writes whole files of text, for the tests of whole programs."""

import os


def write(path, text, mode=None):
    """Replace the file by this text; mode: its permissions.  Return the path."""
    with open(path, "w") as f:
        f.write(text)
    if mode is not None:
        os.chmod(path, mode)
    return path


def read(path):
    with open(path) as f:
        return f.read()
