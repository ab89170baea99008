//! `quiclab bundle`: packs a results folder for others.

mod experiment;
mod metadata;
mod stacks;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{AnyRun, run::Versions};
use quiclab_inputs::open_unlinked;
use quiclab_pages::results::{FAILURES_FOLDER, Index, Results};
use quiclab_record::bundle::{Mode, Writer};
use quiclab_record::{ASIDE, Contents, RunFile, layout::CAPTURE_FILE};
use quiclab_units::ShowPath;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    settings::BundleSettings,
    terminal::{output, progress},
};

/// What a bundle says of itself.
pub const BUNDLE_FILE: &str = "bundle.json";
/// Folder of the results in a bundle.
pub const RESULTS: &str = "results";
/// Version of the layout.
pub const SCHEMA: u32 = 1;

/// `bundle.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct About {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Release of quiclab that wrote it.
    pub quiclab: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// The command that performed the runs.
    pub command: String,
    /// Names of the records, in the order of the plan.
    pub records: Vec<String>,
    /// Files of records that are not in it, because they are long. Their hashes are in each record's `contents.json`.
    pub left_out: Vec<String>,
    /// Every version that runs were made with, by what it is of.
    pub versions: BTreeMap<String, BTreeSet<String>>,
    /// The stacks by name.
    pub stacks: BTreeMap<String, stacks::About>,
}

/// Packs a folder of results.
///
/// # Errors
/// A folder without results, a record that is damaged or was left half made, a file that changes meanwhile, a disk that fails.
pub fn bundle(settings: &BundleSettings) -> Result<u8> {
    let results = Results::open(&settings.results, progress::say)?;
    let index = Index::read(&settings.results)?;
    let runs = runs(&results)?;
    let stacks = stacks::find(&runs, &settings.stacks)?;
    let about = about(&index, &runs, &stacks, settings);
    let experiment = experiment::files(settings.experiment.as_deref(), &about.command)?;
    let parent = settings.out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let aside = tempfile::Builder::new().prefix(".quiclab-bundle-").tempfile_in(parent);
    let aside = aside.with_context(|| parent.shown())?;
    let mut writer = Writer::new(BufWriter::new(aside), &folder_name(&about.experiment))?;
    writer.add_bytes("README.md", metadata::readme(&about, &experiment).as_bytes())?;
    let (authors, licence) = (&settings.author[..], settings.licence.as_deref());
    writer.add_bytes("CITATION.cff", metadata::citation(&about, authors, licence).as_bytes())?;
    writer.add_bytes(".zenodo.json", metadata::zenodo(&about, authors, licence).as_bytes())?;
    writer.add_bytes("LICENCES.md", metadata::licences(&about).as_bytes())?;
    writer.add_bytes(BUNDLE_FILE, (serde_json::to_string_pretty(&about)? + "\n").as_bytes())?;
    let mut files: BTreeMap<String, PathBuf> = experiment;
    for stack in stacks.values() {
        files.extend(stack.files.iter().map(|(name, path)| (name.clone(), path.clone())));
    }
    below(&settings.results, RESULTS, &about.left_out, &mut files)?;
    for (name, path) in &files {
        add(&mut writer, name, path)?;
    }
    let (mut buffer, count) = writer.finish()?;
    buffer.flush().with_context(|| settings.out.shown())?;
    let file = buffer.into_inner().map_err(|error| error.into_error()).with_context(|| settings.out.shown())?;
    let _ = file.as_file().set_permissions(fs::Permissions::from_mode(0o644));
    file.as_file().sync_all().with_context(|| settings.out.shown())?;
    let bytes = file.as_file().metadata()?.len();
    file.persist(&settings.out).map_err(|error| error.error).with_context(|| settings.out.shown())?;
    show(settings, &about, count, bytes)
}

/// The runs that have a record, by its name. Each record must be what it was when it was written.
fn runs(results: &Results) -> Result<BTreeMap<String, RunFile<AnyRun>>> {
    let mut runs = BTreeMap::new();
    for name in results.records.names()? {
        let folder = results.folder().join(&name);
        if let Some(change) = Contents::changes(&folder)?.into_iter().next() {
            bail!("{change}");
        }
        runs.insert(name, RunFile::read_any(&folder)?);
    }
    if runs.is_empty() {
        bail!(
            "{}: found no record, expected at least one\nhint: quiclab run FILE --out {} performs the runs",
            results.folder().shown(),
            results.folder().shown()
        );
    }
    Ok(runs)
}

