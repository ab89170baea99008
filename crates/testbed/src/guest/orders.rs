//! A run as the agent is to perform it.

use anyhow::Result;
use quiclab_agent_protocol::{
    cross_traffic::{CrossFlow, CrossTraffic},
    network::Network,
    orders::{File, Listen, Machine, Orders, Program, Tap, TheftDistribution, Thefts, Transfer, Transport},
    places::{CERTIFICATES, LOGS},
};
use quiclab_experiment::{
    run::{self, Run, Word as _},
    stack::{Contract, Role, StackManifest},
};
use quiclab_units::{ByteCount, Duration};

use crate::{
    certificates,
    contract::{SERVER_PORT, contents_seed, derive, environment, file_names},
};

/// How long a server may take until it listens, in virtual time. Slow ones take some seconds.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(60);
/// CPU time between two samples of where an endpoint is. A transfer of 1 MiB takes some tens of milliseconds.
const PROFILE_PERIOD: Duration = Duration::from_micros(100);

/// Everything the agent needs to know of a run between a server and a client of these stacks over `network`, where each may log as much
/// as `log_limit`.
///
/// # Errors
/// Where the seed gives no certificates.
pub fn of_run(
    run: &Run,
    network: Network,
    server: &StackManifest,
    client: &StackManifest,
    log_limit: ByteCount,
) -> Result<Orders> {
    let settings = &run.settings;
    let workload = &settings.workload;
    let certificates = certificates::make(run.seed, workload.certificate, workload.certificate_key)?.files();
    let file = |(name, text): (&str, String)| File { path: format!("{CERTIFICATES}/{name}"), text };
    Ok(Orders {
        machine: Some(machine(run, server)),
        start_shift_ns: run.start_shift.as_nanos(),
        network,
        has_ipv6: true,
        timer_slack_ns: settings.vm.timer_slack.as_nanos(),
        tap: settings.tap.enabled.then(|| tap(settings)),
        transfer: Transfer {
            names: if settings.workload.has_no_files() { Vec::new() } else { file_names(&settings.workload) },
            size_bytes: settings.workload.length_of_each().as_bytes(),
            zeros: settings.workload.contents == run::FileContents::Zeros,
            discard: !settings.workload.keep,
            seed: contents_seed(run),
            timeout_ns: settings.workload.timeout.as_nanos(),
        },
        files: certificates.map(file).into(),
        server: program(Role::Server, run, server),
        client: program(Role::Client, run, client),
        listen: Listen {
            transport: if server.is_quic() { Transport::Udp } else { Transport::Tcp },
            port: SERVER_PORT,
            timeout_ns: LISTEN_TIMEOUT.as_nanos(),
        },
        log_limit_bytes: log_limit.as_bytes(),
        cpus: Default::default(),
        sampling: None,
        profile_period_ns: settings.tap.profile.then_some(PROFILE_PERIOD.as_nanos()),
        cross_traffic: cross_traffic(run),
    })
}

/// The traffic beside that of the endpoints.
fn cross_traffic(run: &Run) -> Option<CrossTraffic> {
    let path = &run.settings.path;
    let (flow, interval_ns) = match path.cross_traffic {
        run::CrossTraffic::None => return None,
        run::CrossTraffic::Tcp => {
            (CrossFlow::Tcp { congestion_control: path.cross_congestion_control.word().to_owned() }, 0)
        }
        run::CrossTraffic::Udp => {
            let (rate, bytes) = (path.cross_rate.as_bits_per_second(), path.cross_datagram.as_bytes());
            let interval_ns = bytes * 8 * 1_000_000_000 / rate;
            // At most what fits into a frame, as the settings have it.
            (CrossFlow::Udp { rate_bits_per_second: rate, datagram_bytes: bytes as u32 }, interval_ns)
        }
    };
    // Where the datagrams are in their period when the client starts is drawn by the seed.
    let mut drawn = [0; 8];
    drawn.copy_from_slice(&derive(run.seed, "cross traffic")[..8]);
    let phase_ns = u64::from_le_bytes(drawn) % (interval_ns + 1);
    Some(CrossTraffic {
        flow,
        over_ipv6: path.ip == run::IpVersion::V6,
        start_ns: path.cross_start.as_nanos() + phase_ns,
        duration_ns: path.cross_duration.map(Duration::as_nanos),
    })
}

/// What is set on the whole guest.
fn machine(run: &Run, server: &StackManifest) -> Machine {
    let hosts = &run.settings.hosts;
    Machine {
        entropy: derive(run.seed, "entropy").to_vec(),
        receive_buffer_bytes: hosts.udp_receive_buffer.as_bytes(),
        send_buffer_bytes: hosts.udp_send_buffer.as_bytes(),
        count_send_sizes: run.settings.tap.send_sizes,
        // An endpoint cannot change the kernel of both.
        tcp_hystart: run.settings.stack.hystart.filter(|_| !server.is_quic()).map(|switch| switch == run::Switch::On),
        thefts: run.settings.vm.thefts().map(|thefts| Thefts {
            seed: derive(run.seed, "thefts").to_vec(),
            distribution: match thefts.distribution {
                run::TheftDistribution::Constant => TheftDistribution::Constant,
                run::TheftDistribution::Exponential => TheftDistribution::Exponential,
                run::TheftDistribution::Pareto => TheftDistribution::Pareto,
            },
            interval_ns: thefts.interval.as_nanos(),
            length_ns: thefts.length.as_nanos(),
        }),
    }
}

/// What is captured.
fn tap(settings: &run::Settings) -> Tap {
    let tap = &settings.tap;
    // At most 65535, as the settings have it.
    let kept = |bytes: Option<ByteCount>| bytes.map(|bytes| bytes.as_bytes() as u32);
    Tap {
        snaplen_bytes: kept(tap.snaplen),
        bottleneck_snaplen_bytes: kept(tap.bottleneck_snaplen),
        room_bytes: match settings.path.cross_traffic {
            // The agent counts the files that it serves itself.
            run::CrossTraffic::None if !settings.workload.has_no_files() => tap.room.map_or(0, ByteCount::as_bytes),
            _ => settings.tap_room().as_bytes(),
        },
        of_client: settings.workload.sender == run::Sender::Client,
    }
}

fn program(role: Role, run: &Run, stack: &StackManifest) -> Program {
    Program {
        command: stack.guest.command.clone(),
        environment: environment(role, run, stack),
        folder: stack.guest.folder.clone().unwrap_or_else(|| LOGS.to_owned()),
        awaits_simulator: stack.guest.contract == Contract::InteropRunner,
        host: None,
    }
}
