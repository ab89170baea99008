//! Folders and files that an endpoint finds or leaves, as it sees them.

/// The files that the server serves.
pub const WWW: &str = "/www";
/// Where the client stores the files it fetched.
pub const DOWNLOADS: &str = "/downloads";
/// Certificates and keys.
pub const CERTIFICATES: &str = "/certs";
/// The endpoint's logs. Each endpoint has its own folder, which is kept.
pub const LOGS: &str = "/logs";
/// What the stack's build made.
pub const STACK: &str = "/stack";
/// Folder for qlog, below [`LOGS`].
pub const QLOG: &str = "qlog";
/// Files with what an endpoint prints, below [`LOGS`].
pub const OUTPUTS: [&str; 2] = ["stdout", "stderr"];
