//! `quiclab-agent`: process 1 of the virtual testbed's guest, or a servant on a host.

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

fn main() -> ExitCode {
    match mode(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quiclab-agent: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn mode(arguments: &[String]) -> Result<()> {
    match arguments {
        // The kernel passes on what its command line has behind `--`, and before that the words that it does not know itself.
        [.., mode] if mode == "init" => quiclab_agent::init::main(),
        [mode] if mode == "serve" => quiclab_agent::serve::main(),
        [mode, options @ ..] if mode == "host" => quiclab_agent::host::main(options),
        [mode] if mode == "probe" => quiclab_agent::probe::main(),
        _ => bail!(
            "found the arguments {arguments:?}, expected one of four; nothing was changed here\n  \
             quiclab-agent serve   performs runs in namespaces of this host: orders as lines of JSON on standard input\n  \
             quiclab-agent host    performs its part of runs between hosts, as quiclab run --testbed hosts asks over ssh\n  \
             quiclab-agent probe   prints what this machine's kernel allows and has, as JSON\n  \
             quiclab-agent init    process 1 of a virtual machine that quiclab has started"
        ),
    }
}
