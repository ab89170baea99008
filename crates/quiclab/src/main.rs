//! `quiclab`: the command line is parsed in `cli`, resolved to `settings`, and done in `verbs`.

#[macro_use]
mod terminal;

mod cli;
mod session;
mod settings;
mod verbs;

use std::process::ExitCode;

use clap::FromArgMatches;

use cli::{Cli, RunArguments, Tool, ToolsArguments, Verb, completion, manual};
use session::signals;
use verbs::{
    ab, advise, analyze, bundle, cache, campaign, check, diff, doctor, help, interop, kernel, look, packets, perf,
    perform, prepare, report, run, scan, stacks, verify,
};

/// quiclab itself failed: everything except failed runs.
const CANNOT_WORK: u8 = 125;

fn main() -> ExitCode {
    completion::answer();
    let cli = match cli::command().try_get_matches().and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { CANNOT_WORK } else { 0 });
        }
    };
    let resume_hint = match cli.verb {
        Verb::Advise(_)
        | Verb::Analyze(_)
        | Verb::Bundle(_)
        | Verb::Cache(_)
        | Verb::Completions(_)
        | Verb::Help(_)
        | Verb::Look(_)
        | Verb::Perf(_)
        | Verb::Packets(_)
        | Verb::Scan(_)
        | Verb::Run(RunArguments { handshakes: Some(_), .. })
        | Verb::Tools(ToolsArguments { tool: Tool::Kernel(_) | Tool::Man(_) }) => "",
        _ => "; finished runs are kept, and the same command continues from there",
    };
    let done = match cli.verb {
        Verb::Run(arguments) => arguments.resolve().and_then(|(action, settings)| run::run(&action, &settings)),
        Verb::Perf(arguments) => perf::perf(&arguments),
        Verb::Campaign(arguments) => campaign::campaign(arguments.python, &arguments.words),
        Verb::Analyze(arguments) => analyze::analyze(&arguments),
        Verb::Packets(arguments) => packets::packets(&arguments),
        Verb::Look(arguments) => look::look(&arguments),
        Verb::Advise(arguments) => advise::advise(&arguments),
        Verb::Scan(arguments) => scan::scan(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Ab(arguments) => ab::ab(&arguments.resolve()),
        Verb::Diff(arguments) => diff::diff(&arguments),
        Verb::Bundle(arguments) => bundle::bundle(&arguments),
        Verb::Verify(arguments) => verify::verify(&arguments),
        Verb::Doctor(arguments) => doctor::doctor(&arguments),
        Verb::Cache(arguments) => cache::cache(&arguments),
        Verb::Stacks(arguments) => stacks::stacks(&arguments),
        Verb::Interop(arguments) => interop::interop(&arguments),
        Verb::Help(arguments) => help::help(&arguments.topic),
        Verb::Completions(arguments) => completion::completions(arguments.shell),
        Verb::Tools(arguments) => match arguments.tool {
            Tool::Perform(arguments) => perform::perform(&arguments),
            Tool::Prepare(arguments) => prepare::prepare(&arguments),
            Tool::Kernel(arguments) => kernel::kernel(&arguments),
            Tool::Man(arguments) => manual::write(&arguments.folder),
        },
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) if signals::is_interruption(&error) => {
            status!("quiclab: interrupted{resume_hint}");
            ExitCode::from(signals::INTERRUPTED)
        }
        Err(error) => {
            status!("quiclab: {error:#}");
            ExitCode::from(CANNOT_WORK)
        }
    }
}
