//! `quiclab stacks import`: images of the QUIC Interop Runner become stacks.

mod save;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    run::Http,
    stack::{StackManifest, TEST_CASES},
};
use quiclab_testbed::{cache::IMPORTED, hash, laboratory::Laboratory, oci, stack::MANIFEST};
use serde_json::json;

use super::implementations::{Implementation, imported_name, name_to_import, read};
use crate::{
    session::{laboratory::open, signals},
    settings::{RoleChoice, StacksImportSettings},
    terminal::output,
};

/// Name of the file by which the image of an archive with these settings is known.
const KEY_FILE: &str = "key";
/// Version of what is made of an archive.
const RECIPE: &[u8] = b"1";
/// What the contract says, whatever an image says.
const OF_THE_CONTRACT: &[&str] =
    &["ROLE", "TESTCASE", "REQUESTS", "SSLKEYLOGFILE", "QLOGDIR", "SERVER_PARAMS", "CLIENT_PARAMS"];
/// Nothing is known of what an image needs, and some bring virtual machines of their own.
const MEMORY: &str = "1 GiB";
/// The stack that takes the other role, where an image has a single one.
const PEER: &str = "quic-go";
/// The longest name that fits into all paths.
const LONGEST_NAME: usize = 60;

/// What is said of an image on import.
struct Claims {
    name: String,
    role: RoleChoice,
    http: Vec<Http>,
    cases: BTreeSet<String>,
}

/// Imports an archive, or all implementations of a file. Returns the number of those that were left out, at most 99.
///
/// # Errors
/// An archive or a file that cannot be used, a name that is taken, a missing program, or an interruption.
pub fn import(settings: &StacksImportSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let laboratory = open(&settings.stacks, stop.clone())?;
    let claims = |name: String, role| claims(settings, name, role);
    let mut rows = Vec::new();
    let mut left_out = 0_usize;
    if let Some(archive) = &settings.archive {
        let name = settings.name.clone().map_or_else(|| name_of(archive), Ok)?;
        let made = import_archive(&laboratory, archive, &claims(name.clone(), settings.role)?, &stop)?;
        rows.push((name, if made { "imported" } else { "imported before" }.to_owned()));
    }
    if let Some(file) = &settings.implementations {
        for (name, implementation) in read(file)? {
            if let Some(name) = imported_name(&laboratory, &name) {
                rows.push((name, "imported before".to_owned()));
                continue;
            }
            let name = name_to_import(&laboratory, &name);
            let claims = claims(name.clone(), implementation.role)?;
            let result = import_implementation(&laboratory, &implementation, &claims, &stop);
            rows.push(match result {
                Ok(()) => (name, "imported".to_owned()),
                Err(error) if signals::is_interruption(&error) => return Err(error),
                Err(error) => {
                    left_out += 1;
                    (name, format!("SKIPPED: {error:#}"))
                }
            });
        }
    }
    if settings.json {
        let rows: Vec<_> = rows.iter().map(|(name, outcome)| json!({ "stack": name, "outcome": outcome })).collect();
        output::print(&(serde_json::to_string_pretty(&rows)? + "\n"))?;
    } else {
        output::print(&rows.iter().map(|(name, outcome)| format!("{name}: {outcome}\n")).collect::<String>())?;
    }
    Ok(left_out.min(99) as u8)
}

fn claims(settings: &StacksImportSettings, name: String, role: RoleChoice) -> Result<Claims> {
    if let Some(case) = settings.cases.iter().find(|case| !TEST_CASES.contains(&case.as_str())) {
        bail!("--cases {case}: found no test case of that name, expected one of {}", TEST_CASES.join(", "));
    }
    let all = TEST_CASES.iter().map(|case| (*case).to_owned());
    let cases = if settings.cases.is_empty() { all.collect() } else { settings.cases.iter().cloned().collect() };
    Ok(Claims { name, role, http: settings.http.clone(), cases })
}

/// The archive's name, which is the stack's where no other is given.
fn name_of(archive: &Path) -> Result<String> {
    let file = archive.file_name().unwrap_or_default().to_string_lossy();
    let mut name = &*file;
    for ending in [".gz", ".tgz", ".zst", ".tar", ".oci", ".docker"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    check_name(name).with_context(|| archive.display().to_string())?;
    Ok(name.to_owned())
}

fn check_name(name: &str) -> Result<()> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "._-+".contains(character);
    if name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(allowed)
        && name.len() <= LONGEST_NAME
    {
        return Ok(());
    }
    bail!(
        "name: found {name:?}, expected letters, digits, \"-\", \"_\" and \".\", at most {LONGEST_NAME}\nhint: --name NAME"
    )
}

