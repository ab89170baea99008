"""Where the workers of a campaign are."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from typing import Any

from distributed import Client, LocalCluster
from distributed.deploy import Cluster
from distributed.security import Security


class ClusterError(RuntimeError):
    """There is no cluster to work with; the message says why."""


@contextlib.contextmanager
def client(arguments: argparse.Namespace) -> Iterator[Client]:
    """Yield a client of the cluster that the command line names, and end what was started for it.

    Raises:
        ClusterError: if it cannot be reached, or a package is missing.
    """
    if arguments.scheduler:
        with reach(arguments.scheduler) as found:
            yield found
        return
    if arguments.local is not None:
        made: Cluster = local(arguments.local)
    elif arguments.slurm:
        made = slurm(arguments.slurm)
    else:
        made = kubernetes(arguments.kubernetes)
    with made, Client(made) as found:
        yield found


def own_keys() -> Security:
    """Return TLS keys for one cluster, which nobody else has. Dask's messages are pickles: whoever can send one can execute code.

    Raises:
        ClusterError: if the package that makes them is missing.
    """
    try:
        keys: Security = Security.temporary()
    except ImportError as error:
        raise ClusterError(
            "found no cryptography, which makes the TLS keys of the cluster; pip install 'quiclab[campaign]'"
        ) from error
    return keys


def local(workers: int) -> Cluster:
    """Return a cluster of processes of this machine, which others on it cannot talk to."""
    made: Cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, protocol="tls://", security=own_keys()
    )
    return made


def reach(address: str) -> Client:
    """Return a client of a scheduler that runs already."""
    try:
        return Client(address, timeout=30)
    except OSError as error:
        raise ClusterError(f"--scheduler {address}: {error}; is `dask scheduler` running there?") from error


def slurm_settings(pairs: list[str]) -> tuple[int, dict[str, Any]]:
    """Return the number of jobs, and the arguments of ``dask_jobqueue.SLURMCluster``.

    Raises:
        ClusterError: for a word that is no ``KEY=VALUE``.
    """
    settings: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "2GB"}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ClusterError(f"--slurm: found {pair!r}, expected KEY=VALUE such as jobs=10 or walltime=02:00:00")
        if key in ("job_extra_directives", "job_script_prologue"):
            settings.setdefault(key, []).append(value)
        else:
            settings[key] = int(value) if value.isdigit() else value
    return int(settings.pop("jobs", 1)), settings


def slurm(pairs: list[str]) -> Cluster:
    """Return a cluster of Slurm jobs."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise ClusterError("--slurm: found no dask-jobqueue; pip install 'quiclab[slurm]'") from error
    jobs, settings = slurm_settings(pairs)
    # Jobs read their keys from files, which only this user can read, in the current folder or in `shared_temp_directory`.
    settings.setdefault("shared_temp_directory", os.getcwd())
    jobs_of_slurm = SLURMCluster(**{**settings, "protocol": "tls://", "security": own_keys()})
    jobs_of_slurm.scale(jobs=jobs)
    made: Cluster = jobs_of_slurm
    return made


def kubernetes(place: str) -> Cluster:
    """Return a cluster of the operator's DaskCluster, from a manifest."""
    namespace, slash, manifest = place.partition("/")
    if not slash or not manifest:
        raise ClusterError(f"--kubernetes: found {place!r}, expected NAMESPACE/MANIFEST.yaml")
    try:
        import yaml
        from dask_kubernetes.operator import KubeCluster
    except ImportError as error:
        raise ClusterError("--kubernetes: found no dask-kubernetes; pip install 'quiclab[kubernetes]'") from error
    with open(manifest) as file:
        made: Cluster = KubeCluster(namespace=namespace, custom_cluster_spec=yaml.safe_load(file))
    return made
