//! `quiclab stacks try`: an endpoint on this machine, over a loopback, without virtual machines.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::error::nearest;
use quiclab_testbed::{
    cache::Cache,
    loopback::{self, Network},
    stack::{Source, own::own_stack},
};
use quiclab_trials::{
    claims::file_name,
    files::Files,
    output_tail::{self, OutputTail},
    trial::{
        bench::{Bench, Stack},
        capture::Capture,
        checks::{Check, Stacks, TRANSFER, kinds},
    },
};
use serde::Serialize;

use crate::{
    session::signals,
    settings::StacksTrySettings,
    terminal::{output, progress},
};

/// What came of a check.
#[derive(Debug, Serialize)]
struct Finding<'a> {
    stack: &'a str,
    /// The case as `--case` takes it.
    case: &'a str,
    name: &'a str,
    check: &'a str,
    /// `None` where it was not tried.
    holds: Option<bool>,
    found: String,
    /// Where what the endpoints printed is.
    folder: Option<PathBuf>,
    /// The end of what the endpoints printed, for a check that failed.
    output_tail: Vec<OutputTail>,
}

/// Tries an endpoint. Returns the number of checks that failed, at most 99.
///
/// # Errors
/// A path without a stack, a case that does not exist, a build that fails, a kernel that allows no namespaces, or an interruption.
pub fn trial(settings: &StacksTrySettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    check_cases(&settings.case)?;
    let cache = Cache::from_environment()?;
    let own = source_of(&cache, &settings.path)?;
    let peer = settings.peer.as_ref().map(|path| source_of(&cache, path)).transpose()?;
    let stacks = Stacks {
        own: &own.manifest,
        is_bare: !settings.path.is_dir(),
        peer: peer.as_ref().map(|source| &source.manifest),
        variables: &settings.variables,
    };
    let name = &own.manifest.name;
    if stacks.pairs().is_empty() {
        let peer = own.manifest.peer.as_deref().unwrap_or("NAME");
        bail!("{name} has only one role and needs a peer\nhint: --peer stacks/{peer}, a stack with the other role");
    }
    stacks.http().map_err(anyhow::Error::msg)?;
    let checks: Vec<_> = stacks
        .checks()
        .into_iter()
        .filter(|check| settings.case.is_empty() || settings.case.contains(&check.kind))
        .collect();
    if checks.is_empty() {
        let reasons: Vec<_> = settings.case.iter().map(|kind| stacks.why_none(kind)).collect();
        bail!("--case: {}\nhint: test_cases in a stack.toml", reasons.join("; "));
    }
    let files = Files::build(&cache, &own, settings.rebuild, &stop, progress::say)?;
    let peer_files =
        peer.as_ref().map(|source| Files::build(&cache, source, false, &stop, progress::say)).transpose()?;
    let out = settings.out.join(file_name(name));
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    // Endpoints may be in another root, where the scratch folder is all that they share with this machine.
    let out = fs::canonicalize(&out).with_context(|| out.display().to_string())?;
    let scratch = loopback::enter(Network::Own)?;
    let place = scratch.path().join("shared");
    loopback::share(&out, &place.join("logs"))?;
    let own_stack = Stack { manifest: &own.manifest, root: files.root(&scratch.path().join("own"), &place)? };
    let peer_stack = match (&peer, &peer_files) {
        (Some(source), Some(files)) => {
            Some(Stack { manifest: &source.manifest, root: files.root(&scratch.path().join("peer"), &place)? })
        }
        _ => None,
    };
    let mut bench = Bench::new(own_stack, peer_stack, &place, out.clone(), stop.clone())?;
    bench.always(stacks.always());
    let capture = settings.capture.as_deref().map(Capture::start).transpose()?;
    if let Some(capture) = &capture {
        bench.collect_keys(capture.keys().to_path_buf());
    }
    let findings = ask_all(&checks, &bench, name, settings.json)?;
    if let Some(capture) = capture {
        status!("quiclab: {}", capture.finish()?);
    }
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&findings)? + "\n"))?;
    }
    let count = |holds: Option<bool>| findings.iter().filter(|finding| finding.holds == holds).count();
    let (held, failed, not_tried) = (count(Some(true)), count(Some(false)), count(None));
    let rest = if not_tried == 0 { String::new() } else { format!(", {not_tried} not tried") };
    status!("quiclab: {held} checks pass, {failed} fail{rest}; what the endpoints printed is in {}", out.display());
    Ok(failed.min(99) as u8)
}

fn ask_all<'a>(checks: &'a [Check], bench: &Bench, stack: &'a str, json: bool) -> Result<Vec<Finding<'a>>> {
    let mut findings = Vec::new();
    for (number, check) in checks.iter().enumerate() {
        let Check { kind, name, sentence, question } = check;
        let outcome = bench.ask(name, question)?;
        let (holds, found) = match outcome {
            Ok(found) => (true, found),
            Err(found) => (false, found),
        };
        let folder = bench.folder(name);
        let output_tail = if holds { vec![] } else { output_tail::of_run(&folder) };
        if !json {
            let word = if holds { "ok  " } else { "FAIL" };
            output::print(&format!("{word} {stack}: {sentence}: {found}\n{}", output_tail::in_words(&output_tail)))?;
        }
        let folder = Some(folder);
        findings.push(Finding {
            stack,
            case: kind,
            name,
            check: sentence,
            holds: Some(holds),
            found,
            folder,
            output_tail,
        });
        let rest = &checks[number + 1..];
        if !holds && kind == TRANSFER && number == 0 && !rest.is_empty() {
            let why = "not tried, because the first transfer failed";
            if !json {
                output::print(&format!("---- {stack}: {} other checks were {why}\n", rest.len()))?;
            }
            findings.extend(rest.iter().map(|check| Finding {
                stack,
                case: &check.kind,
                name: &check.name,
                check: &check.sentence,
                holds: None,
                found: why.to_owned(),
                folder: None,
                output_tail: vec![],
            }));
            break;
        }
    }
    Ok(findings)
}

fn check_cases(cases: &[String]) -> Result<()> {
    for case in cases {
        if !kinds().any(|kind| kind == case) {
            let near = nearest(case, kinds()).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            bail!("--case: found {case:?}, expected one of {}{near}", kinds().collect::<Vec<_>>().join(", "));
        }
    }
    Ok(())
}

fn source_of(cache: &Cache, path: &Path) -> Result<Source> {
    let source = own_stack(cache, path)?;
    if source.manifest.is_of_interop_runner() {
        bail!(
            "{}: {} implements only the contract of the QUIC Interop Runner and runs in virtual machines only\nhint: \
             quiclab stacks check \
             {} --stack {}",
            path.display(),
            source.manifest.name,
            source.manifest.name,
            path.display()
        );
    }
    Ok(source)
}
