//! `quiclab scan` on an Internet whose truth is known: real servers, delays, silence, refusals and rubbish, in a network namespace from which
//! no packet leaves. Each test is a process of its own, because only a process with a single thread can enter one.

mod bad_days;
mod large;
mod place;
mod real_servers;
mod trouble;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// The argument before the name of a test that is to run in this process.
const INSIDE: &str = "--inside";

/// What a test needs before it is in a namespace, and the test.
type Case = (&'static str, &'static [&'static str], fn());

fn main() -> ExitCode {
    let cases: Vec<Case> = [real_servers::CASES, bad_days::CASES, trouble::CASES, large::CASES].concat();
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, inside, name] = &arguments[..]
        && inside == INSIDE
    {
        let Some((.., case)) = cases.iter().find(|(case, ..)| case == name) else { return ExitCode::FAILURE };
        case();
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // Times are measured, and cores are few.
    arguments.test_threads = Some(1);
    let trial = |(name, stacks, _): Case| {
        // Every stack takes long to build, but those that other tests need too are there.
        let is_long = stacks.iter().any(|stack| !real_servers::FEW.contains(stack))
            || large::CASES.iter().any(|(large, ..)| *large == name);
        Trial::test(name, move || run_outside(name, stacks)).with_ignored_flag(is_long)
    };
    libtest_mimic::run(&arguments, cases.into_iter().map(trial).collect()).exit_code()
}

fn run_outside(name: &str, stacks: &[&str]) -> Result<(), Failed> {
    if !quiclab_testing::has_namespaces() {
        return Ok(());
    }
    stacks.iter().for_each(|stack| place::build(stack));
    let output = Command::new(std::env::current_exe()?).args([INSIDE, name]).output()?;
    eprint!("{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", output.status).into()) }
}
