"""The program behind ``quiclab campaign``."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable

from quiclab.campaign import archive, clusters, verify
from quiclab.campaign.client import Options, campaign
from quiclab.campaign.plan import PlanError
from quiclab.campaign.schedule import NoWorkerError

#: As the command has them.
CANNOT_WORK, INTERRUPTED, MOST_FAILURES = 125, 130, 99


def seconds(text: str) -> float:
    """Return ``50h``, ``30 min`` or ``90s`` in s.

    Raises:
        argparse.ArgumentTypeError: for anything else; a bare number could mean any unit.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a time with its unit, such as 50h, 30min or 90s")
    return float(match[1]) * {"s": 1, "min": 60, "h": 3600, "d": 86400}[match[2]]


def share(text: str) -> float:
    """Return a percentage as a share."""
    try:
        return verify.share_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that refuses those below ``least``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number of at least {least}")
        return int(text)

    return read


def parser() -> argparse.ArgumentParser:
    """Return what the command line may say."""
    options = argparse.ArgumentParser(prog="quiclab campaign", allow_abbrev=False)
    options.add_argument("file")
    where = options.add_mutually_exclusive_group(required=True)
    where.add_argument("--local", type=count(1), metavar="N")
    where.add_argument("--scheduler", metavar="ADDRESS")
    where.add_argument("--slurm", action="append", metavar="KEY=VALUE")
    where.add_argument("--kubernetes", metavar="NAMESPACE/MANIFEST")
    options.add_argument("--store", required=True, metavar="DIR|URL")
    options.add_argument("--out", required=True, metavar="DIR")
    options.add_argument("--batch", type=count(1))
    options.add_argument("--verify", type=share, default=0.0, metavar="1%%")
    options.add_argument("--budget", type=seconds, metavar="50h")
    options.add_argument("--retries", type=count(0), default=3)
    options.add_argument("--task-timeout", type=count(1), default=3600, metavar="SECONDS")
    options.add_argument("--together", metavar="GROUP")
    options.add_argument("--json", action="store_true")
    for name in ("--profile", "--reps", "--testbed", "--stacks"):
        options.add_argument(name)
    for name in ("--set", "--filter"):
        options.add_argument(name, action="append", default=[], metavar="KEY=VALUE")
    return options


def passed_on(arguments: argparse.Namespace) -> list[str]:
    """Return the options that are those of ``quiclab run``."""
    words = []
    for name in ("profile", "reps", "testbed", "stacks"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", getattr(arguments, name)]
    for name in ("set", "filter"):
        for value in getattr(arguments, name):
            words += [f"--{name}", value]
    return words


def main(given: list[str] | None = None) -> int:
    """Run a campaign; return the exit status: failed runs up to 99, 125 where it could not work, 130 interrupted."""
    try:
        arguments = parser().parse_args(given)
    except SystemExit as error:
        return CANNOT_WORK if error.code else 0
    options = Options(
        batch=arguments.batch,
        verify=arguments.verify,
        budget_s=arguments.budget,
        retries=arguments.retries,
        task_timeout_s=arguments.task_timeout,
        together=arguments.together,
        as_json=arguments.json,
    )
    try:
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(clusters.client(arguments))
            outcome = campaign(
                arguments.file,
                client,
                store=arguments.store,
                out=arguments.out,
                words=passed_on(arguments),
                options=options,
            )
    except KeyboardInterrupt:
        print(
            "quiclab: interrupted; finished runs are kept, and the same command continues from there", file=sys.stderr
        )
        return INTERRUPTED
    # A store that stays away, a full disk, a command that is missing: all are OSErrors.
    except (PlanError, NoWorkerError, clusters.ClusterError, archive.ArchiveError, OSError) as error:
        print(f"quiclab: {error}", file=sys.stderr)
        return CANNOT_WORK
    return min(len(outcome.missing), MOST_FAILURES)


if __name__ == "__main__":
    sys.exit(main())
