//! Arguments of `quiclab perf`.

use std::path::PathBuf;

use clap::Args;
use quiclab_units::{ByteCount, Rate};

use super::{setting_values, values::parse_sha256};
use quiclab_perf::measure::{Cpus, PerfSettings};

/// Arguments of `quiclab perf`.
#[derive(Debug, Args)]
#[command(after_help = PERF_HELP)]
pub struct PerfArguments {
    /// Be a server, until interrupted
    #[arg(short = 's', long, conflicts_with = "client")]
    pub server: bool,
    /// Be a client of the server at this address or name. Without -s or -c, both ends run on this machine
    #[arg(short = 'c', long, value_name = "HOST")]
    pub client: Option<String>,
    /// UDP port of QUIC, and TCP port of the server's counters; for TCP its own port, and the next one is that of the counters
    #[arg(short = 'p', long, default_value_t = 4433, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// IPv6: the server listens there, and a name leads there
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Seconds to send for
    #[arg(short = 't', long = "time", value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub seconds: f64,
    /// Send this much over each connection instead, such as 8G, which is 8 GiB, or "8 GB"
    #[arg(short = 'n', long = "bytes", value_name = "SIZE", conflicts_with = "seconds", value_parser = parse_size)]
    pub bytes: Option<ByteCount>,
    /// Streams of each connection, all at the same time; with --bidir, in each direction
    #[arg(short = 'P', long = "parallel", value_name = "STREAMS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub streams: u64,
    /// Connections at the same time, each in a process of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub connections: u64,
    /// The server sends
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Both send, each on streams of its own
    #[arg(long, conflicts_with_all = ["reverse", "server", "roofline"])]
    pub bidir: bool,
    /// Requests and responses instead: how many in a second, and how long each takes. The next one begins when one is complete, and -P is how
    /// many there are at a time on each connection
    #[arg(long, conflicts_with_all = ["bidir", "reverse", "server", "bytes", "roofline"])]
    pub rps: bool,
    /// With --rps: bytes of a request, at least 8
    #[arg(long, value_name = "SIZE", default_value = "100 B", requires = "rps", value_parser = parse_request)]
    pub request: ByteCount,
    /// With --rps: bytes of a response
    #[arg(long, value_name = "SIZE", default_value = "1 kB", requires = "rps")]
    pub response: ByteCount,
    /// Handshakes instead: how many in a second, and how long each takes. Each is a full one, followed by the smallest request there is. -P is
    /// how many there are at a time in each client, --connections the number of clients
    #[arg(long, conflicts_with_all = ["rps", "bidir", "reverse", "server", "bytes", "roofline"])]
    pub hps: bool,
    /// Seconds between lines
    #[arg(short = 'i', long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub interval: f64,
    /// Tests in a row; the last lines are their median and range
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// Then measure what this machine can do at best, and say what part of it the stack reaches and what its CPU time went to: sampled, if
    /// the kernel allows that
    #[arg(long, conflicts_with = "server")]
    pub roofline: bool,
    /// With --roofline: draw it as bars into this file
    #[arg(long, value_name = "FILE", requires = "roofline")]
    pub svg: Option<PathBuf>,
    /// The stack: its name, or the path of your own, which is a program or a folder with a stack.toml; of both ends, unless --client-stack
    /// names another for the client
    #[arg(long, value_name = "NAME|PATH", default_value = "quinn", add = setting_values::stacks_and_paths())]
    pub stack: String,
    /// The client's stack
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "server", add = setting_values::stacks_and_paths())]
    pub client_stack: Option<String>,
    /// Plain TCP of the kernel instead of a stack, without TLS, as iperf3 has it; each stream is a connection. With TLS: --stack tcp-tls
    #[arg(long, conflicts_with_all = ["stack", "client_stack"])]
    pub tcp: bool,
    /// Datagrams of plain UDP at the rate of -b instead, as iperf3 -u has it: what arrives, what is lost, jitter
    #[arg(long, conflicts_with_all = [
        "tcp", "stack", "client_stack", "bytes", "streams", "connections", "bidir", "rps", "hps", "roofline", "congestion_control",
        "gso", "pacing", "mtu", "cpus", "pin", "insecure", "authority", "folder", "rebuild",
    ])]
    pub udp: bool,
    /// With --udp: bits of payload to send in a second, such as 20M or "20 Mbit/s"; 0: as many as possible
    #[arg(short = 'b', long = "bitrate", value_name = "RATE", default_value = "1M", requires = "udp", value_parser = parse_rate)]
    pub rate: Rate,
    /// With --udp: bytes of payload in each datagram
    #[arg(short = 'l', long, value_name = "BYTES", default_value_t = 1452, requires = "udp", value_parser = clap::value_parser!(u16).range(24..=65507))]
    pub length: u16,
    /// Congestion control, such as cubic, reno, bbr [default: the stack's]
    #[arg(long = "cc", value_name = "NAME")]
    pub congestion_control: Option<String>,
    /// Segmentation offload: on or off [default: the stack's]
    #[arg(long, value_name = "SETTING")]
    pub gso: Option<String>,
    /// What spaces packets: off, user or txtime [default: the stack's]
    #[arg(long, value_name = "SETTING")]
    pub pacing: Option<String>,
    /// Largest IP packet, in bytes, for stacks that take it as a setting [default: the stack finds it out, or does not]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1280..=9000))]
    pub mtu: Option<u16>,
    /// CPU of the server and CPU of the clients, such as 0,1 [default: wherever the kernel puts them]
    #[arg(long, value_name = "CPU,CPU", value_parser = parse_cpus)]
    pub cpus: Option<Cpus>,
    /// SHA-256 of the certificate of the server's authority, as the server prints it
    #[arg(long, value_name = "HEX", requires = "client", value_parser = parse_pin)]
    pub pin: Option<String>,
    /// Trust whatever certificate the server names
    #[arg(long, requires = "client", conflicts_with_all = ["pin", "authority"])]
    pub insecure: bool,
    /// Trust this authority (PEM). For servers that are not quiclab perf: their counters are not known then
    #[arg(long, value_name = "FILE", requires = "client", conflicts_with = "pin")]
    pub authority: Option<PathBuf>,
    /// Name in the server's certificate [default: HOST with --authority, else the one that quiclab perf gives its servers]
    #[arg(long, value_name = "NAME", requires = "authority")]
    pub server_name: Option<String>,
    /// Folder of the stacks [default: stacks/ in this folder or a parent]
    #[arg(long = "stacks", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Run the build commands again even if the cache has the builds
    #[arg(long)]
    pub rebuild: bool,
    /// Print JSON in the layout of iperf3 -J to standard output instead of text; with --repeat an array
    #[arg(short = 'J', long)]
    pub json: bool,
}

