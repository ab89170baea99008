//! Arguments of `quiclab packets`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quiclab_pages::transfer::{filter::Filter, row::Fate};
use quiclab_units::Duration;
use quiclab_wire::Role;

use super::shared::{Output, parse_positive};
use crate::settings::PacketsSettings;

/// Arguments of `quiclab packets`.
#[derive(Debug, Args)]
#[command(after_help = PACKETS_HELP)]
pub struct PacketsArguments {
    /// A record's folder, a folder of results with one record, or a capture: pcap or pcapng, plain, gzip or zstd
    #[arg(value_name = "RECORD|CAPTURE")]
    pub path: PathBuf,
    /// Only packets around this time, such as "1.234 s", since the first packet at the tap [default: all packets]
    #[arg(long, value_name = "TIME")]
    pub around: Option<Duration>,
    /// Time to show before and after it
    #[arg(long, value_name = "TIME", default_value = "5 ms", requires = "around", value_parser = parse_positive::<Duration>)]
    pub span: Duration,
    #[command(flatten)]
    pub filter: FilterOptions,
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
            filter: self.filter.resolve(),
            tap: self.tap,
            keys: self.keys,
            server_port: self.server_port,
            json: self.output.json,
        }
    }
}

/// Which of the packets are listed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only packets that have all of")]
pub struct FilterOptions {
    /// This end as their sender
    #[arg(long, value_name = "END")]
    pub sender: Option<End>,
    /// This fate; with several, one of them
    #[arg(long, value_name = "FATE", value_delimiter = ',')]
    pub fate: Vec<FateChoice>,
    /// A frame of this name, such as ACK or MAX_DATA; with several, one of them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub frame: Vec<String>,
    /// At least this time between them and the packet before of the same sender and flow, such as "1 ms"
    #[arg(long, value_name = "TIME")]
    pub gap: Option<Duration>,
}

impl FilterOptions {
    fn resolve(self) -> Filter {
        let sender = self.sender.map(|end| match end {
            End::Server => Role::Server,
            End::Client => Role::Client,
        });
        let fates = self.fate.into_iter().map(|fate| match fate {
            FateChoice::Dropped => Fate::Dropped,
            FateChoice::Lost => Fate::Lost,
            FateChoice::Late => Fate::Late,
            FateChoice::Acked => Fate::Acknowledged,
        });
        Filter { sender, fates: fates.collect(), frames: self.frame, gap: self.gap }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// The server
    Server,
    /// The client
    Client,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FateChoice {
    /// Never seen at the tap behind the bottleneck (records only)
    Dropped,
    /// Three later packets were acknowledged, and it never was
    Lost,
    /// Three later packets were acknowledged before it
    Late,
    /// Acknowledged in time
    Acked,
}

const PACKETS_HELP: &str = "\
Examples:
  quiclab packets results/examples/first/quiche-01-0123 --around 1.234s
  quiclab packets capture.pcapng --keys keys.log --around 200ms --span 20ms
  quiclab packets results/examples/first --fate dropped,lost
  quiclab packets results/examples/first --sender server --gap 5ms       where the server paused
  quiclab packets capture.pcapng --frame MAX_DATA,DATA_BLOCKED | less

Columns: docs/reference/packets.md. Exit status: 0 success; 1 the capture is truncated; 125 the file could not be read.";
