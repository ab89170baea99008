//! What the meters of QUIC and of TCP share: bytes in flight, RTT, and what pictures are drawn from.

use quiclab_units::Time;

use crate::flight::FlightMeter;
use crate::marks::Marks;
use crate::pictures::Pictures;
use crate::rtt::RttMeter;
use crate::series::Series;

/// One sender's, over time.
#[derive(Default)]
pub(crate) struct TransportMeter {
    pub(crate) flight: FlightMeter,
    pub(crate) rtt: RttMeter,
    pub(crate) sequence: Series,
    pub(crate) marks: Marks,
}

impl TransportMeter {
    fn all_series(&mut self) -> [&mut Series; 3] {
        [&mut self.sequence, &mut self.flight.series, &mut self.rtt.series]
    }

    /// Keeps what pictures need from now on.
    pub(crate) fn want_pictures(&mut self, points: usize) {
        self.all_series().into_iter().for_each(|series| series.want(points));
        self.marks.want();
    }

    /// Pictures begin with the flow's first packet.
    pub(crate) fn begin(&mut self, origin: Time) {
        self.all_series().into_iter().for_each(|series| series.begin(origin));
        self.marks.begin(origin);
    }

    pub(crate) fn into_pictures(self) -> Pictures {
        Pictures {
            sequence: self.sequence.into_points(),
            bytes_in_flight: self.flight.series.into_points(),
            rtt_ns: self.rtt.series.into_points(),
            lost: self.marks.lost,
            retransmitted: self.marks.retransmitted,
            marks_left_out: self.marks.left_out,
        }
    }
}
