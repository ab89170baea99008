"""A campaign from its plan to the results folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client

from quiclab import _command
from quiclab.campaign import answer, unpack, verify
from quiclab.campaign.plan import REAL_TIME, Plan, PlanError, pack_lines, plan, upload
from quiclab.campaign.progress import Progress
from quiclab.campaign.schedule import Job, Schedule, on_worker
from quiclab.campaign.store import Store
from quiclab.campaign.verify import Verdict
from quiclab.campaign.worker import record_object

#: Runs of models that one process performs: its start costs as much as some of them.
BATCH_OF_MODELS = 20


@dataclass
class Options:
    """How a campaign is performed.

    Attributes:
        batch: runs of one task; None for 20 of models, else 1.
        verify: share of the runs that is performed twice, 0 to 1.
        budget_s: seconds that all tasks together may take; None for no limit.
        retries: attempts of a task after the first.
        task_timeout_s: a task that takes longer is ended, in s.
        together: name of a group of machines that belong together, for testbeds in real time.
        as_json: whether events are printed as JSON lines.
        quiet: whether people are told nothing on standard error; failures and differences are in the outcome.
        seed: chooses what is verified.
    """

    batch: int | None = None
    verify: float = 0.0
    budget_s: float | None = None
    retries: int = 3
    task_timeout_s: float = 3600
    together: str | None = None
    as_json: bool = False
    quiet: bool = False
    seed: int = 0


@dataclass
class Outcome:
    """What came of a campaign.

    Attributes:
        out: the results folder.
        total: runs of the experiment.
        missing: names of the records that are not there.
        failures: names of runs that failed, with the reason.
        verdicts: differences between machines.
        verified: runs that were performed twice.
        marked: records made by a machine in the minority.
        tasks: tasks performed by this call.
        overhead_s: what tasks took beyond ``quiclab tools perform``, one value for each, in s.
        refused: workers that were not used, with the reason.
    """

    out: Path
    total: int
    missing: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    verified: int = 0
    marked: list[str] = field(default_factory=list)
    tasks: int = 0
    overhead_s: list[float] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether every run has a record."""
        return not self.missing


def campaign(
    experiment: str | Path,
    client: Client,
    *,
    store: str,
    out: str | Path,
    words: Sequence[str] = (),
    options: Options | None = None,
) -> Outcome:
    """Perform an experiment's runs on the workers of a Dask client, and assemble the results folder.

    Args:
        experiment: the experiment file.
        client: a client of Dask; its workers need this package.
        store: a folder that all machines share, or an address of fsspec such as ``s3://bucket/name``.
        out: the results folder, the same as ``quiclab run --out`` makes.
        words: options of ``quiclab run``, such as ``["--profile", "quick"]``.
        options: how it is performed.

    Raises:
        PlanError: if the command refuses the experiment, or its testbed may not be spread over machines.
        NoWorkerError: if no worker may perform it.
        StoreError: if the store stays away.
    """
    chosen = options or Options()
    command = _command.find()
    with tempfile.TemporaryDirectory(prefix="quiclab-plan-") as folder:
        found = plan(command, [str(experiment), *words], Path(folder))
        if found.header["testbed"] in REAL_TIME and not chosen.together:
            raise PlanError(
                f"testbed {found.header['testbed']}: found a testbed in real time, whose records depend on the machine; expected vm or sim, "
                "or --together GROUP with workers on machines that belong together"
            )
        kept = Store(store)
        kept.create()
        header = upload(found, kept, command, Path(folder))
        return _Campaign(found, kept, header, client, chosen, Path(out)).run(command, [str(experiment), *words])


