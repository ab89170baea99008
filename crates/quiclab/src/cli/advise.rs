//! Arguments of `quiclab advise`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use quiclab_advise::{FirstAck, Losses, QUIC_CLIENTS};
use quiclab_units::{ByteCount, Duration, Rate};

use super::{
    pto::PtoArguments,
    shared::{Output, parse_positive},
};
use crate::settings::{AdviseCheckSettings, AdviseSettings, InstantAckSettings};

/// Arguments of `quiclab advise`.
#[derive(Debug, Args)]
pub struct AdviseArguments {
    /// The question
    #[command(subcommand)]
    pub question: AdviseQuestion,
}

impl AdviseArguments {
    /// The settings that these arguments stand for.
    ///
    /// # Errors
    /// Values that contradict each other.
    pub fn resolve(self) -> Result<AdviseSettings> {
        Ok(match self.question {
            AdviseQuestion::InstantAck(arguments) => AdviseSettings::InstantAck(arguments.resolve()?),
            AdviseQuestion::Check(arguments) => AdviseSettings::Check(arguments.resolve()),
            AdviseQuestion::Pto(arguments) => AdviseSettings::Pto(arguments.resolve()),
        })
    }
}

/// What it answers.
#[derive(Debug, Subcommand)]
pub enum AdviseQuestion {
    /// Should a server acknowledge the ClientHello at once, or wait until it has its certificate?
    InstantAck(InstantAckArguments),
    /// Does the model of instant-ack agree with measured handshakes?
    Check(AdviseCheckArguments),
    /// How do RTT samples change smoothed_rtt, rttvar and the probe timeout (RFC 9002)?
    Pto(PtoArguments),
}

/// Arguments of `quiclab advise instant-ack`.
#[derive(Debug, Args)]
#[command(after_help = INSTANT_ACK_HELP)]
pub struct InstantAckArguments {
    /// Round-trip time between client and server. With several values, separated by commas, here or in --delay and --cert-size, the
    /// answer is a table with a row for each combination
    #[arg(
        long, value_name = "TIME", value_delimiter = ',', value_parser = parse_positive::<Duration>,
        required_unless_present = "samples"
    )]
    pub rtt: Vec<Duration>,
    /// From the ClientHello's arrival until the server has its certificate and can answer
    #[arg(long, value_name = "TIME", value_delimiter = ',', required_unless_present = "samples")]
    pub delay: Vec<Duration>,
    /// A Parquet file with a row for each client: columns rtt_ms and delay_ms, or the rows of a scan. Prints the shares of clients that gain and lose
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rtt", "delay"])]
    pub samples: Option<PathBuf>,
    /// Length of the certificate chain in DER
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1212 B")]
    pub cert_size: Vec<ByteCount>,
    /// Share of handshakes in which the client's second flight is lost, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub loss_client: f64,
    /// Share of handshakes in which the server's first flight is lost, except its first datagram, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub loss_server: f64,
    /// Probe timeout of the server before it has an RTT sample
    #[arg(long, value_name = "TIME", default_value = "999 ms", value_parser = parse_positive::<Duration>)]
    pub server_pto: Duration,
    /// Probe timeout of the client before it has an RTT sample [default: 999 ms, or that of --client]
    #[arg(long, value_name = "TIME", value_parser = parse_positive::<Duration>, conflicts_with = "client")]
    pub client_pto: Option<Duration>,
    /// A client whose default timeout is taken from ReACKed QUICer, table 4
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(QUIC_CLIENTS.map(|client| client.name)))]
    pub client: Option<String>,
    /// Datagrams that the ClientHello takes: 2 with ML-KEM
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub hello_datagrams: u32,
    /// The instant acknowledgment is padded to 1200 B, which counts against the amplification limit
    #[arg(long)]
    pub padded: bool,
    /// The server waits for its timeout when the client repeats its ClientHello, instead of repeating its flight once (RFC 9002, section 6.2.3)
    #[arg(long)]
    pub no_early_repeat: bool,
    /// Draw what an instant ACK gains of the first probe timeout over the round-trip time, and write it to this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "samples")]
    pub svg: Option<PathBuf>,
    /// Rate of both directions [default: datagrams take no time]
    #[arg(long, value_name = "RATE", value_parser = parse_positive::<Rate>)]
    pub rate: Option<Rate>,
    #[command(flatten)]
    pub output: Output,
}

impl InstantAckArguments {
    fn resolve(self) -> Result<InstantAckSettings> {
        let losses = Losses { client: self.loss_client, server: self.loss_server };
        ensure!(
            losses.client + losses.server <= 1.0,
            "--loss-client, --loss-server: found {} and {}, expected at most 1 together",
            losses.client,
            losses.server
        );
        let named = QUIC_CLIENTS.iter().find(|client| Some(client.name) == self.client.as_deref());
        Ok(InstantAckSettings {
            rtts: self.rtt,
            delays: self.delay,
            certificates: self.cert_size,
            samples: self.samples,
            losses,
            kind: if self.padded { FirstAck::Padded } else { FirstAck::Instant },
            server_pto: self.server_pto,
            client_pto: self.client_pto.or(named.map(|client| client.default_pto)),
            hello_datagrams: self.hello_datagrams,
            repeats_flight: !self.no_early_repeat,
            svg: self.svg,
            rate: self.rate,
            json: self.output.json,
        })
    }
}

const INSTANT_ACK_HELP: &str = "\
Examples:
  quiclab advise instant-ack --rtt 9ms --delay 4ms --loss-client 0.01 --loss-server 0.01
  quiclab advise instant-ack --rtt 9ms --delay 200ms --cert-size 5113B --client ngtcp2
  quiclab advise instant-ack --rtt 1ms,9ms,20ms,100ms,300ms --delay 1ms,9ms,25ms --svg gain.svg
  quiclab advise instant-ack --samples clients.parquet --loss-client 0.02 --json

Plays the handshake with both behaviours, by RFC 9002: docs/guides/instant-ack.md says what the model leaves out and how well it \
agrees with real stacks.";

/// Arguments of `quiclab advise check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct AdviseCheckArguments {
    /// Folders of results, or folders that hold some, whose runs have stack.first_ack = "wait" and "instant" (or "padded")
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// A point whose measured and computed gains are both below --margin and --margin-rtts together does not count
    #[arg(long, value_name = "TIME", default_value = "5 ms")]
    pub margin: Duration,
    /// The part of the margin that grows with the round-trip time. The default is what a pacer takes to send three datagrams of an initial window of
    /// ten; the model has no pacing
    #[arg(long, value_name = "RTTS", default_value_t = 0.25, value_parser = parse_share)]
    pub margin_rtts: f64,
    /// Share of the other points whose signs must agree, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = parse_share)]
    pub at_least: f64,
    /// As for instant-ack
    #[arg(long)]
    pub no_early_repeat: bool,
    #[command(flatten)]
    pub output: Output,
}

impl AdviseCheckArguments {
    fn resolve(self) -> AdviseCheckSettings {
        AdviseCheckSettings {
            folders: self.folders,
            margin: self.margin,
            margin_rtts: self.margin_rtts,
            at_least: self.at_least,
            repeats_flight: !self.no_early_repeat,
            json: self.output.json,
        }
    }
}

const CHECK_HELP: &str = "\
Examples:
  quiclab run experiments/advise --profile quick
  quiclab advise check results/advise

Pairs the runs that differ only in stack.first_ack, plays each handshake in the model with the path, the certificate, the default timeouts and the \
measured processing time of the run, and compares the signs of the gains in time to the first byte. Exit status 1 if too few agree.";

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("found {text:?}, expected a number from 0 to 1"))
}