impl PerfArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> PerfSettings {
        PerfSettings {
            server: self.server,
            client: self.client,
            port: self.port,
            ipv6: self.ipv6,
            seconds: self.seconds,
            bytes: self.bytes,
            streams: self.streams,
            connections: self.connections,
            reverse: self.reverse,
            bidir: self.bidir,
            rps: self.rps,
            request: self.request,
            response: self.response,
            hps: self.hps,
            interval: self.interval,
            repeat: self.repeat,
            roofline: self.roofline,
            svg: self.svg,
            stack: self.stack,
            client_stack: self.client_stack,
            tcp: self.tcp,
            udp: self.udp,
            rate: self.rate,
            length: self.length,
            congestion_control: self.congestion_control,
            gso: self.gso,
            pacing: self.pacing,
            mtu: self.mtu,
            cpus: self.cpus,
            pin: self.pin,
            insecure: self.insecure,
            authority: self.authority,
            server_name: self.server_name,
            folder: self.folder,
            rebuild: self.rebuild,
            json: self.json,
        }
    }
}

const PERF_HELP: &str = "\
Examples:
  quiclab perf                                        quinn to quinn on this machine, for 10 seconds
  quiclab perf --stack quiche -R -P 4 --repeat 5       the server sends on 4 streams, five times
  quiclab perf --tcp                                  TCP of the kernel, without TLS; with it: --stack tcp-tls
  quiclab perf --stack ./my-endpoint --client-stack quinn --roofline --svg roofline.svg
  quiclab perf --rps -P 10 --response 16kB             10 requests at a time: how many in a second, and their latency
  quiclab perf --hps --stack quic-go                   handshakes
  quiclab perf --udp -b 500M                           datagrams: losses and jitter
  quiclab perf -s --stack quic-go                     on one machine; it prints the line for the other one:
  quiclab perf -c 192.0.2.1 --pin 3f5a... -t 30 -J

