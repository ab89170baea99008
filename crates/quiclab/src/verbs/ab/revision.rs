//! A revision of a folder that git keeps.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// Unpacks the whole repository of `folder` as it is at `revision`, since folders of stacks link to others. Returns where, to be kept as long as
/// it is needed, and the folder in it.
///
/// # Errors
/// No repository, no such revision, a revision that does not have the folder, or one whose archive is not what a checkout would be: with a
/// submodule in the folder, or attributes that change archives.
pub fn unpacked(folder: &Path, revision: &str) -> Result<(TempDir, PathBuf)> {
    let place = || format!("{}@{revision}", folder.display());
    let commit =
        git(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")])
            .with_context(|| format!("{}: found no such revision", place()))?;
    let prefix = git(folder, &["rev-parse", "--show-prefix"]).with_context(place)?;
    let root = git(folder, &["rev-parse", "--show-toplevel"]).with_context(place)?;
    check_archive(&root, &commit, &prefix).with_context(place)?;
    let target = tempfile::Builder::new().prefix("quiclab-revision-").tempdir().context("a temporary folder")?;
    let mut archive = Command::new("git")
        .args(["-C", &root, "archive", "--format=tar", &commit])
        .stdout(Stdio::piped())
        .spawn()
        .context("git")?;
    let pipe = archive.stdout.take().context("git archive has no output")?;
    let unpacked = Command::new("tar").arg("-x").arg("-C").arg(target.path()).stdin(pipe).status();
    if unpacked.is_err() {
        // Nobody reads what it writes.
        let _ = archive.kill();
        let _ = archive.wait();
    }
    let unpacked = unpacked.context("tar")?;
    let archived = archive.wait().context("git archive")?;
    if !archived.success() || !unpacked.success() {
        bail!("{}: git archive ended with {archived}, tar with {unpacked}", place());
    }
    let path = target.path().join(prefix);
    if !path.is_dir() {
        bail!("{}: found no such folder in that revision, expected one", place());
    }
    Ok((target, path))
}

/// Refuses a commit whose archive has other files than a checkout of it.
fn check_archive(root: &str, commit: &str, prefix: &str) -> Result<()> {
    let root = Path::new(root);
    let listed = git(root, &["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let entries = listed.split('\0').filter_map(|entry| entry.split_once('\t'));
    for (facts, path) in entries {
        if facts.starts_with("160000 ") && path.starts_with(prefix) {
            bail!(
                "{path}: found a submodule, which git archive leaves empty; expected none in the folder\nhint: check \
                 the revision out with \
                 git worktree add and git submodule update, and name that folder"
            );
        }
        if path == ".gitattributes" || path.ends_with("/.gitattributes") {
            let text = git(root, &["show", &format!("{commit}:{path}")])?;
            let is_comment = |line: &&str| line.trim_start().starts_with('#');
            if let Some(line) = text.lines().filter(|line| !is_comment(line)).find(|line| line.contains("export-")) {
                bail!(
                    "{path}: found {line:?}, which makes git archive differ from a checkout; expected no export \
                     attributes\n\
                     hint: check the revision out with git worktree add, and name that folder"
                );
            }
        }
    }
    Ok(())
}

/// What a git command prints, without the end of the line.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().context("git")?;
    if !output.status.success() {
        bail!("git {}: {}{}", arguments.join(" "), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout).context("git printed text that is not UTF-8")?;
    Ok(text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(folder: &Path, arguments: &[&str]) {
        git(
            folder,
            &[&["-c", "user.name=x", "-c", "user.email=x@example.invalid", "-c", "commit.gpgsign=false"], arguments]
                .concat(),
        )
        .unwrap_or_else(|error| panic!("{error:#}"));
    }

    #[test]
    fn a_revision_is_unpacked_with_what_lies_beside_its_folder_and_removed_again() {
        let repository = tempfile::tempdir().unwrap();
        let stack = repository.path().join("stacks/mine");
        fs::create_dir_all(&stack).unwrap();
        fs::write(repository.path().join("stacks/shared"), "shared").unwrap();
        fs::write(stack.join("version"), "1").unwrap();
        run(repository.path(), &["init", "--quiet"]);
        run(repository.path(), &["add", "--all"]);
        run(repository.path(), &["commit", "--quiet", "-m", "one"]);
        fs::write(stack.join("version"), "2").unwrap();
        let (kept, path) = unpacked(&stack, "HEAD").unwrap();
        assert_eq!(fs::read_to_string(path.join("version")).unwrap(), "1");
        assert_eq!(fs::read_to_string(path.join("../shared")).unwrap(), "shared");
        let place = kept.path().to_path_buf();
        drop(kept);
        assert!(!place.exists());
        let error = format!("{:#}", unpacked(&stack, "nowhere").unwrap_err());
        assert!(error.contains("mine@nowhere: found no such revision"), "{error}");
    }

    #[test]
    fn a_revision_whose_archive_is_not_its_checkout_is_refused() {
        let repository = tempfile::tempdir().unwrap();
        let stack = repository.path().join("stacks/mine");
        fs::create_dir_all(&stack).unwrap();
        fs::write(stack.join("version"), "1").unwrap();
        fs::write(repository.path().join(".gitattributes"), "# export-ignore\n*.bin binary\n").unwrap();
        run(repository.path(), &["init", "--quiet"]);
        run(repository.path(), &["add", "--all"]);
        run(repository.path(), &["commit", "--quiet", "-m", "one"]);
        assert!(unpacked(&stack, "HEAD").is_ok());
        // A submodule elsewhere is no part of the stack.
        let commit = git(repository.path(), &["rev-parse", "HEAD"]).unwrap();
        for (place, is_refused) in [("other/sub", false), ("stacks/mine/sub", true)] {
            run(repository.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{place}")]);
            run(repository.path(), &["commit", "--quiet", "-m", "submodule"]);
            let found = unpacked(&stack, "HEAD");
            assert_eq!(found.is_err(), is_refused, "{place}");
        }
        let error = format!("{:#}", unpacked(&stack, "HEAD").unwrap_err());
        assert!(error.contains("stacks/mine/sub: found a submodule"), "{error}");
        run(repository.path(), &["rm", "--quiet", "--cached", "stacks/mine/sub"]);
        fs::write(stack.join(".gitattributes"), "version export-subst\n").unwrap();
        run(repository.path(), &["add", "stacks/mine/.gitattributes"]);
        run(repository.path(), &["commit", "--quiet", "-m", "attributes"]);
        let error = format!("{:#}", unpacked(&stack, "HEAD").unwrap_err());
        assert!(error.contains("stacks/mine/.gitattributes: found \"version export-subst\""), "{error}");
    }
}
