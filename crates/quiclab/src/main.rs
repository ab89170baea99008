//! `quiclab`: one file per verb.

#[macro_use]
mod output;

mod ab;
mod advise;
mod analyze;
mod analyze_plans;
mod beside;
mod cache;
mod check;
mod cli;
mod compare;
mod completion;
mod diff;
mod doctor;
mod figure_files;
mod folder;
mod given;
mod handshakes;
mod host_pictures;
mod interop;
mod kernel;
mod laboratory;
mod ladder;
mod models;
mod moved;
mod packets;
mod perf;
mod perform;
mod pipe;
mod planned;
mod prepare;
mod progress;
mod pto;
mod report;
mod resolved;
mod results;
mod run;
mod run_page;
mod runs_table;
mod samples;
mod schedule;
mod signals;
mod stacks;
mod traces;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Verb};

/// quiclab itself failed: everything except failed runs.
const CANNOT_WORK: u8 = 125;

fn main() -> ExitCode {
    completion::answer();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { CANNOT_WORK } else { 0 });
        }
    };
    let going_on = match cli.verb {
        Verb::Advise(_)
        | Verb::Analyze(_)
        | Verb::Cache(_)
        | Verb::Handshakes(_)
        | Verb::Kernel(_)
        | Verb::Perf(_)
        | Verb::Packets(_) => "",
        _ => "; finished runs are kept, and the same command continues from there",
    };
    let done = match cli.verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Perf(arguments) => perf::perf(&arguments),
        Verb::Perform(arguments) => perform::perform(&arguments),
        Verb::Handshakes(arguments) => handshakes::handshakes(&arguments),
        Verb::Analyze(arguments) => analyze::analyze(&arguments),
        Verb::Packets(arguments) => packets::packets(&arguments),
        Verb::Pto(arguments) => pto::pto(&arguments),
        Verb::Advise(arguments) => advise::advise(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Ab(arguments) => ab::ab(&arguments),
        Verb::Compare(arguments) => compare::compare(&arguments),
        Verb::Diff(arguments) => diff::diff(&arguments),
        Verb::Verify(arguments) => verify::verify(&arguments),
        Verb::Doctor(arguments) => doctor::doctor(&arguments),
        Verb::Cache(arguments) => cache::cache(&arguments),
        Verb::Stacks(arguments) => stacks::stacks(&arguments),
        Verb::Kernel(arguments) => kernel::kernel(&arguments),
        Verb::Interop(arguments) => interop::interop(&arguments),
        Verb::Prepare(arguments) => prepare::prepare(&arguments),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) if signals::is_interruption(&error) => {
            tell!("quiclab: interrupted{going_on}");
            ExitCode::from(signals::INTERRUPTED)
        }
        Err(error) => {
            tell!("quiclab: {error:#}");
            ExitCode::from(CANNOT_WORK)
        }
    }
}
