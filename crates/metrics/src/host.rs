//! What a transfer cost the hosts: CPU time, cycles, system calls, context switches, drops at sockets, sizes of batches.

use quiclab_units::{ByteCount, Duration};

use crate::output::{RunMetrics, Withheld};

/// Bytes of a gigabyte and of a megabyte.
const GIGA: f64 = 1e9;
const MEGA: f64 = 1e6;

/// What was counted from the client's start to its end. `None`: it could not be counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostUse {
    /// The server and its processes.
    pub server: EndpointUse,
    /// The client and its processes.
    pub client: EndpointUse,
    /// Share of time in which the core that was idle least was not idle.
    pub busiest_core_share: Option<f64>,
    /// CPU time of the counting itself, as a share of one CPU.
    pub sampler_cpu_share: Option<f64>,
}

/// What one endpoint used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndpointUse {
    /// CPU time, user and system.
    pub cpu: Option<Duration>,
    /// Share of the CPU time that was spent in the kernel, by a coarser clock.
    pub kernel_share: Option<f64>,
    /// Cycles of the processor, in user mode and in the kernel.
    pub cycles: Option<u64>,
    /// System calls.
    pub system_calls: Option<u64>,
    /// Context switches of its threads, voluntary and not.
    pub context_switches: Option<u64>,
    /// Datagrams that found the receive buffer of a UDP socket full.
    pub receive_buffer_drops: Option<u64>,
    /// Buffers that it sent: packets of the largest, and their mean.
    pub send_batches: Option<BatchSizes>,
    /// Buffers that it received.
    pub receive_batches: Option<BatchSizes>,
}

/// Packets that crossed an interface in one buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchSizes {
    /// Packets of the largest buffer.
    pub most: u64,
    /// Mean over the packets: in how large a buffer a packet was, so that single acknowledgments do not hide batches of data.
    pub mean: f64,
}

impl BatchSizes {
    /// Computes the sizes from the number of buffers by their packets; `None` where there were none.
    pub fn of(buffers: impl IntoIterator<Item = (u64, u64)> + Clone) -> Option<Self> {
        let most = buffers.clone().into_iter().map(|(packets, _)| packets).max()?;
        let [mut all, mut weighted] = [0.0, 0.0];
        for (packets, count) in buffers {
            all += packets as f64 * count as f64;
            weighted += packets as f64 * packets as f64 * count as f64;
        }
        (all > 0.0).then(|| Self { most, mean: weighted / all })
    }
}

/// The metrics of this file.
pub const HOST_METRICS: &[&str] = &[
    "server_cpu_s_per_gb",
    "client_cpu_s_per_gb",
    "server_kernel_cpu_share",
    "client_kernel_cpu_share",
    "server_cycles_per_byte",
    "client_cycles_per_byte",
    "busiest_core_share",
    "server_system_calls_per_mb",
    "client_system_calls_per_mb",
    "server_context_switches",
    "client_context_switches",
    "server_receive_buffer_drops",
    "client_receive_buffer_drops",
    "server_send_batch_max_packets",
    "server_send_batch_mean_packets",
    "client_receive_batch_max_packets",
    "client_receive_batch_mean_packets",
    "sampler_cpu_share",
];

