//! Settings of `quiclab scan`.

use std::path::PathBuf;

use quiclab_scan::{
    survey::{OriginSettings, SurveySettings, TargetGroup, TargetSettings},
    targets::Frequency,
};
use quiclab_units::Duration;

/// The source of handshakes, and the form of their summary.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The source of the handshakes.
    pub action: ScanAction,
    /// JSON is printed instead of tables.
    pub json: bool,
}

/// A source of handshakes.
#[derive(Clone, Debug)]
pub enum ScanAction {
    /// Rows of earlier scans are shown.
    Report {
        /// Files or folders, each with its place before `=` where it has one.
        rows: Vec<PathBuf>,
        /// File of a page with tables and figures.
        html: Option<PathBuf>,
    },
    /// Nobody is asked: it is computed how many packets would go to whom.
    Plan {
        /// Lists of targets.
        lists: Vec<PathBuf>,
        /// The addresses of these targets that are asked.
        targets: TargetSettings,
        /// Bytes of UDP payload in datagrams with Initial packets.
        hello_bytes: u16,
        /// Handshakes that begin in a time.
        rate: Frequency,
    },
    /// Each target is asked once.
    Once {
        /// Settings of the survey.
        survey: Box<SurveySettings>,
        /// The list of targets; `-` is standard input.
        list: PathBuf,
    },
    /// Targets are asked again and again.
    Repeatedly {
        /// Settings of the survey.
        survey: Box<SurveySettings>,
        /// Lists, each with the time between two handshakes of a target.
        groups: Vec<TargetGroup>,
        /// Length of the survey.
        duration: Duration,
    },
    /// Captures of others are read.
    Captures {
        /// The captures, and how they are read.
        captures: CaptureSettings,
        /// Tables that say who runs the servers.
        origins: OriginSettings,
    },
}

/// Captures with handshakes.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// Files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Key logs.
    pub keys: Vec<PathBuf>,
    /// UDP port of the servers; `None`: any.
    pub server_port: Option<u16>,
    /// All interfaces of a capture are one tap.
    pub merge_interfaces: bool,
    /// File of a row for each handshake.
    pub rows: Option<PathBuf>,
}
