//! The program without noq's feature `qlog`, which takes a fifth of noq's CPU time even if nothing is logged. Tests of speed
//! want to know what noq can do without.

use std::{
    env,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

/// Its name, beside this program's.
const NAME: &str = "noq-endpoint-plain";

/// True in a test of speed whose events nobody asked for.
pub fn is_wanted() -> bool {
    env::var_os("TESTCASE").is_some_and(|case| case == "perf") && env::var_os("QLOGDIR").is_none()
}

/// Becomes it, and returns only where that fails.
pub fn run() -> ExitCode {
    let error = match env::current_exe() {
        Ok(own) => Command::new(own.with_file_name(NAME)).args(env::args_os().skip(1)).exec(),
        Err(error) => error,
    };
    eprintln!("{NAME}: {error}");
    ExitCode::FAILURE
}
