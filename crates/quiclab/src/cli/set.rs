//! `--set KEY=VALUE`

use clap::Args;

use super::setting_values;

/// Settings given on the command line.
#[derive(Clone, Debug, Default, Args)]
pub struct SetOptions {
    /// Replace a setting of the file, such as path.rate="20 Mbit/s" or stack.name=quiche; a list becomes an axis of the matrix:
    /// path.rate="10 Mbit/s,20 Mbit/s"; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting, add = setting_values::settings())]
    pub settings: Vec<(String, String)>,
}

pub(super) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("found {text:?}, expected KEY=VALUE such as path.rate=\"20 Mbit/s\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_needs_a_key_and_an_equals_sign() {
        assert_eq!(parse_setting("stack.name=a profile=dev"), Ok(("stack.name".into(), "a profile=dev".into())));
        assert!(parse_setting("path.rate").is_err());
        assert!(parse_setting("=1").is_err());
    }
}
