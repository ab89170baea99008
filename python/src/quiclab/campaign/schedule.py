"""Hands tasks out to Dask's workers: a few for each worker at a time, again elsewhere when one fails, twice when one is late."""

from __future__ import annotations

import contextlib
import json
import queue
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from quiclab.campaign.answer import AnswerError
from quiclab.campaign.machine import RefusedError

#: Tasks at the scheduler for each thread of a worker. More hide the way to it, fewer are lost with it.
AHEAD = 3
#: A task is late when it takes this many times the median, and at least `LEAST_LATE_S`.
LATE_FACTOR = 3.0
LEAST_LATE_S = 5.0
#: Seconds between looks at the workers.
LOOK_EVERY_S = 2.0
#: How long to wait for a first or another worker.
PATIENCE_S = 600.0


@dataclass
class Job:
    """A task, and what happened to it.

    Attributes:
        task: what the worker gets.
        places: its runs, as places in the plan.
        attempts: how often it failed.
        shunned: addresses of workers that must not get it.
        futures: attempts that are under way, with the times when they were handed out.
    """

    task: dict[str, Any]
    places: list[int]
    attempts: int = 0
    shunned: set[str] = field(default_factory=set)
    futures: dict[Future[Any], float] = field(default_factory=dict)
    is_done: bool = False

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.places)


class NoWorkerError(RuntimeError):
    """There is no worker that may perform the runs that are left."""


