//! CoDel against the pseudocode of RFC 8289, section 5, transcribed word by word.

use std::collections::VecDeque;

use proptest::prelude::*;
use quiclab_path::{
    packet::{Ecn, Packet},
    queue::{
        Limit, QueueDiscipline,
        codel::{CoDel, CoDelSettings},
    },
    stage::Fates,
};
use quiclab_units::{Duration, Time};

const TARGET: u64 = 5_000_000;
const INTERVAL: u64 = 100_000_000;
const MAXPACKET: u64 = 1514;

/// `codel_queue_t`, with packets as (time stamp, bytes, number).
#[derive(Default)]
struct Rfc {
    q: VecDeque<(u64, u64, u64)>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: Vec<u64>,
}

struct Dodequeue {
    p: Option<(u64, u64, u64)>,
    ok_to_drop: bool,
}

impl Rfc {
    fn bytes(&self) -> u64 {
        self.q.iter().map(|packet| packet.1).sum()
    }

    fn control_law(t: u64, count: u32) -> u64 {
        t + (INTERVAL as f64 / f64::from(count).sqrt()) as u64
    }

    fn dodequeue(&mut self, now: u64) -> Dodequeue {
        let mut r = Dodequeue { p: self.q.pop_front(), ok_to_drop: false };
        match r.p {
            None => self.first_above_time = 0,
            Some((tstamp, ..)) => {
                let sojourn_time = now - tstamp;
                if sojourn_time < TARGET || self.bytes() <= MAXPACKET {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + INTERVAL;
                } else if now >= self.first_above_time {
                    r.ok_to_drop = true;
                }
            }
        }
        r
    }

    fn dequeue(&mut self, now: u64) -> Option<u64> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(r.p.map(|packet| packet.2));
                self.count += 1;
                r = self.dodequeue(now);
                if !r.ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                }
            }
        } else if r.ok_to_drop {
            self.dropped.extend(r.p.map(|packet| packet.2));
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            self.count = 1;
            if delta > 1 && now.wrapping_sub(self.drop_next) < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p.map(|packet| packet.2)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_packet_meets_the_same_fate(
        // Phases of a constant load, in percent of what leaves.
        phases in prop::collection::vec((20u64..200, 10usize..600), 1..12),
        bytes in 200u64..1515,
    ) {
        let settings = CoDelSettings::default();
        let mut ours: CoDel<()> = CoDel::new(settings, Limit::Packets(u64::MAX));
        let mut rfc = Rfc::default();
        let mut fates = Fates::default();
        let (mut now, mut number, mut owed) = (1u64, 0, 0);
        for (load, steps) in phases {
            for _ in 0..steps {
                now += 1_000_000;
                owed += load;
                while owed >= 100 {
                    owed -= 100;
                    number += 1;
                    let packet = Packet { number, ..Packet::new(bytes as u32, 0, Ecn::NotCapable, ()) };
                    ours.enqueue(Time::from_nanos(now), packet, &mut fates);
                    rfc.q.push_back((now, bytes, number));
                }
                now += Duration::from_micros(1).as_nanos();
                let found = ours.dequeue(Time::from_nanos(now), &mut fates).map(|(_, packet)| packet.number);
                prop_assert_eq!(found, rfc.dequeue(now));
            }
        }
        let dropped: Vec<u64> = fates.dropped().map(|(packet, _)| packet.number).collect();
        prop_assert_eq!(dropped, rfc.dropped);
    }
}
