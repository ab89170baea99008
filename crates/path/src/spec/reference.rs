//! The reference of all stages, as Markdown.

use super::{SettingDeclaration, StageDeclaration, declarations};

/// A heading, a sentence and a table of settings for each kind of stage.
pub fn stages_reference() -> String {
    declarations().iter().map(of_stage).collect::<Vec<_>>().join("\n")
}

fn of_stage(kind: &StageDeclaration) -> String {
    let variant = kind.variant.map(|(key, word)| format!(", `{key} = {word:?}`")).unwrap_or_default();
    let rows: String = kind.settings.iter().map(row).collect();
    let text = wrapped(kind.text);
    format!(
        "### `stage = {:?}`{variant}\n\n{text}\n\n| setting | takes | what | default |\n|---|---|---|---|\n{rows}",
        kind.stage
    )
}

fn row(setting: &SettingDeclaration) -> String {
    let SettingDeclaration { key, takes, text, default, is_optional } = setting;
    let default = match default {
        Some(default) => format!("`{default}`"),
        None if *is_optional => "none".to_owned(),
        None => "required".to_owned(),
    };
    format!("| `{key}` | {takes} | {text} | {default} |\n")
}

/// Lines of 100 columns at most.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_ascii_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
