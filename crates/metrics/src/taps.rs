//! Which place a tap of a quiclab record is, by the name of its interface.

use quiclab_wire::Capture;

/// Where a tap of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPlace {
    /// The tap is at the sender's egress.
    Sender,
    /// The tap is behind the bottleneck. It keeps the first bytes of each packet only, unless the experiment says otherwise.
    BehindBottleneck,
}

impl TapPlace {
    /// Its interface name in `wire.pcapng`.
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
        let places = [TapPlace::Sender, TapPlace::BehindBottleneck];
        let names = capture.interfaces.iter().map(|interface| interface.name.as_deref());
        if !names.eq(places.iter().map(|place| Some(place.interface_name()))) {
            return None;
        }
        places.get(interface as usize).copied()
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
        for other in [&[Some("sender")][..], &[Some("eth0"), Some("behind-bottleneck")], &[Some("sender"), None], &[]] {
            assert_eq!(TapPlace::of(&capture(other), 0), None, "{other:?}");
        }
    }
}