Every stack that claims the test case perf can be either end: quiclab stacks list. The protocol is draft-banks-quic-performance. Goodput is what \
has arrived, by the receiver's clock. Nothing is written to a disk. In a network namespace of their own (without -s and -c), or through this \
machine's network.

Guide: docs/guides/how-fast-is-my-stack.md. Exit status: 0 success; 1 a test failed; 125 nothing could be tested; 130 interrupted.";

/// Units of quiclab, or a prefix alone, as iperf3 has it.
fn parse_rate(text: &str) -> Result<Rate, String> {
    let factor = |last: char| match last.to_ascii_lowercase() {
        'k' => Some(1_000),
        'm' => Some(1_000_000),
        'g' => Some(1_000_000_000),
        _ => None,
    };
    let (number, factor) = match text.chars().last().and_then(factor) {
        Some(factor) => (&text[..text.len() - 1], factor),
        None => (text, 1),
    };
    let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bits.map(Rate::from_bits_per_second)
        .map_or_else(|| text.parse::<Rate>(), Ok)
        .map_err(|_| format!("found {text:?}, expected a rate such as 20M or \"20 Mbit/s\""))
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("found {text:?}, expected seconds, 0.1 to 86400")),
    }
}

/// With a unit, or as iperf3 has it: K, M and G are powers of 1024.
fn parse_size(text: &str) -> Result<ByteCount, String> {
    let binary = [("K", "KiB"), ("M", "MiB"), ("G", "GiB")];
    let short = binary.into_iter().find_map(|(letter, unit)| Some(format!("{} {unit}", text.strip_suffix(letter)?)));
    let whole = short.unwrap_or_else(|| text.to_owned());
    whole
        .parse()
        .map_err(|_| format!("found {text:?}, expected a number of bytes such as 8G, which is 8 GiB, or \"8 GB\""))
}

fn parse_request(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    // The first of them say how long the response is: draft-banks-quic-performance, section 2.3.
    if size.as_bytes() < 8 { Err(format!("found {text:?}, expected at least 8 bytes")) } else { Ok(size) }
}

fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[server, clients]) if server < 1024 && clients < 1024 => Ok(Cpus { server, clients }),
        _ => Err(format!("found {text:?}, expected two numbers such as 0,1")),
    }
}

fn parse_pin(text: &str) -> Result<String, String> {
    parse_sha256(text, "quiclab perf -s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_iperf3_or_have_a_unit() {
        let bytes = |text: &str| parse_size(text).map(|size| size.as_bytes());
        assert_eq!(bytes("8G"), Ok(8 << 30));
        assert_eq!(bytes("1.5K"), Ok(1536));
        assert_eq!((bytes("8 GB"), bytes("2MiB")), (Ok(8_000_000_000), Ok(2 << 20)));
        for wrong in ["", "G", "8", "8GG", "-1M"] {
            assert!(bytes(wrong).unwrap_err().contains("expected a number of bytes such as 8G"), "{wrong}");
        }
    }
}
