//! Arguments of `quiclab scan`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use quiclab_scan::{
    HelloSettings, KeyShareGroup, ScanSettings,
    survey::{self, AddressChoice, OriginSettings, RowFormat, SurveySettings, TargetGroup, TargetSettings},
    targets::Frequency,
};
use quiclab_units::Duration;

use super::shared::Output;
use crate::settings::{CaptureSettings, ScanAction, ScanRequest};

/// Arguments of `quiclab scan`.
#[derive(Debug, Args)]
#[command(after_help = SCAN_HELP)]
pub struct ScanArguments {
    /// A list of names and addresses, in any usual form; - is standard input
    #[arg(value_name = "TARGETS", required_unless_present_any = ["from", "group", "report"])]
    pub targets: Option<PathBuf>,
    #[command(flatten)]
    pub captures: CaptureOptions,
    #[command(flatten)]
    pub whom: WhomOptions,
    #[command(flatten)]
    pub hello: HelloOptions,
    #[command(flatten)]
    pub results: ResultOptions,
    #[command(flatten)]
    pub origins: OriginOptions,
    #[command(flatten)]
    pub report: ReportOptions,
    #[command(flatten)]
    pub output: Output,
}

impl ScanArguments {
    /// The settings that these arguments stand for.
    ///
    /// # Errors
    /// Nobody to complain to, or groups without a time or a file.
    pub fn resolve(self) -> Result<ScanRequest> {
        let json = self.output.json;
        Ok(ScanRequest { action: self.action()?, json })
    }

    fn action(self) -> Result<ScanAction> {
        if !self.report.report.is_empty() {
            return Ok(ScanAction::Report { rows: self.report.report, html: self.report.html });
        }
        let whom = &self.whom;
        if whom.dry_run {
            return Ok(ScanAction::Plan {
                lists: self.targets.into_iter().chain(whom.group.iter().map(|group| group.list.clone())).collect(),
                targets: whom.targets(),
                hello_bytes: self.hello.hello_size,
                rate: whom.rate,
            });
        }
        match (whom.duration, &self.targets) {
            (Some(duration), list) => {
                let survey = Box::new(self.survey()?);
                Ok(ScanAction::Repeatedly { survey, groups: whom.groups(list.as_deref())?, duration })
            }
            (None, Some(list)) => Ok(ScanAction::Once { survey: Box::new(self.survey()?), list: list.clone() }),
            (None, None) => {
                let CaptureOptions { from: files, keys, server_port, merge_interfaces, rows } = self.captures;
                let captures = CaptureSettings { files, keys, server_port, merge_interfaces, rows };
                Ok(ScanAction::Captures { captures, origins: self.origins.resolve() })
            }
        }
    }

    fn survey(&self) -> Result<SurveySettings> {
        let Self { whom, hello, results, .. } = self;
        let contact = whom.contact.as_ref().context(
            "--contact is missing: found none, expected a page or an address for mail where those who are asked can complain; it goes \
             into each request\nhint: --contact https://example.org/scan",
        )?;
        let speaks_http = !hello.no_http && hello.alpn.iter().any(|name| name == "h3");
        let scanner = ScanSettings {
            timeout: std::time::Duration::from_nanos(whom.timeout.as_nanos()),
            most_in_flight: whom.in_flight as usize,
            application_protocols: hello.alpn.clone(),
            version: hello.quic_version,
            hello: HelloSettings {
                datagram_bytes: hello.hello_size,
                key_share_groups: hello.key_exchange.clone(),
                reuses_key_share: hello.reuse_key_share,
            },
            http: speaks_http.then(|| survey::http_settings(contact, &hello.header)),
            verify: hello.verify,
            ..ScanSettings::default()
        };
        Ok(SurveySettings {
            scanner,
            targets: whom.targets(),
            rate: whom.rate,
            folder: results.out.clone(),
            format: match results.format {
                RowFormatArgument::Parquet => RowFormat::Parquet,
                RowFormatArgument::Csv => RowFormat::Csv,
                RowFormatArgument::Jsonl => RowFormat::Jsonl,
            },
            capture_every: results.capture_every,
            origins: self.origins.resolve(),
        })
    }
}

/// Tables and figures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportOptions {
    /// Ask nobody: print tables of rows, in files or folders; PLACE=FILE says from where was scanned
    #[arg(long, value_name = "ROWS", num_args = 1.., conflicts_with_all = ["targets", "from", "duration"])]
    pub report: Vec<PathBuf>,
    /// With --report: write a page with tables and figures
    #[arg(long, value_name = "FILE", requires = "report")]
    pub html: Option<PathBuf>,
}

