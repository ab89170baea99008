//! What a run sets on the whole machine. Nothing of it is undone: the machine ends with the run.

use std::fs;

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    orders::{Machine, Orders},
    report::Report,
};

use super::{machine::Machine as Kind, random, send_sizes, thefts};
use crate::{cpu::Meter, run::RunHooks};

/// One for all networks. Endpoints can read it.
const TCP_HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";

/// The life of process 1.
pub struct WholeMachine<'a> {
    machine: &'a Machine,
    timeout_ns: u64,
    kind: Kind,
}

impl<'a> WholeMachine<'a> {
    /// What `orders` say of the machine, which is of this kind.
    ///
    /// # Errors
    /// Where they say nothing, or ask for files of a host.
    pub fn new(orders: &'a Orders, kind: Kind) -> Result<Self> {
        let machine = orders.machine.as_ref().context("orders: machine is missing; process 1 expects it")?;
        for (role, program) in [("server", &orders.server), ("client", &orders.client)] {
            anyhow::ensure!(
                program.host.is_none(),
                "orders: found {role}.host, expected none: a virtual machine has the endpoints' files in images"
            );
        }
        Ok(Self { machine, timeout_ns: orders.transfer.timeout_ns, kind })
    }
}

impl RunHooks for WholeMachine<'_> {
    fn meter(&self) -> Option<Meter> {
        match self.kind {
            Kind::Qemu => Some(Meter::Machine),
            // The kernel counts idle time in ticks of a clock that stands still while programs compute.
            Kind::Uml => None,
        }
    }

    fn begin(&self) -> Result<()> {
        random::seed_pool(&self.machine.entropy)?;
        if let Some(on) = self.machine.tcp_hystart {
            fs::write(TCP_HYSTART, u8::from(on).to_string()).context(TCP_HYSTART)?;
        }
        set_buffers(self.machine)
    }

    fn before_transfer(&self) -> Result<()> {
        if self.machine.count_send_sizes {
            send_sizes::start()?;
        }
        match &self.machine.thefts {
            Some(asked) => thefts::begin(asked, self.timeout_ns),
            None => Ok(()),
        }
    }

    fn after_transfer(&self, report: &mut Report) -> Result<()> {
        if self.machine.thefts.is_some() {
            report.thefts = Some(thefts::end()?);
        }
        if self.machine.count_send_sizes {
            report.send_sizes = Some(send_sizes::read()?);
        }
        Ok(())
    }
}

/// Buffers of every socket that does not ask for its own size.
fn set_buffers(machine: &Machine) -> Result<()> {
    for (name, size_bytes) in [("rmem", machine.receive_buffer_bytes), ("wmem", machine.send_buffer_bytes)] {
        for kind in ["max", "default"] {
            let path = format!("/proc/sys/net/core/{name}_{kind}");
            fs::write(&path, size_bytes.to_string()).with_context(|| path.clone())?;
        }
    }
    Ok(())
}
