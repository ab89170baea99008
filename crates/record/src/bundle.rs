//! Archives of files with their hashes.
//!
//! A bundle is a zip archive, so that everybody can open it. All its files are below one folder, and the last of them, `SHA256SUMS`, has
//! the SHA-256 of each of the others as `sha256sum --check` reads it. The same files give the same bytes: the order is that of the caller,
//! times are those of 1980, and modes are one of two.
//!
//! [`Writer`] makes one, and holds no file in memory. [`Bundle`] reads one that comes from strangers: see its documentation for what it
//! refuses. What the files mean is the caller's business.

mod error;
mod name;
mod read;
mod write;

pub use error::BundleError;
pub use name::check_name;
pub use read::{Bundle, Limits};
pub use write::{Mode, Writer};

/// The file with the hashes, in the bundle's folder.
pub const SUMS: &str = "SHA256SUMS";
