//! Names of log files in the results. Endpoints choose names of any bytes; in the results they are text that any file system takes, and two
//! of them never become one.
//!
//! Bytes that are not UTF-8, control characters and `%` become `%XX`. Of a part of a path that is too long then, the beginning is kept, and
//! behind it `%~` and a number.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Component, Path},
};

/// Bytes of a file's name that any file system takes.
const LONGEST_PART: usize = 255;
/// What is kept of a longer one.
const KEPT_OF_PART: usize = 200;

/// The names of one role's log files.
#[derive(Debug, Default)]
pub struct LogNames {
    /// Numbers of parts that were too long. A folder's is the same for all of its files.
    shortened: BTreeMap<OsString, usize>,
}

impl LogNames {
    /// The name in the results of a file at `path`, relative to the folder of logs.
    pub fn name(&mut self, path: &Path) -> String {
        let mut name = String::new();
        for component in path.components() {
            let Component::Normal(part) = component else { continue };
            if !name.is_empty() {
                name.push('/');
            }
            let escaped = escaped(part.as_bytes());
            if escaped.len() <= LONGEST_PART {
                name.push_str(&escaped);
                continue;
            }
            let next = self.shortened.len() + 1;
            let number = *self.shortened.entry(part.to_owned()).or_insert(next);
            let end = (0..=KEPT_OF_PART).rev().find(|end| escaped.is_char_boundary(*end)).unwrap_or(0);
            name.push_str(&escaped[..end]);
            name.push_str(&format!("%~{number}"));
        }
        name
    }
}

/// Text without control characters that stands for `bytes` and for no others.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let escape = |text: &mut String, bytes: &[u8]| bytes.iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '%' {
                escape(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(character);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::OsStr};

    use super::*;

    fn names(paths: &[&[u8]]) -> Vec<String> {
        let mut names = LogNames::default();
        paths.iter().map(|path| names.name(Path::new(OsStr::from_bytes(path)))).collect()
    }

    #[test]
    fn usual_names_stay_as_they_are() {
        assert_eq!(
            names(&[b"stderr", b"qlog/0a1b.sqlog", "über uns.txt".as_bytes()]),
            ["stderr", "qlog/0a1b.sqlog", "über uns.txt"]
        );
    }

    #[test]
    fn bytes_that_are_no_text_control_characters_and_percent_signs_are_escaped() {
        let found = names(&[b"\xff", b"\xfe", b"a\x1b[2Jb", b"100%", b"%FF", "c\u{9b}1m".as_bytes(), b"d/\n/\xc3"]);
        assert_eq!(found, ["%FF", "%FE", "a%1B[2Jb", "100%25", "%25FF", "c%C2%9B1m", "d/%0A/%C3"]);
    }

    #[test]
    fn long_names_are_shortened_and_stay_different() {
        let one = [0xff; 255];
        let two = [&[0xff; 254][..], b"a"].concat();
        let in_folder = [&one[..], b"/x"].concat();
        let also_in_folder = [&one[..], b"/y"].concat();
        let found = names(&[&one, &two, &in_folder, &also_in_folder]);
        assert_eq!(found[0], found[2].trim_end_matches("/x"));
        assert_eq!(found[2].trim_end_matches("x"), found[3].trim_end_matches("y"));
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 4);
        assert!(found.iter().flat_map(|name| name.split('/')).all(|part| part.len() <= LONGEST_PART), "{found:?}");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let long = "ü".repeat(127) + "%";
        assert!(names(&[long.as_bytes()])[0].ends_with("ü%~1"));
    }

    #[test]
    fn no_two_names_of_few_bytes_become_one() {
        let all: Vec<Vec<u8>> = (0..=255_u8)
            .filter(|byte| *byte != b'/')
            .flat_map(|one| [vec![one, b'x'], [b"%", format!("{one:02X}x").as_bytes()].concat()])
            .collect();
        let different: BTreeSet<&Vec<u8>> = all.iter().collect();
        let escaped: BTreeSet<String> = different.iter().map(|bytes| escaped(bytes)).collect();
        assert_eq!(escaped.len(), different.len());
    }
}
