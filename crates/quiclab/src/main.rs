//! `quiclab`: the command line is parsed in `cli`, resolved to `settings`, and done in `verbs`.

#[macro_use]
mod terminal;

mod cli;
mod help_pages;
mod session;
mod settings;
mod verbs;

use std::process::ExitCode;

use clap::FromArgMatches;

use cli::{CacheAction, Cli, KernelAction, RunArguments, StacksAction, Tool, ToolsArguments, Verb, completion, manual};
use session::signals;
use verbs::{
    ab, advise, analyze, bundle, cache, campaign, check, diff, doctor, help, interop, kernel, look, ls, packets, perf,
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
        | Verb::Help(_)
        | Verb::Look(_)
        | Verb::Ls(_)
        | Verb::Perf(_)
        | Verb::Packets(_)
        | Verb::Scan(_)
        | Verb::Run(RunArguments { handshakes: Some(_), .. })
        | Verb::Tools(ToolsArguments { tool: Tool::Kernel(_) | Tool::Completions(_) | Tool::Man(_) }) => "",
        _ => "; finished runs are kept, and the same command continues from there",
    };
    let done = match cli.verb {
        Verb::Run(arguments) => arguments.resolve().and_then(|(action, settings)| run::run(&action, &settings)),
        Verb::Perf(arguments) => perf::perf(&arguments.resolve()),
        Verb::Campaign(arguments) => campaign::campaign(arguments.python, &arguments.words),
        Verb::Analyze(arguments) => analyze::analyze(&arguments.resolve()),
        Verb::Packets(arguments) => packets::packets(&arguments.resolve()),
        Verb::Look(arguments) => look::look(&arguments.resolve()),
        Verb::Ls(arguments) => ls::ls(&arguments.folders, arguments.output.json),
        Verb::Advise(arguments) => arguments.resolve().and_then(|settings| advise::advise(&settings)),
        Verb::Scan(arguments) => arguments.resolve().and_then(|request| scan::scan(&request)),
        Verb::Report(arguments) => report::report(&arguments.resolve()),
        Verb::Check(arguments) => check::check(&arguments.folders, arguments.rules(), arguments.form()),
        Verb::Ab(arguments) => ab::ab(&arguments.resolve()),
        Verb::Diff(arguments) => diff::diff(&arguments.records, arguments.page.as_deref(), arguments.output.json),
        Verb::Bundle(arguments) => bundle::bundle(&arguments.resolve()),
        Verb::Verify(arguments) => verify::verify(&arguments.resolve()),
        Verb::Doctor(arguments) => doctor::doctor(&arguments.resolve()),
        Verb::Cache(arguments) => match arguments.action {
            None => cache::list(arguments.output.json),
            Some(CacheAction::List(of)) => cache::list(of.output.json),
            Some(CacheAction::Prune(of)) => cache::prune(of.keep, of.dry_run, of.output.json),
            Some(CacheAction::Remove(of)) => cache::remove(&of.names, of.output.json),
        },
        Verb::Stacks(arguments) => match arguments.action {
            StacksAction::List(of) => stacks::list::list(&of.names, &of.stacks.request(), of.output.json),
            StacksAction::Build(of) => stacks::build::build(&of.names, &of.stacks.request(), of.output.json),
            StacksAction::Check(of) => stacks::check::check(&of.resolve()),
            StacksAction::Try(of) => stacks::trial::trial(&of.resolve()),
            StacksAction::Import(of) => stacks::import::import(&of.resolve()),
        },
        Verb::Interop(arguments) => interop::interop(&arguments.resolve()),
        Verb::Help(arguments) => help::help(&arguments.topic),
        Verb::Tools(arguments) => match arguments.tool {
            Tool::Perform(arguments) => perform::perform(&arguments.resolve()),
            Tool::Prepare(arguments) => prepare::prepare(&arguments.resolve()),
            Tool::Kernel(arguments) => match arguments.action {
                KernelAction::List(of) => kernel::list(&of.stacks.request(), of.output.json),
                KernelAction::Build(of) => kernel::build(&of.stacks.request(), of.kernel, of.again, of.output.json),
            },
            Tool::Completions(arguments) => completion::completions(arguments.shell),
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
