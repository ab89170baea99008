//! What the CPU time of a stack went to.

use serde::Serialize;

use crate::roofline::profile::{Function, Profile};

/// CPU time of one end for each byte, in nanoseconds. The parts add up to the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Split {
    /// The time is split by what the end was doing when it was looked at.
    Samples {
        /// Time in functions of cryptography.
        cryptography_ns_per_byte: f64,
        /// Time in the kernel, below system calls that send. Over a loopback this is also what delivers a packet.
        kernel_send_ns_per_byte: f64,
        /// Time in the kernel, below system calls that receive.
        kernel_receive_ns_per_byte: f64,
        /// Anywhere else in the kernel: waiting, timers, memory.
        kernel_other_ns_per_byte: f64,
        /// The stack itself and its application: everything else that has a name.
        stack_ns_per_byte: f64,
        /// Time in code without names, which can be the stack or cryptography.
        unnamed_ns_per_byte: f64,
        /// How many there were.
        samples: u64,
        /// Where it was most often.
        functions: Vec<Function>,
    },
    /// The time is split by CPU time in user mode and in the kernel, where nothing could be sampled.
    Times {
        /// Time that went into packet protection at least: what it costs with the cheapest cipher.
        cryptography_ns_per_byte: f64,
        /// Time in the kernel.
        kernel_ns_per_byte: f64,
        /// The rest: the stack itself, its application, and what a dearer cipher costs more.
        stack_ns_per_byte: f64,
    },
}

impl Split {
    /// Names of the parts and their sizes, in the order in which they are shown.
    pub fn parts(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Samples {
                cryptography_ns_per_byte,
                kernel_send_ns_per_byte,
                kernel_receive_ns_per_byte,
                kernel_other_ns_per_byte,
                stack_ns_per_byte,
                unnamed_ns_per_byte,
                ..
            } => vec![
                ("cryptography", *cryptography_ns_per_byte),
                ("kernel, sending", *kernel_send_ns_per_byte),
                ("kernel, receiving", *kernel_receive_ns_per_byte),
                ("kernel, other", *kernel_other_ns_per_byte),
                ("the stack", *stack_ns_per_byte),
                ("unnamed code", *unnamed_ns_per_byte),
            ],
            Self::Times { cryptography_ns_per_byte, kernel_ns_per_byte, stack_ns_per_byte } => vec![
                ("cryptography at least", *cryptography_ns_per_byte),
                ("kernel", *kernel_ns_per_byte),
                ("the stack", *stack_ns_per_byte),
            ],
        }
    }

    /// All of it.
    pub fn whole(&self) -> f64 {
        self.parts().iter().map(|(_, part)| part).sum()
    }
}

/// Splits `user_ns` and `system_ns` of an end that carried so many bytes. `cryptography_ns_per_byte`: of that end, see
/// [`Roofline::cheapest_cipher`](crate::roofline::Roofline::cheapest_cipher). `None`: no bytes, or the end took less time than the cipher alone, so
/// the two were not measured under the same conditions.
pub fn split(user_ns: u64, system_ns: u64, bytes: u64, cryptography_ns_per_byte: f64) -> Option<Split> {
    if bytes == 0 {
        return None;
    }
    let each = |ns: u64| ns as f64 / bytes as f64;
    let stack_ns_per_byte = each(user_ns) - cryptography_ns_per_byte;
    (stack_ns_per_byte >= 0.0).then_some(Split::Times {
        cryptography_ns_per_byte,
        kernel_ns_per_byte: each(system_ns),
        stack_ns_per_byte,
    })
}

/// Splits the same by samples: time in user mode by those in user mode, time in the kernel by those in the kernel. `None`: no bytes, or too
/// few samples.
pub fn split_by_samples(user_ns: u64, system_ns: u64, bytes: u64, profile: &Profile) -> Option<Split> {
    if bytes == 0 || !profile.is_enough() {
        return None;
    }
    let part = |ns: u64, samples: u64, all: u64| {
        // Time in which it was never looked at.
        let share = if all == 0 { 0.0 } else { samples as f64 / all as f64 };
        share * ns as f64 / bytes as f64
    };
    let (user, kernel) = (profile.user(), profile.kernel());
    let other = if kernel == 0 { 1 } else { profile.kernel_other };
    let unnamed = if user == 0 { 1 } else { profile.unnamed };
    Some(Split::Samples {
        cryptography_ns_per_byte: part(user_ns, profile.cryptography, user),
        kernel_send_ns_per_byte: part(system_ns, profile.kernel_send, kernel),
        kernel_receive_ns_per_byte: part(system_ns, profile.kernel_receive, kernel),
        kernel_other_ns_per_byte: part(system_ns, other, kernel.max(1)),
        stack_ns_per_byte: part(user_ns, profile.stack, user),
        unnamed_ns_per_byte: part(user_ns, unnamed, user.max(1)),
        samples: profile.samples(),
        functions: profile.functions.clone(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stack(split: Option<Split>) -> f64 {
        split.unwrap().parts().iter().find(|(name, _)| *name == "the stack").unwrap().1
    }

    #[test]
    fn less_than_the_cipher_is_no_split() {
        assert_eq!(split(100, 50, 1000, 0.2), None);
        assert_eq!(split(100, 50, 0, 0.0), None);
        assert_eq!(stack(split(300, 50, 1000, 0.3)), 0.0);
    }

    #[test]
    fn samples_share_out_the_time_of_their_mode() {
        let profile = Profile {
            cryptography: 60,
            stack: 30,
            unnamed: 10,
            kernel_send: 150,
            kernel_other: 50,
            ..Profile::default()
        };
        let found = split_by_samples(1000, 4000, 100, &profile).unwrap();
        let sizes: Vec<_> = found.parts().iter().map(|(_, size)| *size).collect();
        assert_eq!(sizes, [6.0, 30.0, 0.0, 10.0, 3.0, 1.0]);
        assert_eq!(split_by_samples(1000, 4000, 0, &profile), None);
        let few = Profile { cryptography: 99, ..Profile::default() };
        assert_eq!(split_by_samples(1000, 0, 100, &few), None);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(user in 0..1_u64 << 40, system in 0..1_u64 << 40, bytes in 1..1_u64 << 40, cipher in 0.0..2.0) {
            if let Some(split) = split(user, system, bytes, cipher) {
                let whole = (user + system) as f64 / bytes as f64;
                prop_assert!((split.whole() - whole).abs() <= 1e-9 * whole.max(1.0));
                prop_assert!(split.parts().iter().all(|(_, part)| *part >= 0.0));
            }
        }

        #[test]
        fn the_parts_of_samples_add_up(
            times in (0..1_u64 << 40, 0..1_u64 << 40), bytes in 1..1_u64 << 40, counts in any::<[u16; 6]>(),
        ) {
            let [cryptography, stack, unnamed, kernel_send, kernel_receive, kernel_other] = counts.map(u64::from);
            let profile =
                Profile { cryptography, stack, unnamed, kernel_send, kernel_receive, kernel_other, ..Profile::default() };
            if let Some(split) = split_by_samples(times.0, times.1, bytes, &profile) {
                let whole = (times.0 + times.1) as f64 / bytes as f64;
                prop_assert!((split.whole() - whole).abs() <= 1e-9 * whole.max(1.0));
            }
        }
    }
}
