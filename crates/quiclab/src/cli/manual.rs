//! `quiclab tools man`: manual pages, made of the same definitions as `--help`.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use quiclab_units::ShowPath;

use super::command;

/// Writes a page for the command and one for each verb that is shown.
///
/// # Errors
/// Where the folder cannot be written.
pub fn write(folder: &Path) -> Result<u8> {
    fs::create_dir_all(folder).with_context(|| folder.shown())?;
    let mut root = command();
    root.build();
    page(&root, "quiclab", folder)?;
    Ok(0)
}

fn page(command: &clap::Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    // Pages of verbs are found by their whole name.
    let whole: &'static str = Box::leak(name.to_owned().into_boxed_str());
    clap_mangen::Man::new(command.clone().name(whole)).date("").render(&mut text)?;
    fs::write(&path, text).with_context(|| path.shown())?;
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        page(child, &format!("{name}-{}", child.get_name()), folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page_with_its_options() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page("quiclab.1").contains("laboratory"));
        assert!(page("quiclab-run.1").contains("repetitions"));
        assert!(page("quiclab-stacks-list.1").contains("quiclab"));
        assert!(!folder.path().join("quiclab-man.1").exists());
    }
}
