//! Names of the folders of records: for people, who look for one, and with the identity at the end, for programs.

use crate::{
    differences::{Difference, differences},
    settings::Settings,
};

/// Characters of a stack's name, and of what tells a run from the others. With the rest of the name they stay well below the 255
/// bytes that file systems take.
const LONGEST: usize = 80;
/// Hexadecimal digits of an identity.
const ID_DIGITS: usize = 16;
/// The value says by itself which setting it is of.
const SAYS_ITSELF: &str = "stack.congestion_control";

/// The identity in the name of a record's folder, whatever else is in the name; `None` where it has none.
pub fn id_of_folder(name: &str) -> Option<&str> {
    let (_, id) = name.rsplit_once('-')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (id.len() == ID_DIGITS && id.bytes().all(is_digit)).then_some(id)
}

/// A stack's name as part of a folder's.
pub(crate) fn of_stack(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-=@+,".contains(letter);
    let plain: String = name.chars().take(LONGEST).map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    // A folder whose name begins with a dot is not a record.
    if plain.starts_with('.') { plain.replacen('.', "_", 1) } else { plain }
}

/// What tells each of several settings apart, as part of a folder's name: `cubic-gso_on`. Settings that do not fit are not named.
pub(crate) fn labels(all: &[Settings]) -> Vec<String> {
    let all: Vec<_> = all.iter().collect();
    differences(&all).iter().map(|differences| label(differences)).collect()
}

fn label(differences: &[Difference]) -> String {
    let parts = differences.iter().map(|(key, value)| match plain(value) {
        value if *key == SAYS_ITSELF => value,
        value => format!("{}_{value}", key.rsplit('.').next().unwrap_or(key)),
    });
    of_parts(parts)
}

/// What tells the settings of models apart, `pacing=off, buffer_bdp=0.25`, as part of a folder's name. What does not fit is left out.
pub(crate) fn of_models(label: &str) -> String {
    of_parts(label.split(", ").map(plain).filter(|part| !part.is_empty()))
}

/// The parts that fit, with hyphens between them.
fn of_parts(parts: impl Iterator<Item = String>) -> String {
    let mut name = String::new();
    for part in parts {
        if name.len() + 1 + part.len() > LONGEST {
            continue;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&part);
    }
    name
}

/// The name of a run's folder.
pub(crate) fn of_run(first: &str, label: &str, repetition: u32, id: &str) -> String {
    let label = if label.is_empty() { String::new() } else { format!("-{label}") };
    format!("{first}{label}-{repetition:02}-{id}")
}

/// A value without what file systems and shells take for something else: `20Mbit_s` for `20 Mbit/s`.
fn plain(value: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
    let value = value.replace(' ', "");
    let words = value.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_settings_and_values() {
        let of = |differences: &[(&'static str, &str)]| {
            label(&differences.iter().map(|(key, value)| (*key, (*value).to_owned())).collect::<Vec<_>>())
        };
        assert_eq!(of(&[("stack.congestion_control", "cubic"), ("stack.gso", "on")]), "cubic-gso_on");
        assert_eq!(
            of(&[("path.rate", "20 Mbit/s"), ("path.drops_to_server", "[1, 2]")]),
            "rate_20Mbit_s-drops_to_server_1_2"
        );
        assert_eq!(of(&[]), "");
        let long = of(&[("stack.client", "x".repeat(200).as_str()), ("path.ip", "6")]);
        assert_eq!(long, "ip_6");
    }

    #[test]
    fn a_stacks_name_stays_in_its_folder() {
        assert_eq!(of_stack("quiche-0.24 profile=dev"), "quiche-0.24_profile=dev");
        assert_eq!(of_stack("../../x y"), "_._.._x_y");
        assert_eq!(of_stack(&"a".repeat(300)).len(), LONGEST);
    }

    #[test]
    fn an_identity_is_found_at_the_end() {
        assert_eq!(id_of_folder("quiche-01-0123456789abcdef"), Some("0123456789abcdef"));
        assert_eq!(id_of_folder("quiche-cubic-gso_on-01-0123456789abcdef"), Some("0123456789abcdef"));
        for name in
            ["failed", "quiche-01", "quiche-01-0123456789abcde", "quiche-01-0123456789ABCDEF", "0123456789abcdef"]
        {
            assert_eq!(id_of_folder(name), None, "{name}");
        }
    }
}
