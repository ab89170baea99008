//! Columns of what a transfer cost the hosts.

use super::column::{Column, Place, Value, count};

const HOST: Place = Place::Host;

/// The columns of runs in real time.
pub(super) const COLUMNS: &[Column] = &[
    column("server_cpu_s_per_gb", "server: CPU s/GB", |metrics| metrics.server_cpu_s_per_gb, 2),
    column("client_cpu_s_per_gb", "client: CPU s/GB", |metrics| metrics.client_cpu_s_per_gb, 2),
    column(
        "server_kernel_cpu_share",
        "server: CPU time in the kernel, share",
        |metrics| metrics.server_kernel_cpu_share,
        2,
    ),
    column(
        "client_kernel_cpu_share",
        "client: CPU time in the kernel, share",
        |metrics| metrics.client_kernel_cpu_share,
        2,
    ),
    column("server_cycles_per_byte", "server: cycles/byte", |metrics| metrics.server_cycles_per_byte, 1),
    column("client_cycles_per_byte", "client: cycles/byte", |metrics| metrics.client_cycles_per_byte, 1),
    column("busiest_core_share", "busiest core, share", |metrics| metrics.busiest_core_share, 2),
    column("server_system_calls_per_mb", "server: system calls/MB", |metrics| metrics.server_system_calls_per_mb, 0),
    column("client_system_calls_per_mb", "client: system calls/MB", |metrics| metrics.client_system_calls_per_mb, 0),
    column("server_context_switches", "server: context switches", |metrics| count(metrics.server_context_switches), 0),
    column("client_context_switches", "client: context switches", |metrics| count(metrics.client_context_switches), 0),
    column(
        "server_receive_buffer_drops",
        "server: drops at receive buffers",
        |metrics| count(metrics.server_receive_buffer_drops),
        0,
    ),
    column(
        "client_receive_buffer_drops",
        "client: drops at receive buffers",
        |metrics| count(metrics.client_receive_buffer_drops),
        0,
    ),
    column(
        "server_send_batch_max_packets",
        "server: largest buffer sent, packets",
        |metrics| count(metrics.server_send_batch_max_packets),
        0,
    ),
    column(
        "server_send_batch_mean_packets",
        "server: mean buffer sent, packets",
        |metrics| metrics.server_send_batch_mean_packets,
        2,
    ),
    column(
        "client_receive_batch_max_packets",
        "client: largest buffer received, packets",
        |metrics| count(metrics.client_receive_batch_max_packets),
        0,
    ),
    column(
        "client_receive_batch_mean_packets",
        "client: mean buffer received, packets",
        |metrics| metrics.client_receive_batch_mean_packets,
        2,
    ),
    column("sampler_cpu_share", "quiclab's sampling, share of a core", |metrics| metrics.sampler_cpu_share, 4),
];

const fn column(metric: &'static str, heading: &'static str, value: Value, decimals: usize) -> Column {
    Column { metric, heading, value, divisor: 1.0, decimals, place: HOST }
}
