//! The packets of all records of a report, compared with the laws of their paths, and what came of it in words.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use quiclab_record::{AnyRecord, AuditReport, audit_record};
use quiclab_report::AnyReport;
use rayon::prelude::*;
use serde::Serialize;

/// Records with a violation that are named; more are counted.
const MOST_NAMED: usize = 20;

/// A record with the findings of the auditor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditedRecord {
    /// Folder of the record.
    pub record: PathBuf,
    /// The findings.
    pub audit: AuditReport,
}

/// Audits the records of a report about what is in `folder`, in its order.
///
/// # Errors
/// Where a record cannot be read.
pub fn audit_all(folder: &Path, report: &AnyReport) -> Result<Vec<AuditedRecord>> {
    let AnyReport::Transfers(input) = report else { return Ok(Vec::new()) };
    let names: Vec<_> = input.runs.iter().map(|run| &run.folder).collect();
    names.into_par_iter().map(|name| audit(folder.join(name))).collect()
}

/// Audits one record.
///
/// # Errors
/// Where it cannot be read.
pub fn audit(folder: PathBuf) -> Result<AuditedRecord> {
    let audit = match AnyRecord::load(&folder)? {
        AnyRecord::Transfer(record) => audit_record(&record.folder, &record.run.run, &record.observed)?,
        AnyRecord::Models(_) => AuditReport::nothing("flows of models have no packets"),
    };
    Ok(AuditedRecord { record: folder, audit })
}

/// The number of records in which a law is violated.
pub fn violated(audits: &[AuditedRecord]) -> usize {
    audits.iter().filter(|one| one.audit.violated() > 0).count()
}

/// What was found, for a person: how many records keep every law, each violation with its packet, and what was not audited, with its reason.
pub fn in_words(audits: &[AuditedRecord]) -> String {
    if audits.is_empty() {
        return "audit: no record has packets\n".to_owned();
    }
    let mut text = String::new();
    let wrong: Vec<_> = audits.iter().filter(|one| one.audit.violated() > 0).collect();
    let audited = audits.iter().filter(|one| one.audit.not_audited.is_none()).count();
    let kept = audited - wrong.len();
    text.push_str(&format!("audit: {kept} of {} records keep every law that was audited\n", audits.len()));
    for one in wrong.iter().take(MOST_NAMED) {
        for (direction, law) in one.audit.laws().filter(|(_, law)| law.violated > 0) {
            let name = one.record.file_name().unwrap_or_default().to_string_lossy();
            text.push_str(&format!(
                "violated      {name}: {direction}: {}: {} of {} packets\n",
                law.law.in_words(),
                law.violated,
                law.checked
            ));
            for violation in &law.violations {
                text.push_str(&format!("              {}\n", violation.in_words()));
            }
        }
    }
    if wrong.len() > MOST_NAMED {
        text.push_str(&format!("              ... and {} records more\n", wrong.len() - MOST_NAMED));
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut tolerances: BTreeMap<&str, usize> = BTreeMap::new();
    for AuditedRecord { audit, .. } in audits {
        if let Some(why) = &audit.not_audited {
            *reasons.entry(format!("anything: {why}")).or_default() += 1;
        } else {
            *tolerances.entry(&audit.tolerance).or_default() += 1;
        }
        for (direction, law) in audit.laws() {
            for reason in &law.not_audited {
                *reasons.entry(format!("{direction}: {}: {reason}", law.law.in_words())).or_default() += 1;
            }
        }
    }
    for (tolerance, count) in tolerances {
        text.push_str(&format!("tolerance     {tolerance} ({})\n", records(count)));
    }
    for (reason, count) in reasons {
        text.push_str(&format!("not audited   {reason} ({})\n", records(count)));
    }
    text
}

fn records(count: usize) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}
