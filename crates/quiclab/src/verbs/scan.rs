//! `quiclab scan`: how servers answer handshakes, those in captures or those that it performs.

mod captures;
mod hooks;
mod show;

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Result, bail, ensure};
use quiclab_pages::folder;
use quiclab_report::{render_scan_html, render_scan_markdown};
use quiclab_scan::{
    HelloSettings, ScanSettings,
    survey::{
        self, AddressChoice, OriginSettings, Origins, RowFormat, RowsFile, Summary, SurveySettings, TargetGroup,
        TargetSettings,
    },
};
use quiclab_units::{Duration, ShowPath};

use crate::{
    cli::{Addresses, OriginOptions, ReportOptions, RowFormatArgument, ScanArguments, WhomOptions},
    session::signals,
    terminal::output,
};
use hooks::CommandHooks;

/// Performs handshakes or finds them, and says how the servers answered. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// A file that cannot be read or written, an interruption.
pub fn scan(arguments: &ScanArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    if !arguments.report.report.is_empty() {
        return report(&arguments.report).map(|()| 0);
    }
    if arguments.whom.dry_run {
        return dry_run(arguments).map(|()| 0);
    }
    let (summary, was_cut) = match (arguments.whom.duration, &arguments.targets) {
        (Some(duration), list) => {
            let settings = settings(arguments)?;
            let groups = groups(&arguments.whom, list.as_deref())?;
            (survey::ask_repeatedly(&settings, &groups, duration, &stop, &CommandHooks)?, false)
        }
        (None, Some(list)) => (survey::ask_once(&settings(arguments)?, list, &stop, &CommandHooks)?, false),
        (None, None) => of_captures(arguments, &stop)?,
    };
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&summary.to_json())? + "\n"))?;
    } else {
        output::print(&show::summary(&summary))?;
    }
    Ok(u8::from(was_cut))
}

/// Prints tables of the rows of earlier scans, and writes the page with the figures.
fn report(options: &ReportOptions) -> Result<()> {
    let rows = options.report.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" ");
    let report = survey::report(&options.report, format!("quiclab scan --report {rows}"))?;
    if let Some(page) = &options.html {
        folder::write_at(page, render_scan_html(&report))?;
        status!("page with figures: {}", page.shown());
    }
    output::print(&render_scan_markdown(&report))
}

/// Prints how many packets would go to whom.
fn dry_run(arguments: &ScanArguments) -> Result<()> {
    let whom = &arguments.whom;
    let lists = arguments.targets.as_deref().into_iter().chain(whom.group.iter().map(|group| group.list.as_path()));
    let plan = survey::plan(lists, &targets(whom), arguments.hello.hello_size, whom.rate, &CommandHooks)?;
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&plan)? + "\n"))
    } else {
        output::print(&show::plan(&plan, whom.rate))
    }
}

fn of_captures(arguments: &ScanArguments, stop: &Arc<AtomicBool>) -> Result<(Summary, bool)> {
    let origins = Origins::read(&origins(&arguments.origins), &CommandHooks)?;
    let mut summary = Summary::default();
    let mut file = arguments.captures.rows.as_deref().map(RowsFile::create).transpose()?;
    let was_cut = captures::read(&arguments.captures, stop, &mut |mut row| {
        origins.complete(&mut row);
        summary.add(&row);
        file.as_mut().map_or(Ok(()), |file| file.add(&row))
    })?;
    if let Some(file) = file {
        file.finish()?;
    }
    Ok((summary, was_cut))
}

/// The settings of a survey.
///
/// # Errors
/// Nobody to complain to.
fn settings(arguments: &ScanArguments) -> Result<SurveySettings> {
    let ScanArguments { whom, hello, results, .. } = arguments;
    let Some(contact) = &whom.contact else {
        bail!(
            "--contact is missing: found none, expected a page or an address for mail where those who are asked can complain; it goes into each \
             request\nhint: --contact https://example.org/scan"
        );
    };
    let speaks_http = !hello.no_http && hello.alpn.iter().any(|name| name == "h3");
    let scanner = ScanSettings {
        timeout: std::time::Duration::from_nanos(whom.timeout.as_nanos()),
        most_in_flight: whom.in_flight as usize,
        application_protocols: hello.alpn.clone(),
        version: hello.quic_version,
        hello: HelloSettings {
            datagram_bytes: hello.hello_size,
            key_share_groups: hello.key_exchange.clone(),
            reuses_key_share: hello.reuse_key_share,
        },
        http: speaks_http.then(|| survey::http_settings(contact, &hello.header)),
        verify: hello.verify,
        ..ScanSettings::default()
    };
    Ok(SurveySettings {
        scanner,
        targets: targets(whom),
        rate: whom.rate,
        folder: results.out.clone(),
        format: match results.format {
            RowFormatArgument::Parquet => RowFormat::Parquet,
            RowFormatArgument::Csv => RowFormat::Csv,
            RowFormatArgument::Jsonl => RowFormat::Jsonl,
        },
        capture_every: results.capture_every,
        origins: origins(&arguments.origins),
    })
}

fn targets(whom: &WhomOptions) -> TargetSettings {
    TargetSettings {
        exclude: whom.exclude.clone(),
        resolver: whom.resolver,
        https_records: whom.https_records,
        addresses: match whom.addresses {
            Addresses::First => AddressChoice::First,
            Addresses::All => AddressChoice::All,
            Addresses::V4 => AddressChoice::V4,
            Addresses::V6 => AddressChoice::V6,
        },
    }
}

fn origins(options: &OriginOptions) -> OriginSettings {
    OriginSettings { prefixes: options.prefixes.clone(), cdns: options.cdns.clone() }
}

/// The list of the command with its time, and the groups.
fn groups(whom: &WhomOptions, list: Option<&Path>) -> Result<Vec<TargetGroup>> {
    let mut groups = whom.group.clone();
    match (list, whom.every) {
        (Some(list), Some(every)) => {
            ensure!(every > Duration::ZERO, "--every: found 0, expected more");
            groups.push(TargetGroup { name: "targets".to_owned(), every, list: list.to_owned() });
        }
        (Some(_), None) => {
            bail!("--for needs --every, the time between two handshakes of a target")
        }
        (None, _) => {}
    }
    if groups.iter().any(|group| group.list == Path::new("-")) {
        bail!("found standard input, expected files: their names are resolved again each day");
    }
    Ok(groups)
}
