//! What `quiclab doctor` found, on one screen: what is missing first, with what to do, and the rest in few lines.

use quiclab_report::paragraph;

use super::Check;

/// Columns where standard output is no terminal.
const USUAL_WIDTH: u16 = 80;
/// Columns of a state.
const STATE: usize = 10;
/// What the names of checks begin with that are listed behind each other.
const TO_BUILD: &str = "to build ";

/// The findings as text of at most `width` columns where the words allow it.
pub fn screen(checks: &[Check], width: Option<u16>) -> String {
    let columns = width.unwrap_or(USUAL_WIDTH);
    let paragraph = |state: &str, text: &str| paragraph(&format!("{state:<STATE$}{text}"), columns, STATE) + "\n";
    let mut text = String::new();
    for check in checks.iter().filter(|check| !check.good).chain(checks.iter().filter(|check| check.good)) {
        let Some(remedy) = &check.remedy else { continue };
        let state = match check.good {
            true => "optional",
            false if check.is_damage => "DAMAGED",
            false => "MISSING",
        };
        text.push_str(&paragraph(state, &format!("{}: {}", check.name, check.found)));
        // By itself, so that it can be copied.
        text.push_str(&paragraph("", &format!("fix: {remedy}")));
    }
    let fine: Vec<_> = checks.iter().filter(|check| check.remedy.is_none()).collect();
    // A path, or that something is installed, says no more than the name.
    let (names_alone, with_details): (Vec<_>, Vec<_>) =
        fine.into_iter().partition(|check| check.found.starts_with('/') || check.found == "installed");
    for check in with_details {
        text.push_str(&paragraph("ok", &format!("{}: {}", check.name, check.found)));
    }
    let (builds, programs): (Vec<&str>, Vec<&str>) =
        names_alone.iter().map(|check| check.name.as_str()).partition(|name| name.starts_with(TO_BUILD));
    if !programs.is_empty() {
        text.push_str(&paragraph("ok", &programs.join(", ")));
    }
    if !builds.is_empty() {
        let names: Vec<_> = builds.iter().map(|name| name.trim_start_matches(TO_BUILD)).collect();
        text.push_str(&paragraph("ok", &format!("{TO_BUILD}{}", names.join(", "))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{absent, bad, good};
    use super::*;

    #[test]
    fn what_is_missing_comes_first_and_what_is_there_takes_few_lines() {
        let mut checks =
            vec![good("QEMU", "QEMU emulator version 7.2.22".to_owned()), good("xz", "/usr/bin/xz".to_owned())];
        checks.extend((0..30).map(|number| good(&format!("to build stack-{number}"), "installed".to_owned())));
        checks.push(absent("to build kwik", "no mvn".to_owned(), "README.md".to_owned(), "building kwik".to_owned()));
        checks.push(bad("mkfs.erofs", "not found".to_owned(), "apt-get install erofs-utils".to_owned()));
        let text = screen(&checks, None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "MISSING   mkfs.erofs: not found");
        assert_eq!(lines[1], "          fix: apt-get install erofs-utils");
        assert_eq!(lines[2], "optional  to build kwik: no mvn");
        assert_eq!(lines[4], "ok        QEMU: QEMU emulator version 7.2.22");
        assert_eq!(lines[5], "ok        xz");
        assert!(lines[6].starts_with("ok        to build stack-0, stack-1,"), "{text}");
        assert!(lines.len() < 15 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }
}
