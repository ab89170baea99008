//! Each test is a process of its own in a network namespace of its own: only a process with a single thread can enter one.

mod answers;
mod icmp;
mod load;
mod names;
mod nowhere;
mod quic;
mod record;
mod stack;
mod support;
mod times;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// The argument before the name of a test that is to run in this process.
const INSIDE: &str = "--inside";

type Case = (&'static str, fn());

fn main() -> ExitCode {
    let cases: Vec<Case> = [
        answers::CASES,
        icmp::CASES,
        load::CASES,
        names::CASES,
        nowhere::CASES,
        quic::CASES,
        record::CASES,
        times::CASES,
    ]
    .concat();
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, inside, name] = &arguments[..]
        && inside == INSIDE
    {
        return run_inside(&cases, name);
    }
    let mut arguments = Arguments::from_args();
    // Times are measured, and cores are few.
    arguments.test_threads = Some(1);
    let trials = cases.into_iter().map(|(name, _)| Trial::test(name, move || run_outside(name))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run_inside(cases: &[Case], name: &str) -> ExitCode {
    let Some((_, case)) = cases.iter().find(|(case, _)| *case == name) else { return ExitCode::FAILURE };
    quiclab_internet::enter_empty_network().expect("a network namespace");
    case();
    ExitCode::SUCCESS
}

fn run_outside(name: &str) -> Result<(), Failed> {
    if !quiclab_testing::has_namespaces() {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let output = Command::new(program).args([INSIDE, name]).output()?;
    let said = [output.stdout, output.stderr].concat();
    eprint!("{}", String::from_utf8_lossy(&said));
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", output.status).into()) }
}
