//! Figures as files: what is written with and without the program that converts them.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{
    Bench, has_no_converter,
    models::{SMALL, read, run},
    output_of, quiclab,
};

/// Results of a small scenario.
fn results() -> Bench {
    let files = Bench::new(SMALL);
    let result = run(&files, "out", &["--reps", "1"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    files
}

/// All files of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), read(&entry.path()))).collect()
}

#[test]
fn without_the_converter_all_svg_files_are_written_and_the_error_names_its_package() {
    let files = results();
    fs::create_dir(files.out("bin")).unwrap();
    let mut command = quiclab();
    command
        .env("PATH", files.out("bin"))
        .arg("report")
        .arg(files.out("out"))
        .arg("--figures")
        .arg(files.out("figures"));
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(125), "{}", result.errors);
    let expected = "rsvg-convert: not found; PDF and PNG files of figures need it\nhint: apt-get install librsvg2-bin";
    assert!(result.errors.contains(expected), "{}", result.errors);
    // The table was printed all the same.
    assert!(result.output.contains("the link is used"), "{}", result.output);
    let written = contents(&files.out("figures"));
    assert!(!written.is_empty() && written.keys().all(|name| name.ends_with(".svg")), "{:?}", written.keys());
    let page = String::from_utf8(read(&files.out("out/report.html"))).unwrap();
    assert_eq!(written.len(), page.matches("<svg class=\"plot\"").count(), "each figure of the page is a file");
}

#[test]
fn two_processes_write_the_same_bytes_into_folders_of_any_name() {
    if has_no_converter() {
        return;
    }
    let files = results();
    for folder in ["-figures", "two words"] {
        let mut command = quiclab();
        command.current_dir(files.folder.path()).args(["report", "out", &format!("--figures={folder}")]);
        let result = output_of(&mut command);
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let [one, other] = ["-figures", "two words"].map(|folder| contents(&files.folder.path().join(folder)));
    assert!(one.len() >= 3 && one.len() % 3 == 0, "{:?}", one.keys());
    assert!(one == other, "{:?} {:?}", one.keys(), other.keys());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let files = results();
    fs::write(files.out("taken"), "a file").unwrap();
    let into = files.out("taken/figures");
    let result = output_of(quiclab().arg("report").arg(files.out("out")).arg("--figures").arg(&into));
    assert!(result.status == Some(125) && result.errors.contains("taken/figures"), "{}", result.errors);
}
