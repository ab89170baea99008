//! Names of files in a bundle.

use crate::bundle::error::BundleError;

/// Bytes of a name; longer ones cannot be written on every file system.
const LONGEST: usize = 1024;
/// Bytes of a part of it, as on most file systems.
const LONGEST_PART: usize = 255;
/// Folders below each other.
const DEEPEST: usize = 32;

/// Checks that a name stays below the folder that a bundle is unpacked into, on every system: parts with `/` between them, none of which is
/// empty, `.` or `..`, without control characters, backslashes and colons.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), BundleError> {
    let refuse = |found: &str, expected: &str| {
        let shown: String = name.escape_debug().take(LONGEST_PART).collect();
        Err(BundleError::refused(&shown, found, expected))
    };
    if name.len() > LONGEST {
        return refuse(&format!("a name of {} bytes", name.len()), &format!("at most {LONGEST}"));
    }
    if name.contains(|character: char| character.is_control() || matches!(character, '\\' | ':')) {
        return refuse("a control character, a backslash or a colon in its name", "none of these");
    }
    let parts: Vec<_> = name.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return refuse("a path that can lead out of its folder", "names with / between them");
    }
    if parts.len() > DEEPEST || parts.iter().any(|part| part.len() > LONGEST_PART) {
        return refuse(
            "a path that is too deep or has too long a part",
            &format!("at most {DEEPEST} parts of {LONGEST_PART} bytes"),
        );
    }
    Ok(())
}
