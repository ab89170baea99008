//! What the CPU time of a stack went to.

use serde::Serialize;

/// CPU time of one end for each byte, in nanoseconds. The parts add up to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Split {
    /// At least this went into packet protection: what it costs with the cheapest cipher.
    pub cryptography_ns_per_byte: f64,
    /// In the kernel.
    pub kernel_ns_per_byte: f64,
    /// The rest: the stack itself, its application, and what a dearer cipher costs more.
    pub stack_ns_per_byte: f64,
}

/// Splits `user_ns` and `system_ns` of an end that carried so many bytes. `cryptography_ns_per_byte`: of that end, see
/// [`Roofline::cheapest_cipher`](crate::Roofline::cheapest_cipher). `None`: no bytes, or the end took less time than the cipher alone, so
/// the two were not measured under the same conditions.
pub fn split(user_ns: u64, system_ns: u64, bytes: u64, cryptography_ns_per_byte: f64) -> Option<Split> {
    if bytes == 0 {
        return None;
    }
    let each = |ns: u64| ns as f64 / bytes as f64;
    let stack_ns_per_byte = each(user_ns) - cryptography_ns_per_byte;
    (stack_ns_per_byte >= 0.0).then_some(Split {
        cryptography_ns_per_byte,
        kernel_ns_per_byte: each(system_ns),
        stack_ns_per_byte,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn less_than_the_cipher_is_no_split() {
        assert_eq!(split(100, 50, 1000, 0.2), None);
        assert_eq!(split(100, 50, 0, 0.0), None);
        assert_eq!(split(300, 50, 1000, 0.3).unwrap().stack_ns_per_byte, 0.0);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(user in 0..1_u64 << 40, system in 0..1_u64 << 40, bytes in 1..1_u64 << 40, cipher in 0.0..2.0) {
            if let Some(split) = split(user, system, bytes, cipher) {
                let sum = split.cryptography_ns_per_byte + split.kernel_ns_per_byte + split.stack_ns_per_byte;
                let whole = (user + system) as f64 / bytes as f64;
                prop_assert!((sum - whole).abs() <= 1e-9 * whole.max(1.0));
                prop_assert!(split.stack_ns_per_byte >= 0.0);
            }
        }
    }
}
