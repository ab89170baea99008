//! Arguments of `quiclab campaign`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

/// Arguments of `quiclab campaign`.
#[derive(Debug, Args)]
#[command(after_help = CAMPAIGN_HELP)]
pub struct CampaignArguments {
    /// The Python that has the packages quiclab and dask [default: QUICLAB_PYTHON, else python3]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<PathBuf>,
    /// The experiment file and the options below
    #[arg(value_name = "FILE [OPTIONS]", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

const CAMPAIGN_HELP: &str = "\
Where the runs are performed, one of:
  --local N                  N workers on this machine
  --scheduler ADDRESS        a Dask scheduler that runs already, such as tcp://10.0.0.1:8786
  --slurm KEY=VALUE          jobs of Slurm (dask-jobqueue); can be repeated: jobs=10, queue=..., walltime=02:00:00
  --kubernetes NAMESPACE/MANIFEST.yaml   workers of a DaskCluster (dask-kubernetes)

Options after FILE:
  --store DIR|s3://...       what all machines reach: a shared folder, or a bucket
  --out DIR                  the results folder, as `quiclab run --out DIR` makes it
  --profile P, --set K=V, --filter K=V, --reps N, --testbed T   as with quiclab run
  --batch N                  runs of one task [default: 20 for flows of models, else 1]
  --verify 1%                repeat this share of the runs on other workers and compare every byte
  --budget 50h               stop when the runs took this long in all, and say what is missing
  --retries 3                attempts of a run after the first
  --task-timeout SECONDS     end a task that takes longer [default: 3600]
  --together GROUP           real time: every worker is one of machines that belong together, under this name
  --json                     a JSON line for each event on standard output

Examples:
  quiclab campaign experiments/examples/scenario.toml --local 4 --store store --out results/scenario
  quiclab campaign grid.toml --scheduler tcp://head:8786 --store s3://bucket/quiclab --out results/grid --verify 1%

The same command goes on where an earlier one was interrupted. It needs the Python packages: pip install 'quiclab[campaign]'.";
