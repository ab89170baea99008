//! What the server's logs say of its congestion control.

use std::path::PathBuf;

/// What a line on stderr says before the name of the congestion control in use, in lower case.
const LABEL: &str = "congestion control";

/// The first file that names this congestion control, in a whole word.
pub fn named_in<'a>(name: &str, files: &'a [(PathBuf, String)]) -> Option<&'a PathBuf> {
    let name = name.to_lowercase();
    files.iter().find(|(_, text)| words(text).any(|word| word == name)).map(|(path, _)| path)
}

/// Fails where a line on stderr says that another of the `claimed` congestion controls is used, and no line that this one is.
pub fn not_contradicted(name: &str, claimed: &[&str], stderr: &str) -> Result<(), String> {
    let values: Vec<_> = stderr.lines().filter_map(|line| Some((line, value(line)?))).collect();
    let says = |value: &str, name: &str| words(value).any(|word| word == name.to_lowercase());
    if values.iter().any(|(_, value)| says(value, name)) {
        return Ok(());
    }
    match values.iter().find(|(_, value)| claimed.iter().any(|other| says(value, other))) {
        Some((line, _)) => Err(format!("the server says {:?}; expected {name}", line.trim())),
        None => Ok(()),
    }
}

/// What stands behind the label: `Bbr` of "congestion control handed to tquic: Bbr".
fn value(line: &str) -> Option<&str> {
    let label = line.to_ascii_lowercase().find(LABEL)?;
    line[label + LABEL.len()..].split_once(':').map(|(_, value)| value)
}

/// The words of a text in lower case. A capital begins a word behind a small letter or a digit, and as the last of several capitals:
/// names of types are words too, such as `RenoCongestionControl` (aioquic), `Bbr2Gcongestion` (quiche) and `cubic::CubicCongestionController`.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).flat_map(|run| {
        let mut words = vec![String::new()];
        let letters: Vec<_> = run.chars().collect();
        for (position, letter) in letters.iter().enumerate() {
            let is_first = letter.is_uppercase()
                && position > 0
                && (!letters[position - 1].is_uppercase()
                    || letters.get(position + 1).is_some_and(|next| next.is_lowercase()));
            if is_first {
                words.push(String::new());
            }
            let word = words.last_mut().expect("there is one from the beginning");
            word.extend(letter.to_lowercase());
        }
        words
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_named(name: &str, text: &str) -> bool {
        named_in(name, &[(PathBuf::from("stderr"), text.to_owned())]).is_some()
    }

    #[test]
    fn a_name_is_a_whole_word() {
        for name in ["bbr", "bbr3"] {
            assert!(!is_named(name, "congestion control: bbr3x\n"), "{name}");
        }
        assert!(is_named("bbr3", "congestion control: bbr3\n"));
        assert!(!is_named("bbr", "congestion control: bbr3\n"));
        assert!(!is_named("cubic", "congestion control: dcubic\n"));
    }

    #[test]
    fn another_claimed_name_alone_contradicts() {
        let claimed = ["bbr", "bbr3", "cubic"];
        let says = |name: &str, stderr: &str| not_contradicted(name, &claimed, stderr);
        let found = says("bbr", "listening\ncongestion control: bbr3\n").unwrap_err();
        assert_eq!(found, "the server says \"congestion control: bbr3\"; expected bbr");
        assert!(says("bbr3", "congestion control handed to tquic: Bbr\n").is_err());
        // Both are named, no claimed one is, and a line that is about something else.
        assert_eq!(says("cubic", "congestion control: bbr\ncongestion control: cubic\n"), Ok(()));
        assert_eq!(says("bbr", "congestion control: bbr3x\n"), Ok(()));
        assert_eq!(says("bbr", "supported: bbr3, cubic\n"), Ok(()));
        assert_eq!(says("bbr", "no congestion control of cubic\n"), Ok(()));
    }

    /// What the shipped stacks print, with what they claim.
    #[test]
    fn no_shipped_stack_contradicts_itself() {
        let fits = |claimed: &[&str], name: &str, value: &str| {
            let stderr = format!("congestion control: {value}\n");
            assert_eq!(not_contradicted(name, claimed, &stderr), Ok(()));
            assert!(is_named(name, &stderr), "{name}: {value}");
        };
        let (aioquic, quiche, tquic) = (["reno", "cubic"], ["cubic", "reno", "bbr2"], ["bbr", "bbr3", "cubic", "copa"]);
        fits(&aioquic, "reno", "RenoCongestionControl");
        fits(&aioquic, "cubic", "CubicCongestionControl");
        fits(&["reno"], "reno", "NewRenoCongestionController");
        for (name, value) in [("cubic", "CUBIC"), ("reno", "Reno"), ("bbr2", "BBR2"), ("bbr2", "Bbr2Gcongestion")] {
            fits(&quiche, name, value);
        }
        for (name, value) in [("bbr", "Bbr"), ("bbr3", "Bbr3"), ("cubic", "Cubic"), ("copa", "Copa")] {
            fits(&tquic, name, value);
        }
        for name in ["bbr3", "bbr", "cubic", "dcubic"] {
            fits(&["bbr3", "bbr", "cubic", "dcubic"], name, name);
        }
        fits(&["cubic", "bbr2"], "cubic", "s2n_quic_core::recovery::cubic::CubicCongestionController");
        // s2n-quic's type of BBR version 2 has no version in its name.
        let stderr = "congestion control: s2n_quic_core::recovery::bbr::BbrCongestionController\n";
        assert_eq!(not_contradicted("bbr2", &["cubic", "bbr2"], stderr), Ok(()));
    }
}
