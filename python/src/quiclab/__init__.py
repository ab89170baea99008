"""quiclab from Python: run experiments, and read their results as tables.

The command ``quiclab`` does all the work. This package calls it and reads the JSON and Parquet files that it writes.
"""

from quiclab._command import CommandNotFoundError, QuiclabError
from quiclab._run import ab, analyze, check, look, plan, run
from quiclab.experiment import Experiment
from quiclab.results import Results, load

__version__ = "0.1.0"

__all__ = [
    "CommandNotFoundError",
    "Experiment",
    "QuiclabError",
    "Results",
    "ab",
    "analyze",
    "check",
    "load",
    "look",
    "plan",
    "run",
]