/// Handshakes that others made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Captures")]
pub struct CaptureOptions {
    /// Read captures instead of asking anyone: plain, gzip or zstd; - is standard input; without keys too
    #[arg(long, value_name = "CAPTURE", num_args = 1.., conflicts_with = "targets")]
    pub from: Vec<PathBuf>,
    /// A key log (SSLKEYLOGFILE) for captures; can be repeated
    #[arg(long, value_name = "FILE", requires = "from")]
    pub keys: Vec<PathBuf>,
    /// UDP port of the servers in captures [default: all; who sends the first Initial packet is the client]
    #[arg(long, value_name = "PORT", requires = "from")]
    pub server_port: Option<u16>,
    /// All interfaces of a capture are one place, such as the two directions of an optical tap
    #[arg(long, requires = "from")]
    pub merge_interfaces: bool,
    /// Write a row for each handshake of the captures to this file: .parquet, .csv or .jsonl
    #[arg(long, value_name = "FILE", requires = "from")]
    pub rows: Option<PathBuf>,
}

/// Who is asked, and how fast.
#[derive(Debug, Args)]
#[command(next_help_heading = "Whom to ask")]
pub struct WhomOptions {
    /// Where those who are asked can complain, a page or an address for mail; goes into each request
    #[arg(long, value_name = "URL")]
    pub contact: Option<String>,
    /// Handshakes that begin: N or N/s, N/min, N/h
    #[arg(long, value_name = "RATE", default_value_t = Frequency::DEFAULT)]
    pub rate: Frequency,
    /// Prefixes and names that are never asked, one in each line; can be repeated [always: scan-exclude.txt in ~/.config/quiclab]
    #[arg(long, value_name = "FILE")]
    pub exclude: Vec<PathBuf>,
    /// The resolver of names, as ADDRESS:PORT [default: the first one of /etc/resolv.conf]
    #[arg(long, value_name = "ADDRESS")]
    pub resolver: Option<SocketAddr>,
    /// Ask for HTTPS records too, and use their ports (RFC 9460)
    #[arg(long)]
    pub https_records: bool,
    /// Addresses of a name that are asked
    #[arg(long, value_enum, default_value_t = Addresses::First)]
    pub addresses: Addresses,
    /// Say how many packets would go to whom, and send none: names are not resolved
    #[arg(long)]
    pub dry_run: bool,
    /// Ask every target again and again: the time between two handshakes of one
    #[arg(long, value_name = "TIME", requires = "duration")]
    pub every: Option<Duration>,
    /// With --every or --group: how long it goes on
    #[arg(long = "for", id = "duration", value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Targets that are asked again and again with a time of their own, such as popular=1s:popular.txt; can be repeated
    #[arg(long, value_name = "NAME=TIME:FILE", requires = "duration", value_parser = group)]
    pub group: Vec<TargetGroup>,
    /// Handshakes at the same time
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub in_flight: u32,
    /// A handshake may take so long
    #[arg(long, value_name = "TIME", default_value_t = Duration::from_secs(3))]
    pub timeout: Duration,
}

impl WhomOptions {
    fn targets(&self) -> TargetSettings {
        TargetSettings {
            exclude: self.exclude.clone(),
            resolver: self.resolver,
            https_records: self.https_records,
            addresses: match self.addresses {
                Addresses::First => AddressChoice::First,
                Addresses::All => AddressChoice::All,
                Addresses::V4 => AddressChoice::V4,
                Addresses::V6 => AddressChoice::V6,
            },
        }
    }

    /// The list of the command with its time, and the groups.
    fn groups(&self, list: Option<&Path>) -> Result<Vec<TargetGroup>> {
        let mut groups = self.group.clone();
        match (list, self.every) {
            (Some(list), Some(every)) => {
                ensure!(every > Duration::ZERO, "--every: found 0, expected more");
                groups.push(TargetGroup { name: "targets".to_owned(), every, list: list.to_owned() });
            }
            (Some(_), None) => bail!("--for needs --every, the time between two handshakes of a target"),
            (None, _) => {}
        }
        if groups.iter().any(|group| group.list == Path::new("-")) {
            bail!("found standard input, expected files: their names are resolved again each day");
        }
        Ok(groups)
    }
}

