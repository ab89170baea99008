//! Which record a user means.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use quiclab_record::{
    Records,
    layout::{CAPTURE_FILE, RUN_FILE},
};
use quiclab_units::ShowPath;

use crate::{folder::holds_results, results::overview::find_results};

/// Names of records that an error lists at most.
const MOST_NAMES: usize = 8;

/// Where a record or a capture is: `path` itself, or the only record where `path` is a folder of results.
///
/// # Errors
/// Where a folder of results has no record or several of them, and where a folder only has such folders below it.
pub fn one_record(path: &Path) -> Result<PathBuf> {
    let is_record = [CAPTURE_FILE, RUN_FILE].iter().any(|name| path.join(name).is_file());
    if !path.is_dir() || is_record {
        return Ok(path.to_owned());
    }
    let shown = path.shown();
    if !holds_results(path) {
        if find_results(path).is_ok() {
            bail!(
                "{shown}: found folders of results, expected one record or a capture\nhint: quiclab ls {shown} lists them"
            );
        }
        bail!("{shown}: found a folder without {CAPTURE_FILE}, expected a record's folder or a capture file");
    }
    let names = Records::open(path)?.names()?;
    let (listed, rest) = names.split_at(names.len().min(MOST_NAMES));
    let more = if rest.is_empty() { String::new() } else { format!("\n  and {} more", rest.len()) };
    match &names[..] {
        [] => bail!(
            "{shown}: found results without a record, expected one\nhint: quiclab ls {shown} says what became of the runs"
        ),
        [only] => Ok(path.join(only)),
        _ => bail!(
            "{shown}: found {} records, expected one:\n  {}{more}\nhint: name one as {}; quiclab ls {shown} says what each of them is",
            names.len(),
            listed.join("\n  "),
            path.join(&names[0]).shown()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::folder::INDEX_FILE;

    fn message(path: &Path) -> String {
        one_record(path).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_with_one_record_stands_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("first");
        fs::create_dir(&results).unwrap();
        assert!(message(&results).contains(CAPTURE_FILE), "no results at all");
        fs::write(results.join(INDEX_FILE), "{}").unwrap();
        assert!(message(&results).contains("without a record"));
        assert!(message(folder.path()).contains("quiclab ls"), "results are below it");

        let record = |name: &str| {
            fs::create_dir(results.join(name)).unwrap();
            fs::write(results.join(name).join(RUN_FILE), "").unwrap();
            results.join(name)
        };
        let only = record("quinn-01-0123456789abcdef");
        assert_eq!((one_record(&results).unwrap(), one_record(&only).unwrap()), (only.clone(), only.clone()));
        for number in 2..=11 {
            record(&format!("quinn-{number:02}-0123456789abcd{number:02}"));
        }
        let several = message(&results);
        assert!(several.contains("found 11 records") && several.contains("and 3 more"), "{several}");
        assert!(several.contains(&only.shown().to_string()), "{several}");
        let capture = only.join(CAPTURE_FILE);
        assert_eq!(one_record(&capture).unwrap(), capture, "a file is taken as it is");
    }
}