impl HostUse {
    /// Fills in the metrics of a transfer of so many bytes.
    pub fn finish(&self, response_bytes: ByteCount, run: &mut RunMetrics) {
        let bytes = response_bytes.as_bytes() as f64;
        let per = |count: Option<f64>, unit: f64| count.filter(|_| bytes > 0.0).map(|count| count * unit / bytes);
        let seconds = |cpu: Option<Duration>| cpu.map(|cpu| cpu.as_nanos() as f64 / 1e9);
        let number = |count: Option<u64>| count.map(|count| count as f64);
        let Self { server, client, .. } = self;
        let metrics = &mut run.metrics;
        metrics.server_cpu_s_per_gb = per(seconds(server.cpu), GIGA);
        metrics.client_cpu_s_per_gb = per(seconds(client.cpu), GIGA);
        metrics.server_kernel_cpu_share = server.kernel_share;
        metrics.client_kernel_cpu_share = client.kernel_share;
        metrics.server_cycles_per_byte = per(number(server.cycles), 1.0);
        metrics.client_cycles_per_byte = per(number(client.cycles), 1.0);
        metrics.busiest_core_share = self.busiest_core_share;
        metrics.server_system_calls_per_mb = per(number(server.system_calls), MEGA);
        metrics.client_system_calls_per_mb = per(number(client.system_calls), MEGA);
        metrics.server_context_switches = server.context_switches;
        metrics.client_context_switches = client.context_switches;
        metrics.server_receive_buffer_drops = server.receive_buffer_drops;
        metrics.client_receive_buffer_drops = client.receive_buffer_drops;
        metrics.server_send_batch_max_packets = server.send_batches.map(|sizes| sizes.most);
        metrics.server_send_batch_mean_packets = server.send_batches.map(|sizes| sizes.mean);
        metrics.client_receive_batch_max_packets = client.receive_batches.map(|sizes| sizes.most);
        metrics.client_receive_batch_mean_packets = client.receive_batches.map(|sizes| sizes.mean);
        metrics.sampler_cpu_share = self.sampler_cpu_share;
    }
}

impl RunMetrics {
    /// Notes why metrics are null, without a warning: nothing is wrong with the run, it was just not counted.
    pub fn not_counted(&mut self, reason: &str, metrics: &[&str]) {
        let metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        self.withheld.push(Withheld { reason: reason.to_owned(), metrics });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_divided_by_the_bytes_of_the_transfer() {
        let server = EndpointUse {
            cpu: Some(Duration::from_nanos(250_000_000)),
            cycles: Some(600_000_000),
            system_calls: Some(5_000),
            ..EndpointUse::default()
        };
        let host = HostUse { server, ..HostUse::default() };
        let mut run = RunMetrics::empty();
        host.finish(ByteCount::from_bytes(50_000_000), &mut run);
        let metrics = &run.metrics;
        assert_eq!(metrics.server_cpu_s_per_gb, Some(5.0));
        assert_eq!(metrics.server_cycles_per_byte, Some(12.0));
        assert_eq!(metrics.server_system_calls_per_mb, Some(100.0));
        assert_eq!((metrics.client_cpu_s_per_gb, metrics.busiest_core_share), (None, None));
        host.finish(ByteCount::from_bytes(0), &mut run);
        assert_eq!(run.metrics.server_cpu_s_per_gb, None, "of nothing there is no cost per byte");
    }

    #[test]
    fn a_batch_weighs_as_much_as_it_has_packets() {
        // 100 acknowledgments, and 10 batches of 10 packets: of 200 packets, half are in batches of 10.
        let sizes = BatchSizes::of([(1, 100), (10, 10)]).unwrap();
        assert_eq!((sizes.most, sizes.mean), (10, 5.5));
        assert_eq!(BatchSizes::of([]), None);
    }

    #[test]
    fn every_metric_of_this_file_exists_and_is_filled_in() {
        let sizes = Some(BatchSizes { most: 2, mean: 1.5 });
        let all = EndpointUse {
            cpu: Some(Duration::from_nanos(1)),
            kernel_share: Some(0.5),
            cycles: Some(1),
            system_calls: Some(1),
            context_switches: Some(1),
            receive_buffer_drops: Some(1),
            send_batches: sizes,
            receive_batches: sizes,
        };
        let host = HostUse { server: all, client: all, busiest_core_share: Some(0.5), sampler_cpu_share: Some(0.01) };
        let mut run = RunMetrics::empty();
        host.finish(ByteCount::from_bytes(1), &mut run);
        for name in HOST_METRICS {
            assert!(run.metrics.value(name).flatten().is_some(), "{name}");
        }
    }
}
