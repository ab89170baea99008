//! The list of implementations of the QUIC Interop Runner: `implementations.json`.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};
use quiclab_experiment::stack::Role;
use quiclab_testbed::laboratory::Laboratory;
use serde::Deserialize;

use crate::{session::bounded_input, settings::RoleChoice};

/// An implementation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Implementation {
    /// Name of its image.
    pub image: String,
    /// Its roles.
    pub role: RoleChoice,
}

/// The implementations in `file`, by name.
///
/// # Errors
/// Where it cannot be read, or is not such a list.
pub fn read(file: &Path) -> Result<BTreeMap<String, Implementation>> {
    let text = bounded_input::read_text(file, quiclab_inputs::MOST_TEXT_BYTES, "JSON")?;
    serde_json::from_str(&text).with_context(|| {
        format!("{}: expected {{\"NAME\": {{\"image\": ..., \"url\": ..., \"role\": \"both\"}}}}", file.display())
    })
}

/// The name under which an implementation was imported: its own, or that of [`name_to_import`].
pub fn imported_name(laboratory: &Laboratory, name: &str) -> Option<String> {
    [name.to_owned(), includes(name)].into_iter().find(|name| laboratory.stack_store.is_imported(name))
}

/// The name under which an implementation is imported: its own, unless a stack of the laboratory has it.
pub fn name_to_import(laboratory: &Laboratory, name: &str) -> String {
    if laboratory.stack_store.sources.contains_key(name) { includes(name) } else { name.to_owned() }
}

fn includes(name: &str) -> String {
    format!("{name}-image")
}

/// The imported stacks of the implementations in `file` that have `role`, and the names of those that are not imported.
///
/// # Errors
/// As [`read`].
pub fn with_role(file: &Path, role: Role, laboratory: &Laboratory) -> Result<(Vec<String>, Vec<String>)> {
    let (mut imported, mut missing) = (Vec::new(), Vec::new());
    for (name, implementation) in read(file)? {
        match imported_name(laboratory, &name) {
            None => missing.push(name),
            Some(stack)
                if implementation.role.roles().contains(&role)
                    && laboratory.stack_store.sources[&stack].manifest.has(role) =>
            {
                imported.push(stack);
            }
            Some(_) => {}
        }
    }
    Ok((imported, missing))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_list_is_read_with_whatever_else_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("implementations.json");
        fs::write(
            &file,
            r#"{"a": {"image": "x/a:1", "url": "u", "role": "both"}, "b": {"image": "b", "role": "client"}}"#,
        )
        .unwrap();
        let all = read(&file).unwrap();
        assert_eq!(all["a"], Implementation { image: "x/a:1".to_owned(), role: RoleChoice::Both });
        assert_eq!(all["b"].role.roles(), [Role::Client]);
        fs::write(&file, r#"{"a": {"image": "x/a:1", "role": "neither"}}"#).unwrap();
        let error = format!("{:#}", read(&file).unwrap_err());
        assert!(error.contains("implementations.json") && error.contains("neither"), "{error}");
    }
}
