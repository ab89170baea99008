//! Settings of surveys.

use std::{net::SocketAddr, path::PathBuf};

use quiclab_units::Duration;

use crate::{HttpSettings, ScanSettings, targets::Frequency};

/// Fields that name a place.
const PLACES: [&str; 3] = ["cf-ray", "x-amz-cf-pop", "x-served-by"];

/// Everything that holds for a survey.
#[derive(Clone, Debug)]
pub struct SurveySettings {
    /// The handshakes.
    pub scanner: ScanSettings,
    /// Who is asked.
    pub targets: TargetSettings,
    /// Handshakes that begin.
    pub rate: Frequency,
    /// Rows and the journal are here.
    pub folder: PathBuf,
    /// Format of the rows.
    pub format: RowFormat,
    /// Packets and keys of every N-th handshake are kept.
    pub capture_every: Option<u64>,
    /// Who runs the servers.
    pub origins: OriginSettings,
}

/// Who is asked of a list.
#[derive(Clone, Debug)]
pub struct TargetSettings {
    /// Files of prefixes and names that are never asked.
    pub exclude: Vec<PathBuf>,
    /// The resolver of names. `None`: the first one of `/etc/resolv.conf`.
    pub resolver: Option<SocketAddr>,
    /// Whether HTTPS records are asked for, whose ports are used (RFC 9460).
    pub https_records: bool,
    /// Addresses of a name that are asked.
    pub addresses: AddressChoice,
}

/// Which addresses of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressChoice {
    /// The first one of IPv4, or else of IPv6.
    First,
    /// All addresses.
    All,
    /// The first one of IPv4.
    V4,
    /// The first one of IPv6.
    V6,
}

/// A list of targets that are asked equally often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetGroup {
    /// What its rows call it.
    pub name: String,
    /// The time between two handshakes of a target.
    pub every: Duration,
    /// The list.
    pub list: PathBuf,
}

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Parquet.
    Parquet,
    /// CSV with a header.
    Csv,
    /// JSON, an object in each line.
    Jsonl,
}

impl RowFormat {
    /// The end of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            RowFormat::Parquet => "parquet",
            RowFormat::Csv => "csv",
            RowFormat::Jsonl => "jsonl",
        }
    }
}

/// Tables that say who runs a server.
#[derive(Clone, Debug, Default)]
pub struct OriginSettings {
    /// Prefixes and their origin AS: tables of CAIDA (prefix2as), or routing tables in MRT.
    pub prefixes: Vec<PathBuf>,
    /// Which CDN an AS is. `None`: those of the study.
    pub cdns: Option<PathBuf>,
}

/// The request of a survey: who asks, and fields of the response that name a place, besides `headers`.
pub fn http_settings(contact: &str, headers: &[String]) -> HttpSettings {
    let version = env!("CARGO_PKG_VERSION");
    let places = PLACES.iter().map(|name| (*name).to_owned());
    let asked = headers.iter().map(|name| name.to_ascii_lowercase());
    HttpSettings {
        user_agent: format!("quiclab-scan/{version} (+{contact})"),
        from: contact.contains('@').then(|| contact.trim_start_matches("mailto:").to_owned()),
        headers: places.chain(asked).collect(),
    }
}
