//! `quiclab-prepare FILE [PROFILE]`: makes what an experiment needs and no compiler makes, while the command `quiclab` is still being compiled. Run it in the
//! folder that has `stacks/`. For `make demo`; everything else is for `quiclab tools prepare`.

use std::{
    env,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use quiclab_supplies::{ahead, cache::Cache, process::end_with_parent};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

fn main() -> ExitCode {
    match prepare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quiclab-prepare: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().context("found no argument, expected FILE [PROFILE]")?;
    let stop = Arc::new(AtomicBool::new(false));
    // A shell starts what runs beside it with SIGINT ignored; these take the place of that.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, stop.clone())?;
    }
    end_with_parent(std::os::unix::process::parent_id(), Signal::SIGTERM)?;
    let cache = Cache::from_environment()?;
    cache.heed(&stop);
    ahead::make(&cache, Path::new(&file), arguments.next().as_deref(), Path::new("stacks"), &stop)
}