fn about(
    index: &Index,
    runs: &BTreeMap<String, RunFile<AnyRun>>,
    stacks: &BTreeMap<String, stacks::Packed>,
    settings: &BundleSettings,
) -> About {
    let mut versions = BTreeMap::<_, BTreeSet<_>>::new();
    for (what, version) in runs.values().flat_map(|run: &RunFile<AnyRun>| -> &Versions { &run.versions }) {
        versions.entry(what.clone()).or_default().insert(version.clone());
    }
    About {
        schema: SCHEMA,
        quiclab: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: index.experiment.clone(),
        title: index.title.clone(),
        command: index.command.clone(),
        records: runs.keys().cloned().collect(),
        left_out: if settings.with_captures { Vec::new() } else { vec![CAPTURE_FILE.to_owned()] },
        versions,
        stacks: stacks.iter().map(|(name, stack)| (name.clone(), stack.about.clone())).collect(),
    }
}

/// The name of an experiment as that of a single folder.
fn folder_name(experiment: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = experiment.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "quiclab".to_owned() } else { name.chars().take(100).collect() }
}

/// Adds the files below `folder` but for hidden ones, which processes use, and those that `left_out` names. A link is refused: it may lead
/// anywhere.
fn below(folder: &Path, name: &str, left_out: &[String], files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let place = || folder.shown();
    for entry in fs::read_dir(folder).with_context(place)? {
        let entry = entry.with_context(place)?;
        let Ok(own) = entry.file_name().into_string() else {
            bail!("{}: found a name that is no text, expected UTF-8", entry.path().shown());
        };
        if own.starts_with('.') || own.starts_with(ASIDE) || left_out.contains(&own) {
            continue;
        }
        let (path, name) = (entry.path(), format!("{name}/{own}"));
        let kind = entry.file_type().with_context(|| path.shown())?;
        if kind.is_dir() {
            below(&path, &name, left_out, files)?;
        } else if kind.is_file() {
            files.insert(name, path);
        } else {
            bail!(
                "{}: found a link, a pipe or a device; expected files and folders\nhint: replace it by a file",
                path.shown()
            );
        }
    }
    Ok(())
}

fn add<W: Write + std::io::Seek>(writer: &mut Writer<W>, name: &str, path: &Path) -> Result<()> {
    let file = open_unlinked(path).with_context(|| path.shown())?;
    let facts = file.metadata().with_context(|| path.shown())?;
    let mode = if facts.permissions().mode() & 0o111 == 0 { Mode::Plain } else { Mode::Program };
    writer.add(name, mode, facts.len(), file).with_context(|| path.shown())
}

fn show(settings: &BundleSettings, about: &About, files: usize, bytes: u64) -> Result<u8> {
    let out = settings.out.shown().to_string();
    if settings.json {
        let all = json!({ "bundle": out, "files": files, "bytes": bytes, "records": about.records.len() });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        output::print(&format!("{out}: {} records, {files} files, {bytes} bytes\n", about.records.len()))?;
    }
    if settings.results.join(FAILURES_FOLDER).is_dir() {
        status!("quiclab: {}: what is known of failed runs is in the bundle as well", settings.results.shown());
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_experiment_becomes_that_of_one_folder() {
        assert_eq!(folder_name("examples/first"), "examples-first");
        assert_eq!(folder_name("../a:b"), "-a-b");
        assert_eq!(folder_name(""), "quiclab");
        for name in ["examples/first", "../a:b", "größe\n", "...", &"x".repeat(500)] {
            quiclab_record::bundle::check_name(&folder_name(name)).unwrap();
        }
    }

    #[test]
    fn captures_are_left_out_where_asked_and_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a-01-0123456789abcdef")).unwrap();
        for name in ["report.md", "a-01-0123456789abcdef/run.toml", "a-01-0123456789abcdef/wire.pcapng", ".lock"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let names = |left_out: &[String]| {
            let mut files = BTreeMap::new();
            below(folder.path(), RESULTS, left_out, &mut files).map(|()| files.into_keys().collect::<Vec<_>>())
        };
        let run = "results/a-01-0123456789abcdef/run.toml";
        assert_eq!(names(&[CAPTURE_FILE.to_owned()]).unwrap(), [run, "results/report.md"]);
        assert_eq!(names(&[]).unwrap().len(), 3);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        assert!(names(&[]).unwrap_err().to_string().contains("link: found a link"));
    }
}
