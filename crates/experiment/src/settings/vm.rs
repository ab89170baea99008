//! Settings of the virtual machine, which other testbeds refuse.

use quiclab_units::Duration;

use super::{
    declaration::section,
    value_parser::{OneOf, count, time, word, words},
};

/// The kernel with the patch of kernel/patch, which quiclab builds itself.
pub const PATCHED_KERNEL: &str = "6.1-paced";
const KERNELS: &[&str] = &["6.1", "6.1-rt", "6.12", PATCHED_KERNEL];
/// QEMU counts instructions in powers of two.
const SLOWEST_INSTRUCTION: u32 = 64;

section! {
    /// The virtual machine.
    pub struct Vm as vm {
        /// the guest's kernel; "6.1-rt" has the real-time patches, "6.1-paced" is one that `quiclab tools kernel build` makes
        /// ([paced GSO](../concepts/paced-gso.md#as-a-kernel-patch))
        kernel: String = "6.1".to_owned(), takes OneOf(KERNELS), formerly ["kernel"];
        /// time that the guest's CPU takes for an instruction: 1 is a machine of 10⁹ instructions per second, shared by both endpoints
        nanoseconds_per_instruction: u32 = 1, takes count().at_most(SLOWEST_INSTRUCTION).power_of_two(), neutral 1,
            formerly ["hosts.nanoseconds_per_instruction"];
        /// how late the endpoints' timers can fire, so that several fire together; the default is that of Linux
        timer_slack: Duration = Duration::from_micros(50), takes time().positive(), neutral Duration::from_micros(50),
            formerly ["hosts.timer_slack"];
        /// mean length of a theft of the guest's CPU ([noise](../concepts/noise.md)); 0 for none
        theft_length: Duration = Duration::ZERO, takes time(), neutral Duration::ZERO, formerly ["hosts.theft_length"];
        /// mean time between two thefts; at least the mean length
        theft_interval: Duration = Duration::from_millis(1), takes time().positive(), formerly ["hosts.theft_interval"],
            when has_thefts;
        /// how interval and length are distributed
        theft_distribution: TheftDistribution = TheftDistribution::Exponential, takes word::<TheftDistribution>(),
            formerly ["hosts.theft_distribution"], when has_thefts;
    }
}

fn has_thefts(vm: &Vm) -> bool {
    vm.thefts().is_some()
}

impl Vm {
    /// The thefts of the guest's CPU; `None` for none.
    pub fn thefts(&self) -> Option<Thefts> {
        let Self { theft_distribution: distribution, theft_interval: interval, theft_length: length, .. } = *self;
        (length != Duration::ZERO).then_some(Thefts { distribution, interval, length })
    }
}

/// Intervals in which the guest's CPU runs nothing, as if an interrupt, firmware or another machine on the same host had it. They follow
/// from the run's seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thefts {
    /// How intervals and lengths are distributed.
    pub distribution: TheftDistribution,
    /// Mean time from the end of one to the beginning of the next; more than 0.
    pub interval: Duration,
    /// Mean length; more than 0.
    pub length: Duration,
}

words! {
    /// How a random time is distributed.
    pub enum TheftDistribution {
        /// Always the mean.
        Constant = "constant",
        /// Exponentially: the intervals are those of a Poisson process.
        Exponential = "exponential",
        /// Intervals exponentially, lengths by Pareto's distribution of shape 2.5: many short ones, and a few that are very long.
        Pareto = "pareto",
    }
}
