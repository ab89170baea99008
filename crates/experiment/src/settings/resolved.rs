//! Every setting of a run, resolved.

use quiclab_path::spec::StageSpec;
use quiclab_units::ByteCount;

use super::{
    capture::{Analysis, Tap},
    declaration::contains,
    hosts::Hosts,
    path::{CrossTraffic, Path},
    sim::Sim,
    stack::{Clock, GsoRate, StackSettings},
    vm::Vm,
    workload::{Sender, Workload},
};

/// A short transfer can meet a lot of cross traffic.
const LEAST_ROOM_BESIDE_CROSS_TRAFFIC: u64 = 8 << 20;

/// Every setting of a run, resolved. What each takes, and its default, stands in docs/reference/experiment-file.md.
///
/// A setting without a meaning beside the others, such as the parameters of "fq" without it, has its default, and is not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The settings of the transfer.
    pub workload: Workload,
    /// The stack, and how it is to behave.
    pub stack: StackSettings,
    /// The path between the hosts.
    pub path: Path,
    /// Settings of the hosts.
    pub hosts: Hosts,
    /// The settings of the taps.
    pub tap: Tap,
    /// Settings of reading the packets.
    pub analysis: Analysis,
    /// The virtual machine.
    pub vm: Vm,
    /// The simulator's hosts.
    pub sim: Sim,
}

contains!(Settings {
    workload: Workload,
    stack: StackSettings,
    path: Path,
    hosts: Hosts,
    tap: Tap,
    analysis: Analysis,
    vm: Vm,
    sim: Sim,
});

impl Settings {
    /// The transfer that the taps must have room for. Beside cross traffic, of which they keep headers, it is twice as large.
    pub fn tap_room(&self) -> ByteCount {
        let of_transfer = match self.path.cross_traffic {
            CrossTraffic::None => self.workload.bytes_both_ways().as_bytes(),
            _ => (self.workload.bytes_both_ways().as_bytes().saturating_mul(2)).max(LEAST_ROOM_BESIDE_CROSS_TRAFFIC),
        };
        ByteCount::from_bytes(of_transfer.max(self.tap.room.unwrap_or_default().as_bytes()))
    }

    /// The stages from server to client, the first one first.
    pub fn stages_to_client(&self) -> Vec<StageSpec> {
        self.path.stages_to_client(self.workload.sender)
    }

    /// The stages from client to server, the first one first.
    pub fn stages_to_server(&self) -> Vec<StageSpec> {
        self.path.stages_to_server(self.workload.sender)
    }

    /// The stages that the packets of the measured sender pass, the first one first.
    pub fn stages_from_sender(&self) -> Vec<StageSpec> {
        match self.workload.sender {
            Sender::Server => self.stages_to_client(),
            Sender::Client => self.stages_to_server(),
        }
    }

    /// The path in words.
    pub fn path_described(&self) -> String {
        self.path.described(self.workload.sender)
    }

    /// The clock of the queueing discipline `gso_pace` (kernel/module), which takes buffers of several packets apart and gives each packet
    /// its
    /// send time: what `stack.gso = "paced"` needs of a kernel that cannot do it by itself. `None`: it is not there.
    pub fn segment_pacing(&self) -> Option<Clock> {
        self.stack.txtime_clock.filter(|_| self.stack.gso_rate == Some(GsoRate::Mark))
    }

    /// True where the guest's kernel needs the modules of kernel/module.
    pub fn needs_modules(&self) -> bool {
        self.segment_pacing().is_some() || self.vm.thefts().is_some()
    }
}