class Schedule:
    """Performs jobs on the workers of a client.

    Args:
        client: Dask's client.
        function: what a worker calls with a task.
        read: makes of what the worker returns what is known of the job; raises `AnswerError` where it is not what a worker may say.
        retries: attempts of a job after the first.
        say: tells people what went wrong.
    """

    def __init__(
        self,
        client: Client,
        function: Callable[[dict[str, Any]], bytes],
        read: Callable[[Job, object], dict[str, Any]],
        retries: int,
        say: Callable[[str], None],
    ) -> None:
        self.client, self.function, self.read, self.retries, self.say = client, function, read, retries, say
        self.refused: dict[str, str] = {}
        self.durations: deque[float] = deque(maxlen=1000)
        self.workers: dict[str, int] = {}
        self.looked = self.looked_for_late = 0.0
        self.number = 0
        #: Futures that ended. Asking all that run, each time one ends, costs more than a task where there are thousands.
        self.ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def look(self, now: bool = False) -> dict[str, int]:
        """Return the addresses of workers that are not refused, with their threads."""
        if now or time.monotonic() - self.looked > LOOK_EVERY_S:
            self.looked = time.monotonic()
            self.workers = dict(self.client.nthreads())
        return {address: threads for address, threads in self.workers.items() if address not in self.refused}

    def perform(
        self, jobs: Iterable[Job], may_go_on: Callable[[], bool]
    ) -> Iterator[tuple[Job, dict[str, Any] | None, str | None]]:
        """Yield each job that ended, with its result or why it failed for good.

        Args:
            jobs: taken as workers become free.
            may_go_on: asked before a job is handed out; where it says no, those under way still end.

        Raises:
            NoWorkerError: if there is no worker that may perform what is left.
        """
        source = iter(jobs)
        again: deque[Job] = deque()
        running: dict[Future[Any], Job] = {}
        has_more = True
        idle_since = time.monotonic()
        try:
            while True:
                threads = max(1, sum(self.look().values()))
                fresh: list[Job] = []
                # Many at a time: the way to the scheduler costs as much for one task as for some.
                while (fresh or len(running) <= (AHEAD - 1) * threads) and may_go_on():
                    if len(running) + len(fresh) >= AHEAD * threads:
                        break
                    job = again.popleft() if again else (next(source, None) if has_more else None)
                    if job is None:
                        has_more = False
                        break
                    if not job.is_done:
                        fresh.append(job)
                self.hand_out_all(fresh, running)
                if not running:
                    if again and may_go_on():
                        continue
                    return
                ended = self.wait_for_any(running)
                if ended:
                    idle_since = time.monotonic()
                elif not self.look() and time.monotonic() - idle_since > (PATIENCE_S if not self.refused else 5):
                    raise NoWorkerError(self.why_no_worker())
                for future in ended:
                    yield from self.on_end(future, running, again)
                if not has_more and not again:
                    self.start_twice(running)
        finally:
            # Only what nobody waits for any more: whoever stops here runs the same command again.
            self.client.cancel(list(running))

    def hand_out_all(self, jobs: list[Job], running: dict[Future[Any], Job]) -> None:
        """Submit jobs; those that any worker may perform together."""
        free = [job for job in jobs if not job.shunned and not self.refused]
        keys = [self.key() for _ in free]
        futures = self.client.map(self.function, [job.task for job in free], key=keys, pure=False, retries=0)
        for job, future in zip(free, futures, strict=True):
            self.follow(future, job, running)
        for job in jobs:
            if job.shunned or self.refused:
                self.hand_out(job, running)

    def key(self) -> str:
        """Return a name for a task that none has had."""
        self.number += 1
        return f"quiclab-perform-{self.number}-{time.time_ns()}"

    def follow(self, future: Future[Any], job: Job, running: dict[Future[Any], Job]) -> None:
        """Remember that an attempt is under way."""
        job.futures[future] = time.monotonic()
        running[future] = job
        future.add_done_callback(self.ended.put)

    def hand_out(self, job: Job, running: dict[Future[Any], Job], besides: str | None = None) -> None:
        """Submit a job to any worker that is not shunned."""
        shunned = job.shunned | set(self.refused) | ({besides} if besides else set())
        allowed = [address for address in self.look() if address not in shunned]
        if not allowed and job.shunned:
            # Better where it failed before than nowhere.
            allowed = list(self.look(now=True))
        chosen = {"workers": allowed} if shunned and allowed else {}
        future = self.client.submit(self.function, job.task, key=self.key(), pure=False, retries=0, **chosen)
        self.follow(future, job, running)

    def wait_for_any(self, running: dict[Future[Any], Job]) -> list[Future[Any]]:
        """Return the futures that ended; waits at most a look's time for the first."""
        try:
            found = [self.ended.get(timeout=LOOK_EVERY_S)]
        except queue.Empty:
            # A client that has lost its scheduler calls nobody back.
            return [future for future in running if future.done()]
        with contextlib.suppress(queue.Empty):
            while True:
                found.append(self.ended.get_nowait())
        return found

    def on_end(
        self, future: Future[Any], running: dict[Future[Any], Job], again: deque[Job]
    ) -> Iterator[tuple[Job, dict[str, Any] | None, str | None]]:
        """Handle an attempt that ended."""
        job = running.pop(future, None)
        if job is None:
            return
        job.futures.pop(future, None)
        if job.is_done:
            future.release()
            return
        error: BaseException | None
        result: dict[str, Any] | None
        try:
            result, error = self.read(job, future.result(timeout=60)), None
        except AnswerError as caught:
            address = self.holder(future)
            result, error = None, FailedAt(f"the answer of the worker {address}: {caught}", address)
        except BaseException as caught:  # noqa: BLE001 - whatever a worker raised
            if isinstance(caught, (KeyboardInterrupt, SystemExit)):
                raise
            result, error = None, caught
        if error is None and result is not None:
            job.is_done = True
            self.durations.append(result["seconds"])
            for other in list(job.futures):
                running.pop(other, None)
                other.cancel()
            yield job, result, None
            return
        yield from self.on_failure(job, error, getattr(error, "worker_address", None), again)

    def holder(self, future: Future[Any]) -> str:
        """Return the address of the worker that has the result of a task. The scheduler says so, not the worker."""
        try:
            places = self.client.who_has([future]).get(future.key) or ()
        except (OSError, TimeoutError, ValueError):
            places = ()
        return next(iter(places), "unknown")

    def on_failure(
        self, job: Job, error: BaseException | None, address: str | None, again: deque[Job]
    ) -> Iterator[tuple[Job, dict[str, Any] | None, str | None]]:
        """Hand the job to another worker, or give it up."""
        if isinstance(error, RefusedFrom):
            if error.address not in self.refused:
                self.refused[error.address] = str(error)
                self.say(f"{error.address} is not used: {error}")
            if not self.look(now=True):
                raise NoWorkerError(self.why_no_worker())
            again.append(job)
            return
        is_lost = isinstance(error, (KilledWorker, FutureCancelledError)) or "CancelledError" in type(error).__name__
        if isinstance(error, FailedAt):
            job.shunned.add(error.address)
        job.attempts += 1
        # A worker that went away says nothing about the run.
        if job.attempts <= self.retries + (10 if is_lost else 0):
            self.say(f"a task is tried again elsewhere: {brief(str(error))}")
            again.append(job)
        elif not job.futures:
            job.is_done = True
            yield job, None, f"{type(error).__name__}: {error}"

    def start_twice(self, running: dict[Future[Any], Job]) -> None:
        """Start late tasks once more, on workers that have nothing else to do."""
        if len(self.durations) < 3 or len(self.look()) < 2 or time.monotonic() - self.looked_for_late < LOOK_EVERY_S:
            return
        self.looked_for_late = time.monotonic()
        late_s = max(LEAST_LATE_S, LATE_FACTOR * statistics.median(self.durations))
        processing = self.client.processing()
        idle = [address for address in self.look() if not processing.get(address)]
        for future, job in list(running.items()):
            started = job.futures.get(future)
            if not idle or started is None or len(job.futures) > 1 or time.monotonic() - started < late_s:
                continue
            where = next((address for address, keys in processing.items() if future.key in keys), None)
            idle.pop()
            self.say(
                f"a late task is started a second time ({time.monotonic() - started:.0f} s, others take {statistics.median(self.durations):.1f} s)"
            )
            self.hand_out(job, running, besides=where)

    def why_no_worker(self) -> str:
        """Return why nobody performs what is left."""
        if self.refused:
            return "no worker may perform the runs that are left:\n" + "\n".join(
                f"    {said}" for said in sorted(set(self.refused.values()))
            )
        return f"there was no worker for {PATIENCE_S:.0f} s; start some, and run the same command again"


def brief(text: str) -> str:
    """Return the first and the last line of a message, for people who see many of them."""
    lines = [line.strip() for line in text.strip().splitlines()] or ["it said nothing"]
    return lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}"


class RefusedFrom(RefusedError):
    """A worker refused the campaign; ``address`` is the worker's."""

    def __init__(self, text: str, address: str) -> None:
        super().__init__(text, address)
        self.address = address

    def __str__(self) -> str:
        return str(self.args[0])


class FailedAt(RuntimeError):
    """A task failed on a worker; ``address`` is the worker's."""

    def __init__(self, text: str, address: str) -> None:
        super().__init__(text, address)
        self.address = address

    def __str__(self) -> str:
        return str(self.args[0])


def on_worker(task: dict[str, Any]) -> bytes:
    """Perform a task on a Dask worker; return what is said of it as JSON. Errors carry the worker's address."""
    from distributed import get_worker

    from quiclab.campaign.worker import perform_task

    address = get_worker().address
    try:
        return json.dumps(perform_task(task)).encode()
    except RefusedError as error:
        raise RefusedFrom(str(error), address) from None
    except Exception as error:
        raise FailedAt(f"{type(error).__name__}: {error}", address) from error
