//! `--stack PATH`: a stack of the user's own.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::stack::{CONGESTION_CONTROL, StackManifest, TEST_CASES};
use serde_json::json;

use crate::{
    cache::{Cache, Care},
    hash,
    shell::quoted,
    stack::{MANIFEST, Source, source},
};

/// Adds the stacks at `paths` to `sources`. One with the name of a stack that is there takes its place where it `may_replace`; `say` then
/// tells so. Returns their names.
///
/// # Errors
/// Two of one name, one with the name of a stack that it may not replace, and as [`own_stack`].
pub fn add_own_stacks(
    cache: &Cache,
    paths: &[PathBuf],
    may_replace: bool,
    sources: &mut BTreeMap<String, Source>,
    say: fn(&str),
) -> Result<Vec<String>> {
    let mut own: BTreeMap<String, &Path> = BTreeMap::new();
    let mut names = Vec::new();
    for path in paths {
        let source = own_stack(cache, path)?;
        let name = source.manifest.name.clone();
        if let Some(first) = own.insert(name.clone(), path) {
            bail!(
                "--stack {}: found a stack named {name:?}, which is also the name of --stack {}; expected another name\n\
                 hint: change name in its {MANIFEST}, or rename the program",
                path.display(),
                first.display()
            );
        }
        let folder = source.folder.clone();
        let replaced = sources.insert(name.clone(), source);
        // `--stack stacks/quiche` names the very same one.
        let is_other = |one: &Source| fs::canonicalize(&one.folder).ok() != fs::canonicalize(&folder).ok();
        if let Some(replaced) = replaced.filter(is_other) {
            if !may_replace {
                bail!(
                    "--stack {}: found a stack named {name:?}, which is also the name of {}; expected another name\n\
                     hint: change name in its {MANIFEST}, or rename the program; --replace uses it in place of the other one",
                    path.display(),
                    replaced.folder.display()
                );
            }
            say(&format!(
                "--stack {} replaces {name} {} of {}",
                path.display(),
                replaced.manifest.version,
                replaced.folder.display()
            ));
        }
        names.push(name);
    }
    Ok(names)
}

/// The stack at `path`: a folder with a manifest, or a single program.
///
/// # Errors
/// Where there is nothing of the kind.
pub fn own_stack(cache: &Cache, path: &Path) -> Result<Source> {
    if path.is_dir() {
        return source(path).with_context(|| format!("--stack {}", path.display()));
    }
    let facts = fs::metadata(path).with_context(|| format!("--stack {}", path.display()))?;
    if facts.permissions().mode() & 0o111 == 0 {
        bail!(
            "--stack {}: found a file that is not executable, expected a program or a folder with {MANIFEST}\nhint: chmod +x",
            path.display()
        );
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let program = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = manifest(&name, &program)?;
    let key = hash::Hasher::default().part(text.as_bytes()).part(hash::of_file(path)?.as_bytes()).short();
    let folder = cache.folder(&format!("own/{name}-{key}"), |folder| {
        fs::copy(path, folder.join(&program)).with_context(|| path.display().to_string())?;
        fs::write(folder.join(MANIFEST), &text).context(MANIFEST)
    })?;
    cache.verify(&folder, Care::Default)?;
    source(&folder)
}

/// What is assumed of a program that says nothing of itself: it may do everything, answers 127 where it does not, and has
/// defaults of its own.
fn manifest(name: &str, program: &str) -> Result<String> {
    let congestion_control: Vec<_> = ["default"].iter().chain(CONGESTION_CONTROL).collect();
    let manifest = json!({
        "name": name,
        "version": "own",
        "licence": "unknown",
        "transport": "quic",
        "roles": ["server", "client"],
        "http": ["h3", "hq"],
        "congestion_control": congestion_control,
        "gso": ["default", "on", "off"],
        "pacing": ["default", "off", "user", "txtime"],
        "ip": ["4", "6"],
        "qlog": true,
        "key_log": ["client"],
        "certificate_delay": "wait",
        "first_ack": ["instant", "padded", "wait"],
        "default_pto": true,
        "key_exchanges": ["x25519", "x25519mlkem768"],
        "notes": "Your own program without a manifest. It may be asked for anything, because what it supports is not \
                  known.",
        "test_cases": { "server": TEST_CASES, "client": TEST_CASES },
        "default": { "http": "h3", "congestion_control": "default", "gso": "default", "pacing": "default" },
        "build": {
            "command": format!("cp {} \"$QUICLAB_STACK_OUT/\"", quoted(&format!("./{program}"))),
            "profile": "own", "host_packages": [], "host_tools": []
        },
        "guest": { "packages": [], "command": [format!("/stack/{program}")] },
    });
    let manifest: StackManifest = serde_json::from_value(manifest)?;
    Ok(toml::to_string(&manifest)?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_without_a_manifest_gets_one_that_leaves_everything_to_it() {
        let text = manifest("mine", "mine.sh").unwrap();
        let manifest = StackManifest::parse("stack.toml", &text).unwrap();
        assert_eq!(manifest.name, "mine");
        assert_eq!(manifest.guest.command, ["/stack/mine.sh"]);
        assert_eq!(manifest.default.congestion_control, "default");
        assert_eq!(manifest.build.command, "cp ./mine.sh \"$QUICLAB_STACK_OUT/\"");
    }

    #[test]
    fn the_name_of_a_program_is_not_run_by_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        let program = "-x $(touch run) `touch run` \"it's\"";
        fs::write(folder.path().join(program), "the program").unwrap();
        let manifest = StackManifest::parse("stack.toml", &manifest("x", program).unwrap()).unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &manifest.build.command]).current_dir(&folder).env("QUICLAB_STACK_OUT", &out);
        assert!(shell.status().unwrap().success());
        assert_eq!(fs::read_to_string(out.join(program)).unwrap(), "the program");
        assert!(!folder.path().join("run").exists());
    }
}
