//! Tells the simulator by what it does: `QUICLAB_SIMULATOR` belongs to the identity of every simulated run.

use std::{error::Error, path::Path};

use quiclab_fingerprint::SIMULATOR;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo starts this in the folder of the package.
    let fingerprint = SIMULATOR.fingerprint(Path::new("../..")).map_err(|error| error.to_string())?;
    for file in fingerprint.files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=QUICLAB_SIMULATOR={}", fingerprint.digest);
    Ok(())
}
