"""What all machines of a campaign reach: a shared folder, or a bucket behind fsspec."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

Value = TypeVar("Value")

#: Seconds between attempts; together more than the minute that a store may be gone.
WAITS_S = (0.2, 0.5, 1, 2, 4, 8, 15, 30, 30)


class StoreError(OSError):
    """The store could not be read or written, however often that was tried."""


class DamagedError(StoreError):
    """An object of the store does not have the hash that it must have."""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: IO[bytes]) -> str:
    hasher = hashlib.sha256()
    while block := file.read(1 << 20):
        hasher.update(block)
    return hasher.hexdigest()


class Store:
    """Objects by name. An object is there whole, or not at all.

    Args:
        place: a folder, or an address of fsspec such as ``s3://bucket/campaigns``.
        waits_s: seconds between attempts where the store fails.
    """

    def __init__(self, place: str, waits_s: tuple[float, ...] = WAITS_S) -> None:
        self.place = place
        self.waits_s = waits_s
        self.files, self.root = fsspec.core.url_to_fs(place)
        self.root = self.root.rstrip("/")
        self.is_local = isinstance(self.files, LocalFileSystem)

    def path(self, name: str) -> str:
        """Return where the object ``name`` is, for fsspec."""
        return f"{self.root}/{name}"

    def patiently(self, what: str, act: Callable[[], Value]) -> Value:
        """Return what ``act`` returns, tried again with growing waits where the store fails.

        Raises:
            StoreError: if it fails every time.
        """
        for wait in (*self.waits_s, None):
            try:
                return act()
            except FileNotFoundError:
                # A folder that is gone looks like an object that is missing.
                if self.root_is_there() or wait is None:
                    raise
            except Exception as error:  # noqa: BLE001 - each backend of fsspec has errors of its own
                if isinstance(error, (DamagedError, IsADirectoryError)):
                    raise
                if wait is None:
                    raise StoreError(
                        f"store {self.place}: {what} failed {len(self.waits_s) + 1} times, the last time with {error!r}; "
                        "check that it is there and can be written, then run the same command again"
                    ) from error
            time.sleep(wait * random.uniform(0.7, 1.3))  # noqa: S311 - so that workers do not come back together
        raise AssertionError("the last attempt returns or raises")

    def root_is_there(self) -> bool:
        """Return whether a shared folder exists; a bucket always counts as there."""
        return not self.is_local or os.path.isdir(self.root)

    def create(self) -> None:
        """Make the folder of a shared store, and try to write to it.

        Raises:
            StoreError: if it cannot be written.
        """
        if self.is_local:
            os.makedirs(self.root, exist_ok=True)
        self.put("writable", b"quiclab campaign\n")

    def exists(self, name: str) -> bool:
        """Return whether the object is there."""

        def act() -> bool:
            found: bool = self.files.exists(self.path(name))
            if not found and not self.root_is_there():
                raise ConnectionError(f"{self.root} is gone")
            return found

        return self.patiently(f"looking for {name}", act)

    def get(self, name: str) -> bytes:
        """Return the object.

        Raises:
            FileNotFoundError: if it is not there.
            StoreError: if the store fails.
        """

        def act() -> bytes:
            content: bytes = self.files.cat_file(self.path(name))
            return content

        return self.patiently(f"reading {name}", act)

    def fetch(self, name: str, to: Path, sha256: str) -> None:
        """Copy the object to a file, and compare its hash.

        Raises:
            DamagedError: if it has another hash; the file is removed.
        """
        self.patiently(f"reading {name}", lambda: self.files.get_file(self.path(name), str(to)))
        found = digest_of(to)
        if found != sha256:
            to.unlink()
            raise DamagedError(f"{self.path(name)}: found the SHA-256 {found}, expected {sha256}")

    def put(self, name: str, content: bytes | Path) -> str:
        """Write the object, read it back, and return its SHA-256.

        Raises:
            StoreError: if that fails.
        """
        sha256 = digest_of(content) if isinstance(content, Path) else hashlib.sha256(content).hexdigest()
        self.patiently(f"writing {name}", lambda: self._put_once(name, content, sha256))
        return sha256

    def _put_once(self, name: str, content: bytes | Path, sha256: str) -> None:
        path = self.path(name)
        # A bucket has no renaming, but an upload is there whole or not at all.
        aside = f"{os.path.dirname(path)}/.aside-{uuid.uuid4().hex}" if self.is_local else path
        if self.is_local:
            if not self.root_is_there() and name != "writable":
                raise ConnectionError(f"{self.root} is gone")
            os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            if isinstance(content, Path):
                self.files.put_file(str(content), aside)
            else:
                self.files.pipe_file(aside, content)
            with self.files.open(aside, "rb") as file:
                found = _digest(file)
            if found != sha256:
                raise OSError(f"{aside}: read back the SHA-256 {found}, expected {sha256}")
            if self.is_local:
                os.replace(aside, path)
        except BaseException:
            if self.is_local:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
            raise

    def remove(self, name: str) -> None:
        """Remove the object."""
        self.patiently(f"removing {name}", lambda: self.files.rm_file(self.path(name)))

    def names(self, below: str) -> Iterator[str]:
        """Yield the names of all objects below a folder, without those that are being written."""

        def act() -> list[str]:
            self.files.invalidate_cache()
            if self.is_local:
                return [os.path.join(folder, file) for folder, _, files in os.walk(self.path(below)) for file in files]
            found: list[str] = self.files.find(self.path(below))
            return found

        for path in self.patiently(f"listing {below}", act):
            if not path.rsplit("/", 1)[-1].startswith(".aside-"):
                yield path[len(self.root) + 1 :]