class _Campaign:
    def __init__(
        self, found: Plan, store: Store, header: tuple[str, str], client: Client, options: Options, out: Path
    ) -> None:
        self.plan, self.store, self.header, self.client, self.options = found, store, header, client, options
        self.outcome = Outcome(out, len(found.ids))
        #: Of runs whose records share an object: that object, and its hash.
        self.batches: dict[str, dict[str, Any]] = {}
        there = {name.rsplit("/", 1)[-1].removesuffix(".tar.gz") for name in store.names("records")}
        there |= self.find_batches()
        self.todo = [place for place, identity in enumerate(found.ids) if identity not in there]
        self.progress = Progress(len(found.ids), len(found.ids) - len(self.todo), options.as_json, options.quiet)
        self.schedule = Schedule(client, on_worker, self.read_answer, options.retries, self.progress.say)
        self.place_of = {identity: place for place, identity in enumerate(found.ids)}

    def run(self, command: Path, words: list[str]) -> Outcome:
        self.progress.event(
            "start", total=self.outcome.total, done=self.progress.done, testbed=self.plan.header["testbed"]
        )
        self.progress.say(
            f"{self.outcome.total} runs, {self.progress.done} of them have a record in {self.store.place}"
        )
        self.perform_missing()
        if self.options.verify > 0:
            self.verify()
        self.assemble(command, words)
        self.tell_end()
        return self.outcome

    def read_answer(self, job: Job, said: object) -> dict[str, Any]:
        """Return what a worker says of a job, if it is about the job's runs and as it must be."""
        return answer.read(said, {self.plan.ids[place]: self.plan.names[place] for place in job.places})

    def machines(self) -> dict[str, str]:
        """Return the names of the workers' machines by the workers' addresses."""
        said = self.client.run(_machine_name, on_error="ignore").items()
        names = ((address, answer.machine_name(name)) for address, name in said)
        return {address: name for address, name in names if name is not None}

    def find_batches(self) -> set[str]:
        """Learn which runs have their records in an object with others; return their identities."""
        for name in self.store.names("made"):
            # A note of a single run says nothing that its record does not.
            if not name.endswith("-1.json"):
                note = answer.note(name, self.store.get(name))
                self.batches.update({row["id"]: note["batch"] for row in note["rows"] if note["batch"]})
        return set(self.batches)

    def perform_missing(self) -> None:
        done: set[int] = set()
        failed = self.perform(self.jobs(), done)
        # A full disk or too little memory fails a run as its own settings do. What fails on another machine too is the run's own.
        if failed and self.may_go_on():
            self.progress.say(
                f"{len(failed)} runs failed; each is tried once more, elsewhere where there is another machine"
            )
            machines = self.machines()
            self.progress.failed -= len(failed)
            self.perform((self.elsewhere([place], {name}, machines) for place, name in failed.items()), done)
        self.outcome.missing = [self.plan.names[place] for place in self.todo if place not in done]
        self.outcome.refused = dict(self.schedule.refused)

    def perform(self, jobs: Iterable[Job], done: set[int]) -> dict[int, str]:
        """Perform jobs and add the places of runs that have a record then to ``done``.

        Returns:
            the places of runs that failed by themselves, each with its machine.
        """
        failed: dict[int, str] = {}
        for job, result, error in self.schedule.perform(jobs, self.may_go_on):
            if result is None:
                self.outcome.failures.update({self.plan.names[place]: error or "" for place in job.places})
                self.progress.on_done(job.runs, job.runs, 0, self.threads())
                continue
            for row in result["rows"]:
                place = self.place_of[row["id"]]
                if row["failure"] is None:
                    done.add(place)
                    self.outcome.failures.pop(row["name"], None)
                else:
                    failed[place] = result["machine"]["name"]
                    self.outcome.failures[row["name"]] = row["failure"]
            self.outcome.tasks += 1
            if len(self.outcome.overhead_s) < 100_000:
                self.outcome.overhead_s.append(result["seconds"] - result["perform_seconds"])
            fails = sum(row["failure"] is not None for row in result["rows"])
            self.progress.on_done(job.runs, fails, result["seconds"], self.threads())
        return failed

    def elsewhere(self, places: list[int], makers: set[str], machines: dict[str, str], keep: bool = True) -> Job:
        """Return a job for other machines than ``makers``; where there are none, any will do."""
        job = self.task(places, keep)
        shunned = {address for address, name in machines.items() if name in makers}
        job.shunned = shunned if len(shunned) < len(machines) else set()
        return job

    def threads(self) -> int:
        return sum(self.schedule.look().values())

    def may_go_on(self) -> bool:
        return self.options.budget_s is None or self.progress.spent_s < self.options.budget_s

    def task(self, places: list[int], keep: bool = True) -> Job:
        task = {
            "store": self.store.place,
            "header": self.header,
            "group": self.plan.groups[places[0]],
            "lines": pack_lines(self.plan.lines(places)),
            "timeout_s": self.options.task_timeout_s,
            "keep": keep,
        }
        return Job(task, places)

    def jobs(self) -> Iterator[Job]:
        """Yield tasks of runs with the same stacks."""
        size = self.options.batch or (BATCH_OF_MODELS if self.plan.is_of_models else 1)
        batch: list[int] = []
        for place in self.todo:
            if batch and (len(batch) == size or self.plan.groups[batch[0]] != self.plan.groups[place]):
                yield self.task(batch)
                batch = []
            batch.append(place)
        if batch:
            yield self.task(batch)

    def verify(self) -> None:
        """Perform a share of the runs again, on other workers than those that made them where there are others."""
        missing = set(self.outcome.missing)
        names = dict(zip(self.plan.ids, self.plan.names, strict=True))
        there = [identity for identity, name in names.items() if name not in missing]
        chosen = verify.chosen(there, self.options.verify, self.options.seed)
        made = self.made_by(set(chosen))
        wanted = [identity for identity in chosen if identity in made]
        attempts = {identity: [made[identity]] for identity in wanted}
        differing = self.attempt_again(wanted, attempts)
        # A third one decides.
        self.attempt_again([verdict.identity for verdict in differing], attempts)
        self.outcome.verified = sum(len(tried) > 1 for tried in attempts.values())
        self.outcome.verdicts = [
            verdict for verdict in map(lambda each: verify.judge(each, attempts[each]), wanted) if not verdict.is_same
        ]
        minority = {facts["name"] for verdict in self.outcome.verdicts for facts in verdict.minority}
        if minority:
            made = self.made_by(set(names))
        self.outcome.marked = sorted(
            names[identity] for identity, (facts, _) in made.items() if identity in names and facts["name"] in minority
        )
        for verdict in self.outcome.verdicts:
            self.progress.say(f"warning: {verdict.told()}")
            self.progress.event(
                "difference",
                id=verdict.identity,
                files=verdict.differing,
                machines=[facts for facts, _ in verdict.made_by],
            )
        for name in sorted(minority):
            own = sum(facts["name"] == name for identity, (facts, _) in made.items() if identity in names)
            self.progress.say(
                f"warning: {name} is in the minority: look before trusting its {own} records, "
                f"which {self.outcome.out.name}.campaign.json lists"
            )

    def made_by(self, wanted: set[str]) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
        """Return for records, among them all that are wanted, the machine that made each and the hashes of its files."""
        made = {}
        for name in self.store.names("made"):
            # The name has the first run of a task, and how many there are.
            first, _, count = name.rsplit("/", 1)[-1].removesuffix(".json").rpartition("-")
            if count == "1" and first not in wanted:
                continue
            note = answer.note(name, self.store.get(name))
            made.update({row["id"]: (note["machine"], row["files"]) for row in note["rows"]})
        return made

    def attempt_again(
        self, identities: list[str], attempts: dict[str, list[tuple[dict[str, Any], dict[str, str]]]]
    ) -> list[Verdict]:
        """Perform runs once more without keeping their records; return where they differ from those before."""
        machines = self.machines()
        jobs = [
            self.elsewhere(
                [self.place_of[identity]], {facts["name"] for facts, _ in attempts[identity]}, machines, keep=False
            )
            for identity in identities
        ]
        for _, result, _ in self.schedule.perform(jobs, lambda: True):
            if result is not None:
                for row in result["rows"]:
                    attempts[row["id"]].append((result["machine"], row["files"]))
        verdicts = [verify.judge(identity, attempts[identity]) for identity in identities]
        return [verdict for verdict in verdicts if not verdict.is_same]

    def assemble(self, command: Path, words: list[str]) -> None:
        """Unpack the records into the results folder, and let the command write the report if all are there."""
        out = self.outcome.out
        out.mkdir(parents=True, exist_ok=True)
        for left in out.glob(".campaign-*"):
            shutil.rmtree(left, ignore_errors=True)
        missing = set(self.outcome.missing)
        absent = {
            identity: name
            for identity, name in zip(self.plan.ids, self.plan.names, strict=True)
            if name not in missing and not (out / name).is_dir()
        }
        unpack.place_objects(self.store, out, self.objects(absent))
        if self.outcome.is_whole:
            done = subprocess.run(
                [str(command), "run", *words, "--out", str(out)], capture_output=True, text=True, check=False
            )  # noqa: S603
            if done.returncode != 0:
                raise PlanError(f"the records are in {out}, but the report failed: {done.stderr.strip()}")
        facts = {
            "total": self.outcome.total,
            "missing": self.outcome.missing,
            "failures": self.outcome.failures,
            "verified": self.outcome.verified,
            "marked": self.outcome.marked,
            "refused": self.outcome.refused,
            "differences": [
                {"id": each.identity, "files": each.differing, "made_by": each.made_by}
                for each in self.outcome.verdicts
            ],
        }
        out.with_name(f"{out.name}.campaign.json").write_text(json.dumps(facts, indent=2) + "\n")

    def objects(self, absent: dict[str, str]) -> list[dict[str, Any]]:
        """Return the objects with the records of runs, as `unpack.place_objects` takes them."""
        single = {name.rsplit("/", 1)[-1].removesuffix(".tar.gz") for name in self.store.names("records")}
        if any(identity not in single and identity not in self.batches for identity in absent):
            self.find_batches()
        found: dict[str, dict[str, Any]] = {}
        for identity, record in absent.items():
            batch = None if identity in single else self.batches[identity]
            name = record_object(identity) if batch is None else str(batch["object"])
            empty: dict[str, Any] = {"name": name, "sha256": batch and batch["sha256"], "records": []}
            found.setdefault(name, empty)["records"].append(record)
        return list(found.values())

    def tell_end(self) -> None:
        missing = self.outcome.missing
        self.progress.event(
            "end",
            missing=len(missing),
            failures=self.outcome.failures,
            verified=self.outcome.verified,
            marked=len(self.outcome.marked),
        )
        if not missing:
            self.progress.say(f"all {self.outcome.total} runs are in {self.outcome.out}")
            return
        why = "the budget is spent" if not self.may_go_on() else f"{len(self.outcome.failures)} runs failed"
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        self.progress.say(
            f"{why}: {len(missing)} of {self.outcome.total} records are missing ({some}); the same command goes on"
        )
        for name, reason in list(self.outcome.failures.items())[:5]:
            self.progress.say(f"    {name}: {reason}")


def _machine_name() -> str:
    from quiclab.campaign import machine

    return machine.name()
