//! Has a network card stamp what it receives, as long as a run lasts.

use crate::ethtool::Ethtool;

const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;
/// `HWTSTAMP_FILTER_ALL`.
const EVERYTHING: libc::c_int = 1;

/// `struct hwtstamp_config`: flags, which of the sent and which of the received packets are stamped.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Configuration {
    flags: libc::c_int,
    sent: libc::c_int,
    received: libc::c_int,
}

/// A card that stamps what it receives. Dropping it sets the card as it was before.
pub(super) struct HardwareStamps {
    card: Ethtool,
    before: Configuration,
}

/// Whether the card stamps at present; `None` where it cannot say.
pub(super) fn is_on(card: &Ethtool) -> Option<bool> {
    let mut found = Configuration::default();
    // SAFETY: the request expects a hwtstamp_config.
    unsafe { card.request(SIOCGHWTSTAMP, (&raw mut found).cast()) }.ok()?;
    Some(found.sent != 0 || found.received != 0)
}

impl HardwareStamps {
    /// Has the card stamp everything that it receives. `None` where it cannot, or where it would not say what to set afterwards.
    pub fn start(interface: &str) -> Option<Self> {
        let card = Ethtool::open(interface).ok()?;
        let mut before = Configuration::default();
        // SAFETY: the request expects a hwtstamp_config.
        unsafe { card.request(SIOCGHWTSTAMP, (&raw mut before).cast()) }.ok()?;
        let wanted = Configuration { received: EVERYTHING, ..before };
        let mut set = wanted;
        // SAFETY: as above. The driver writes what it really does.
        unsafe { card.request(SIOCSHWTSTAMP, (&raw mut set).cast()) }.ok()?;
        let stamps = Self { card, before };
        (set.received == EVERYTHING).then_some(stamps)
    }
}

impl Drop for HardwareStamps {
    fn drop(&mut self) {
        // SAFETY: the request expects a hwtstamp_config.
        let _ = unsafe { self.card.request(SIOCSHWTSTAMP, (&raw mut self.before).cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_a_clock_does_not_stamp() {
        assert!(HardwareStamps::start("lo").is_none());
        assert_eq!(is_on(&Ethtool::open("lo").unwrap()), None);
    }
}
