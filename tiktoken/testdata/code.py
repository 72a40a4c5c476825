"""Collect disk usage per directory and print the largest ones."""
from __future__ import annotations

import argparse
import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Usage:
    path: Path
    size: int = 0
    children: dict[str, "Usage"] = field(default_factory=dict)

    def add(self, name: str, size: int) -> None:
        self.size += size
        child = self.children.setdefault(name, Usage(self.path / name))
        child.size += size


def walk(root: Path, follow_symlinks: bool = False) -> dict[Path, int]:
    totals: dict[Path, int] = defaultdict(int)
    for directory, _, files in os.walk(root, topdown=False, followlinks=follow_symlinks):
        here = Path(directory)
        for name in files:
            try:
                totals[here] += (here / name).lstat().st_size
            except FileNotFoundError:
                continue  # vanished between readdir and stat
        if here != root:
            totals[here.parent] += totals[here]
    return totals


def human(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.1f} {unit}" if unit != "B" else f"{int(n)} B"
        n /= 1024
    raise AssertionError("unreachable")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, nargs="?", default=Path("."))
    parser.add_argument("-n", "--top", type=int, default=20)
    args = parser.parse_args()
    ranked = sorted(walk(args.root).items(), key=lambda kv: -kv[1])[: args.top]
    for path, size in ranked:
        print(f"{human(size):>12}  {path}")
