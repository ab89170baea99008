//! Tells by what it does the code that makes records of simulated runs: `QUICLAB_SIM_TESTBED` belongs to the identity of these runs.

use std::{error::Error, path::Path};

/// What decides about a record besides the simulator, the programs and the settings.
const SOURCES: [&str; 5] =
    ["src/sim/transfers.rs", "src/sim/capture.rs", "src/sim/process.rs", "src/sim/report.rs", "src/collect.rs"];

fn main() -> Result<(), Box<dyn Error>> {
    let paths = SOURCES.map(|path| Path::new(path).to_owned());
    let fingerprint = quiclab_fingerprint::of_files(&paths).map_err(|error| error.to_string())?;
    for file in fingerprint.files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=QUICLAB_SIM_TESTBED={}", fingerprint.digest);
    Ok(())
}
