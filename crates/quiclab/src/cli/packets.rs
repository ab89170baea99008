//! Arguments of `quiclab packets`.

use std::path::PathBuf;

use clap::Args;
use quiclab_units::Duration;

use super::shared::{Output, parse_positive};
use crate::settings::PacketsSettings;

/// Arguments of `quiclab packets`.
#[derive(Debug, Args)]
#[command(after_help = PACKETS_HELP)]
pub struct PacketsArguments {
    /// A record's folder, or a capture: pcap or pcapng, plain, gzip or zstd
    #[arg(value_name = "RECORD|CAPTURE")]
    pub path: PathBuf,
    /// Only packets around this time, such as "1.234 s", since the first packet at the tap [default: all packets]
    #[arg(long, value_name = "TIME")]
    pub around: Option<Duration>,
    /// Time to show before and after it
    #[arg(long, value_name = "TIME", default_value = "5 ms", requires = "around", value_parser = parse_positive::<Duration>)]
    pub span: Duration,
    /// Name or number of the tap (an interface of the capture) [default: the sender's, or that of the first packet]
    #[arg(long, value_name = "TAP")]
    pub tap: Option<String>,
    /// A key log (SSLKEYLOGFILE), in addition to secrets in the capture; can be repeated
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// UDP or TCP port of the server; other flows are ignored [default: the server's port of a record; all flows of a capture]
    #[arg(long, value_name = "PORT")]
    pub server_port: Option<u16>,
    #[command(flatten)]
    pub output: Output,
}

impl PacketsArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> PacketsSettings {
        PacketsSettings {
            path: self.path,
            around: self.around,
            span: self.span,
            tap: self.tap,
            keys: self.keys,
            server_port: self.server_port,
            json: self.output.json,
        }
    }
}

const PACKETS_HELP: &str = "\
Examples:
  quiclab packets results/examples/first/quiche-01-0123 --around 1.234s
  quiclab packets capture.pcapng --keys keys.log --around 200ms --span 20ms
  quiclab packets capture.pcapng | less

Columns: docs/reference/packets.md. Exit status: 0 success; 1 the capture is truncated; 125 the file could not be read.";