fn group(text: &str) -> Result<TargetGroup, String> {
    let parts = text.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once(':')?)));
    let (name, (every, list)) = parts.ok_or("expected NAME=TIME:FILE, as in popular=1s:popular.txt")?;
    let every: Duration = every.parse().map_err(|error| format!("{every}: {error}"))?;
    if every == Duration::ZERO {
        return Err("found no time between two handshakes, expected more than 0".to_owned());
    }
    Ok(TargetGroup { name: name.to_owned(), every, list: list.into() })
}

/// Which addresses of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Addresses {
    /// The first one of IPv4, or else of IPv6
    First,
    /// All of them
    All,
    /// The first one of IPv4
    V4,
    /// The first one of IPv6
    V6,
}

/// How the client looks.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to ask")]
pub struct HelloOptions {
    /// Bytes of UDP payload in datagrams with Initial packets
    #[arg(long, value_name = "BYTES", default_value_t = 1200, value_parser = clap::value_parser!(u16).range(1200..=1452))]
    pub hello_size: u16,
    /// Groups for the key exchange, in order; the key share is of the first
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "x25519,secp256r1", value_parser = key_share_group)]
    pub key_exchange: Vec<KeyShareGroup>,
    /// Offer one key share of x25519 in all handshakes: faster, but servers can tell that they belong to the same scan
    #[arg(long)]
    pub reuse_key_share: bool,
    /// Application protocols that the client offers
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "h3")]
    pub alpn: Vec<String>,
    /// QUIC version of the first packet, in hexadecimal; one that nobody speaks, such as 1a2a3a4a, asks for the server's versions
    #[arg(long, value_name = "VERSION", default_value = "1", value_parser = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16))]
    pub quic_version: u32,
    /// Send no HTTP/3 HEAD request after the handshake
    #[arg(long)]
    pub no_http: bool,
    /// A field of the HTTP response to note, besides server, alt-svc and those that name a place; can be repeated
    #[arg(long, value_name = "NAME")]
    pub header: Vec<String>,
    /// The certificate must be valid, by the roots of this system
    #[arg(long)]
    pub verify: bool,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub struct ResultOptions {
    /// Folder for rows and the journal; the same command continues there after an interruption
    #[arg(long, value_name = "DIR", default_value = "results/scan")]
    pub out: PathBuf,
    /// Format of the rows
    #[arg(long, value_enum, default_value_t = RowFormatArgument::Parquet)]
    pub format: RowFormatArgument,
    /// Keep packets and key log of every N-th handshake; 1 is all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub capture_every: Option<u64>,
}

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowFormatArgument {
    /// For DuckDB, polars, pandas
    Parquet,
    /// With a header
    Csv,
    /// An object in each line
    Jsonl,
}

/// Who runs the servers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Who runs the servers")]
pub struct OriginOptions {
    /// Prefixes and their origin AS: a table of CAIDA (prefix2as) or a routing table in MRT; can be repeated
    #[arg(long, value_name = "FILE")]
    pub prefixes: Vec<PathBuf>,
    /// Which CDN an AS is: lines of AS,NAME [default: those of the study ReACKed QUICer, its table 5]
    #[arg(long, value_name = "FILE")]
    pub cdns: Option<PathBuf>,
}

impl OriginOptions {
    fn resolve(&self) -> OriginSettings {
        OriginSettings { prefixes: self.prefixes.clone(), cdns: self.cdns.clone() }
    }
}

fn key_share_group(name: &str) -> Result<KeyShareGroup, String> {
    use KeyShareGroup::{Secp256r1, Secp384r1, X25519, X25519MlKem768};
    let all = [X25519, Secp256r1, Secp384r1, X25519MlKem768];
    let names = || all.map(KeyShareGroup::name).join(", ");
    all.into_iter().find(|group| group.name() == name).ok_or_else(|| format!("expected one of {}", names()))
}

const SCAN_HELP: &str = "\
Examples:
  quiclab scan names.txt --contact https://example.org/scan --dry-run
  quiclab scan names.txt --contact https://example.org/scan --rate 20/s --prefixes routeviews-rv2.pfx2as.gz
  quiclab scan names.txt --contact https://example.org/scan --every 60s --for 7d
  quiclab scan --report results/scan --html scan.html
  quiclab scan --from backbone.pcapng.zst --rows handshakes.parquet
  tcpdump -w - udp port 443 | quiclab scan --from - --rows handshakes.jsonl

Asks slowly unless told otherwise, each address at most once a second, and nobody who is excluded. A network that answers with ICMP \
\"administratively prohibited\" is left out from then on. docs/guides/scan-a-cdn.md says what is polite.";
