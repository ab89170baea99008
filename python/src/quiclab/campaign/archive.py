"""Records and cached things as single files with bytes that depend on nothing but their contents."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import zlib
from pathlib import Path

#: What a build leaves in the folder of a stack, and is not part of its source.
NOT_SOURCE = {"target", "fuzz", "node_modules", ".git", "__pycache__"}

#: Bytes that a byte of an archive may unpack to: logs are compressed to a twentieth, captures hardly.
MOST_EXPANSION = 50
#: Bytes that are fine however short the archive is.
HARMLESS_BYTES = 256 << 20
#: Files and folders of an archive.
MOST_MEMBERS = 200_000


class ArchiveError(ValueError):
    """An archive has something in it that does not belong there."""


def pack(folder: Path, leave_out: frozenset[str] | set[str] = frozenset()) -> bytes:
    """Return a folder as a gzipped tar archive: sorted, without times and owners.

    Args:
        folder: what is packed; the archive has its name as the only name at its top.
        leave_out: names of files and folders that are skipped.
    """
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=packed, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, folder, folder.name, leave_out)
    return packed.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str, leave_out: frozenset[str] | set[str]) -> None:
    info = archive.gettarinfo(path, name)
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    if info.isfile() or info.islnk():
        # Two names of one file are two files.
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
        with path.open("rb") as file:
            archive.addfile(info, file)
    else:
        archive.addfile(info)
    if info.isdir():
        for entry in sorted(os.listdir(path)):
            if entry not in leave_out:
                _add(archive, path / entry, f"{name}/{entry}", leave_out)


class _Bounded:
    """Reads what a gzip file unpacks to, up to a limit: 3 MB of it can be 3 GB."""

    def __init__(self, packed: bytes, most: int) -> None:
        self.file, self.left, self.most = gzip.GzipFile(fileobj=io.BytesIO(packed)), most, most

    def read(self, size: int) -> bytes:
        # One more than is left, and never all that a header asks for.
        found = self.file.read(min(size, self.left + 1))
        self.left -= len(found)
        if self.left < 0:
            raise ArchiveError(
                f"found more than {self.most} bytes, expected at most so many for an archive of this length"
            )
        return found


def most_bytes(packed: bytes) -> int:
    """Return how many bytes an archive may unpack to."""
    return max(HARMLESS_BYTES, len(packed) * MOST_EXPANSION)


def unpack(packed: bytes, into: Path, name: str | None = None) -> None:
    """Unpack an archive of :func:`pack`. With ``name``, it is of a record: the only folder at its top is this one, and it has no links.

    Raises:
        ArchiveError: if a member would be written elsewhere, is no file or folder, or there are more bytes than archives of its length have;
            if it is no archive.
    """
    most = most_bytes(packed)
    bounded = _Bounded(packed, most)
    try:
        # A stream: what is skipped is read, and counted.
        with tarfile.open(fileobj=bounded, mode="r|") as archive:  # type: ignore[call-overload]
            left = most
            for number, member in enumerate(archive):
                left -= member.size
                if left < 0 or number >= MOST_MEMBERS:
                    raise ArchiveError(f"found more than {most} bytes or {MOST_MEMBERS} files, expected fewer")
                top = member.name.split("/", 1)[0]
                if name is not None and top != name:
                    raise ArchiveError(f"archive of {name}: found {member.name!r}, expected only {name}/")
                is_plain = (member.isreg() and not member.issparse()) or member.isdir()
                if not is_plain and (name is not None or not member.issym()):
                    raise ArchiveError(
                        f"archive: found {member.name!r}, a link or a device, expected files and folders"
                    )
                archive.extract(member, into, filter="data")
    except ArchiveError:
        raise
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, ValueError, OverflowError) as error:
        # Of these, the last two are of names and numbers that no file can have.
        raise ArchiveError(f"found no archive that can be unpacked: {error}") from error


def place_whole(packed: bytes, folder: Path, name: str) -> None:
    """Unpack the record ``name`` beside its place in ``folder`` and rename it there; one that is there stays."""
    if (folder / name).is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".campaign-", dir=folder))
    try:
        unpack(packed, aside, name)
        os.rename(aside / name, folder / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def pack_thing(cache: Path, name: str, to: Path) -> None:
    """Pack a thing of quiclab's cache. Its files may be long and mostly holes, which GNU tar leaves out.

    Raises:
        ArchiveError: if tar fails.
    """
    command = [
        "tar",
        "--create",
        "--sparse",
        "--hole-detection=seek",
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]
    command += ["--format=gnu", f"--directory={cache}", "--use-compress-program=gzip -1 -n", f"--file={to}", name]
    _tar(command)


def unpack_thing(packed: Path, cache: Path, name: str, origin: dict[str, str]) -> None:
    """Put a packed thing at its place in the cache, whole or not at all; one that is there stays.

    Args:
        packed: the archive.
        cache: the cache.
        name: the thing.
        origin: ``archive`` and ``sha256``, which the cache keeps as long as the thing is there: it was not built on this machine. A note of
            where the thing was from before stays instead.
    """
    place = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".campaign-", dir=cache))
    try:
        _tar(["tar", "--extract", "--gzip", "--sparse", "--no-same-owner", f"--directory={aside}", f"--file={packed}"])
        note = aside / name / "origin.json"
        if not note.is_file():
            note.write_text(json.dumps({**origin, "taken_unix_seconds": int(time.time())}, indent=2) + "\n")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_dir():
            try:
                os.rename(aside / name, place)
            except OSError:
                if not place.is_dir():
                    raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _tar(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ArchiveError(f"{' '.join(command[:3])}: {done.stderr.strip()[-500:]}")
