# SPDX-License-Identifier: Apache-2.0
"""The repository's files, for the checks that read all of them."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files():
    """What is in the repository, as far as it is no build's. Without git: a copy for another Debian has none."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name == ".ci" or name[0] not in "._")
        found += (pathlib.Path(folder) / name for name in sorted(names) if name != "Package.resolved")
    return found
