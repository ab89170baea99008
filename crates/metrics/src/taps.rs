//! Which place a tap of a quiclab record is, by the name of its interface.

use quiclab_wire::{Capture, Role};

/// Interface name of a tap at the egress of a client whose packets are measured.
pub const SENDING_CLIENT: &str = "sending-client";

/// Where a tap of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPlace {
    /// The tap is at the sender's egress.
    Sender,
    /// The tap is behind the bottleneck. It keeps the first bytes of each packet only, unless the experiment says otherwise.
    BehindBottleneck,
}

impl TapPlace {
    /// The name of its interface in `wire.pcapng`, where the server sends.
    pub const fn interface_name(self) -> &'static str {
        match self {
            TapPlace::Sender => "sender",
            TapPlace::BehindBottleneck => "behind-bottleneck",
        }
    }

    /// The place in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            TapPlace::Sender => "the sender's tap",
            TapPlace::BehindBottleneck => "the tap behind the bottleneck",
        }
    }

    /// The place of an interface. `None` for captures that quiclab did not write: one that has not exactly the interfaces of
    /// a record, by their names.
    pub fn of(capture: &Capture, interface: u32) -> Option<TapPlace> {
        Self::sender(capture)?;
        [TapPlace::Sender, TapPlace::BehindBottleneck].get(interface as usize).copied()
    }

    /// The end whose packets the taps of a record are there for. `None` for captures that quiclab did not write.
    pub fn sender(capture: &Capture) -> Option<Role> {
        let [first, second] = &capture.interfaces[..] else { return None };
        if second.name.as_deref() != Some(Self::BehindBottleneck.interface_name()) {
            return None;
        }
        match first.name.as_deref() {
            Some(SENDING_CLIENT) => Some(Role::Client),
            name => (name == Some(Self::Sender.interface_name())).then_some(Role::Server),
        }
    }

    /// The end that is at an interface: the sender, or its receiver. `None` for captures that quiclab did not write.
    pub fn end_at(capture: &Capture, interface: u32) -> Option<Role> {
        let sender = Self::sender(capture)?;
        Some(match Self::of(capture, interface)? {
            TapPlace::Sender => sender,
            TapPlace::BehindBottleneck => sender.peer(),
        })
    }
}

#[cfg(test)]
mod tests {
    use quiclab_wire::Interface;

    use super::*;

    fn capture(names: &[Option<&str>]) -> Capture {
        let interface =
            |name: &Option<&str>| Interface { name: name.map(str::to_owned), link_type: 1, snap_length: None };
        Capture { interfaces: names.iter().map(interface).collect(), ..Capture::default() }
    }

    #[test]
    fn only_a_capture_with_the_two_taps_of_a_record_has_places() {
        let record = capture(&[Some("sender"), Some("behind-bottleneck")]);
        assert_eq!(TapPlace::of(&record, 0), Some(TapPlace::Sender));
        assert_eq!(TapPlace::of(&record, 1), Some(TapPlace::BehindBottleneck));
        assert_eq!(TapPlace::of(&record, 2), None);
        assert_eq!([0, 1, 2].map(|tap| TapPlace::end_at(&record, tap)), [Some(Role::Server), Some(Role::Client), None]);
        let upload = capture(&[Some(SENDING_CLIENT), Some("behind-bottleneck")]);
        assert_eq!([0, 1].map(|tap| TapPlace::of(&upload, tap)), [0, 1].map(|tap| TapPlace::of(&record, tap)));
        assert_eq!([0, 1].map(|tap| TapPlace::end_at(&upload, tap)), [Some(Role::Client), Some(Role::Server)]);
        for other in [&[Some("sender")][..], &[Some("eth0"), Some("behind-bottleneck")], &[Some("sender"), None], &[]] {
            assert_eq!(TapPlace::of(&capture(other), 0), None, "{other:?}");
        }
    }
}
