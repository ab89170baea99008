//! The names of testbeds: which there are is known here, because settings say on which of them they hold.

use std::fmt;

/// The name of a testbed, as `--testbed` and records have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestbedName {
    /// A virtual machine in virtual time.
    Vm,
    /// User-Mode Linux in virtual time.
    Uml,
    /// Network namespaces of this machine, in real time.
    Netns,
    /// Several machines, in real time.
    Hosts,
    /// The simulator.
    Sim,
}

impl TestbedName {
    /// The name as text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::Uml => "uml",
            Self::Netns => "netns",
            Self::Hosts => "hosts",
            Self::Sim => "sim",
        }
    }
}

impl fmt::Display for TestbedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