/// Makes a stack of the image in `archive`. False where it imported before.
fn import_archive(laboratory: &Laboratory, archive: &Path, claims: &Claims, stop: &AtomicBool) -> Result<bool> {
    let name = &claims.name;
    check_name(name)?;
    if laboratory.stack_store.sources.contains_key(name) && !laboratory.stack_store.is_imported(name) {
        bail!(
            "--name {name}: found a stack of this name that is not an image, expected a new name\nhint: --name {name}-image"
        );
    }
    let about = fs::metadata(archive).with_context(|| archive.display().to_string())?;
    if !about.is_file() && !about.is_dir() {
        bail!(
            "{}: found no regular file, expected an archive, which is read more than once\nhint: write it to a file first",
            archive.display()
        );
    }
    let cache = &laboratory.stack_store.cache;
    let reading = signals::reading();
    let key = key(archive, claims)?;
    drop(reading);
    let is_current = |folder: &Path| fs::read_to_string(folder.join(KEY_FILE)).is_ok_and(|found| found == key);
    cache.replace(&format!("{IMPORTED}/{name}"), is_current, |folder| {
        let work = cache.scratch("")?;
        let unpacked = oci::unpack(archive, work.path(), stop)?;
        warn(&unpacked.image, name);
        oci::pack(&unpacked, folder)?;
        fs::write(folder.join(MANIFEST), toml::to_string(&manifest(&unpacked.image, claims)?)?)?;
        Ok(fs::write(folder.join(KEY_FILE), &key)?)
    })
}

fn import_implementation(
    laboratory: &Laboratory,
    implementation: &Implementation,
    claims: &Claims,
    stop: &AtomicBool,
) -> Result<()> {
    let work = laboratory.stack_store.cache.scratch("")?;
    let archive: PathBuf = work.path().join("image.tar");
    save::save(&implementation.image, &archive, &claims.name, stop)?;
    import_archive(laboratory, &archive, claims, stop).map(drop)
}

fn key(archive: &Path, claims: &Claims) -> Result<String> {
    let digest = hash::of_file(archive).with_context(|| archive.display().to_string())?;
    let output_tail = json!([claims.name, claims.role.roles(), claims.http, claims.cases]).to_string();
    Ok(hash::Hasher::default().part(RECIPE).part(digest.as_bytes()).part(output_tail.as_bytes()).hex())
}

fn warn(image: &oci::Image, name: &str) {
    if !matches!(image.user.split(':').next(), Some("" | "0" | "root") | None) {
        status!("quiclab: warning: {name}: the image asks for user {:?} but runs as root", image.user);
    }
}

fn manifest(image: &oci::Image, claims: &Claims) -> Result<StackManifest> {
    let roles = claims.role.roles();
    let cases = |role| if roles.contains(&role) { claims.cases.clone() } else { BTreeSet::new() };
    let environment: std::collections::BTreeMap<_, _> = image
        .environment
        .iter()
        .filter(|(name, _)| !OF_THE_CONTRACT.contains(&name.as_str()) && !name.starts_with("QUICLAB_"))
        .collect();
    let first = if claims.http.contains(&Http::Hq) { Http::Hq } else { claims.http[0] };
    let called = image.tag.as_ref().map_or_else(String::new, |tag| format!(" {tag:?}"));
    let mut manifest = json!({
        "name": claims.name,
        "version": format!("image {}", &image.id[..12]),
        "licence": "unknown",
        "transport": "quic",
        "roles": roles,
        "http": claims.http,
        "congestion_control": ["default"],
        "gso": ["default"],
        "pacing": ["default"],
        "ip": ["4", "6"],
        "qlog": true,
        "key_log": roles,
        "certificate_delay": "none",
        "notes": format!("Imported from the image{called} with configuration sha256:{}.\nIts features are those \
                          declared on import.", image.id),
        "test_cases": {
            "server": cases(quiclab_experiment::stack::Role::Server),
            "client": cases(quiclab_experiment::stack::Role::Client),
        },
        "default": { "http": first, "congestion_control": "default", "gso": "default", "pacing": "default" },
        "build": { "command": "true", "profile": "image", "host_packages": [], "host_tools": [] },
        "guest": {
            "packages": [], "memory": MEMORY, "command": image.command, "contract": "interop_runner",
            "environment": environment, "folder": image.folder,
        },
    });
    if roles.len() == 1 {
        manifest["peer"] = json!(PEER);
    }
    Ok(serde_json::from_value(manifest)?)
}

#[cfg(test)]
mod tests;
