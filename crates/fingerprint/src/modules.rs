//! The files of a crate: its root and the modules that it declares, without those for tests.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{
    FingerprintError, read,
    tokens::{is_punct, is_word, significant},
};

/// A file of a crate.
pub struct Module {
    /// Path of the module in the crate, such as `tcp::sender`; empty for the root.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

/// The files of the crate whose root is `root`, in the order of their declaration.
///
/// # Errors
/// Where one is missing or is no Rust.
pub fn of(root: &Path) -> Result<Vec<Module>, FingerprintError> {
    let mut found = Vec::new();
    let folder = root.parent().unwrap_or(Path::new(""));
    add(root.to_owned(), folder, String::new(), &mut found)?;
    Ok(found)
}

/// Adds the module in the file `path`, whose own modules are in `folder`.
fn add(path: PathBuf, folder: &Path, name: String, found: &mut Vec<Module>) -> Result<(), FingerprintError> {
    let text = read(&path)?;
    let error = |what: String| FingerprintError::Content { path: path.clone(), what };
    let stream: TokenStream = text.parse().map_err(|cause| error(format!("is no Rust: {cause}")))?;
    let declared = declared(stream).map_err(error)?;
    found.push(Module { name: name.clone(), path, text });
    for module in declared {
        let inside = folder.join(&module);
        let [file, in_folder] = [inside.with_extension("rs"), inside.join("mod.rs")];
        let path = if file.is_file() { file } else { in_folder };
        let name = if name.is_empty() { module } else { format!("{name}::{module}") };
        add(path, &inside, name, found)?;
    }
    Ok(())
}

/// Names in declarations such as `mod name;`.
fn declared(stream: TokenStream) -> Result<Vec<String>, String> {
    let trees = significant(stream);
    let mut names = Vec::new();
    for (position, tree) in trees.iter().enumerate() {
        match (tree, trees.get(position + 1), trees.get(position + 2)) {
            (_, Some(TokenTree::Ident(name)), Some(end)) if is_word(Some(tree), "mod") && is_punct(end, ';') => {
                names.push(name.to_string());
            }
            (_, Some(TokenTree::Ident(name)), Some(TokenTree::Group(body)))
                if is_word(Some(tree), "mod") && body.delimiter() == Delimiter::Brace =>
            {
                // Its files would be in another folder than those of this one; there are none.
                let inside = declared(body.stream())?;
                if let Some(file) = inside.first() {
                    return Err(format!(
                        "found the file {file} declared inside the inline module {name}, expected none"
                    ));
                }
            }
            (TokenTree::Group(attribute), ..) if is_word(attribute.stream().into_iter().next().as_ref(), "path") => {
                return Err("found an attribute #[path], expected modules where Rust looks for them".to_owned());
            }
            _ => {}
        }
    }
    Ok(names)
}
