//! Arguments of `quiclab look`.

use std::path::PathBuf;

use clap::Args;
use quiclab_units::Duration;

use super::shared::Output;
use crate::settings::LookSettings;

/// Arguments of `quiclab look`.
#[derive(Debug, Args)]
#[command(after_help = LOOK_HELP)]
pub struct LookArguments {
    /// A record's folder, a folder of results with one record, or a capture: pcap or pcapng, plain, gzip or zstd; a second one is
    /// shown on the same time axis
    #[arg(value_name = "RECORD|CAPTURE", required = true, num_args = 1..=2)]
    pub paths: Vec<PathBuf>,
    /// A key log (SSLKEYLOGFILE), in addition to secrets in the captures; can be repeated
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// The server's qlog, for congestion window, pacing rate and planned send times; of the first path [default: those of a record]
    #[arg(long, value_name = "FILE")]
    pub qlog: Vec<PathBuf>,
    /// Name or number of the tap (an interface of the capture) [default: the sender's, or that of the first packet]
    #[arg(long, value_name = "TAP")]
    pub tap: Option<String>,
    /// UDP or TCP port of the server; other flows are ignored [default: the server's port of a record; all flows of a capture]
    #[arg(long, value_name = "PORT")]
    pub server_port: Option<u16>,
    /// Only packets from this time on, such as "12.5 s", since the first packet at the tap
    #[arg(long, value_name = "TIME")]
    pub from: Option<Duration>,
    /// Only packets up to this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<Duration>,
    /// Where the page is written [default: NAME-look.html, of a record with the pages of its results, of a capture in the current folder]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl LookArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> LookSettings {
        LookSettings {
            paths: self.paths,
            keys: self.keys,
            qlog: self.qlog,
            tap: self.tap,
            server_port: self.server_port,
            from: self.from,
            to: self.to,
            html: self.html,
            json: self.output.json,
        }
    }
}

const LOOK_HELP: &str = "\
Examples:
  quiclab look results/examples/first/quiche-01-0123
  quiclab look capture.pcapng --keys keys.log --qlog server.sqlog --html page.html
  quiclab look before/quiche-01-0123 after/quiche-01-0123
  quiclab look long.pcapng --from 60s --to 75s

Writes one page that needs no network and prints the verdicts. Open PAGE#packet=1234 or PAGE#time=1.5 to go to a packet or a time in \
seconds. The page: docs/reference/look.md; the verdicts: docs/reference/verdicts.md. Exit status: 0 success; 1 the capture is truncated; \
125 a file could not be read or written.";
