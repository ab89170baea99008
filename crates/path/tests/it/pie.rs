//! PIE against a literal one whose timer really ticks (RFC 8033, section 4 and 5).

use quiclab_path::{
    packet::{Ecn, Packet},
    queue::{
        Limit, QueueDiscipline,
        pie::{Pie, PieSettings},
    },
    random::Random,
    stage::Fates,
};
use quiclab_units::{Duration, Time};

/// The target delay in seconds, as the RFC writes it.
const QDELAY_REF: f64 = 0.015;
const T_UPDATE: u64 = 15_000_000;

#[derive(Default)]
struct Rfc {
    drop_prob: f64,
    qdelay_old: f64,
    current_qdelay: f64,
    burst_allowance: u64,
}

impl Rfc {
    fn calculate_drop_prob(&mut self) {
        // RFC 8033, section 4.2.
        let mut p = 0.125 * (self.current_qdelay - QDELAY_REF) + 1.25 * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(T_UPDATE);
    }
}

/// A load that comes and goes, with silence between: the probability is the same whenever somebody looks.
#[test]
fn a_late_update_is_as_good_as_one_in_time() {
    let mut pie: Pie<()> = Pie::new(PieSettings::default(), Limit::Packets(100_000), Random::new(1, "pie"));
    let mut rfc = Rfc { burst_allowance: 150_000_000, ..Rfc::default() };
    let mut fates = Fates::default();
    let mut random = Random::new(1, "load");
    let (mut now, mut tick, mut highest) = (0u64, 0u64, 0.0f64);
    let mut entered = std::collections::VecDeque::new();
    for phase in 0..40 {
        // In every fourth phase nothing comes, and nobody looks.
        if phase % 4 == 3 {
            now += random.up_to(2_000_000_000);
        }
        for _ in 0..2_000 {
            now += 1_000_000;
            while tick <= now {
                rfc.calculate_drop_prob();
                tick += T_UPDATE;
            }
            let at = Time::from_nanos(now);
            let count = random.up_to(if phase % 2 == 0 { 3 } else { 1 });
            for _ in 0..count {
                if rfc.drop_prob == 0.0 && rfc.current_qdelay < QDELAY_REF / 2.0 && rfc.qdelay_old < QDELAY_REF / 2.0 {
                    rfc.burst_allowance = 150_000_000;
                }
                let before = pie.backlog().packets;
                pie.enqueue(at, Packet::new(1000, 0, Ecn::NotCapable, ()), &mut fates);
                let was_taken = pie.backlog().packets > before;
                let is_safe = rfc.burst_allowance > 0
                    || (rfc.qdelay_old < QDELAY_REF / 2.0 && rfc.drop_prob < 0.2)
                    || before <= 2;
                assert!(was_taken || !is_safe, "dropped at {now}");
                if was_taken {
                    entered.push_back(now);
                }
            }
            if pie.dequeue(at, &mut fates).is_some() {
                let came = entered.pop_front().unwrap();
                rfc.current_qdelay =
                    if entered.is_empty() { 0.0 } else { Duration::from_nanos(now - came).as_secs_f64() };
            }
            assert!((pie.probability() - rfc.drop_prob).abs() < 1e-12, "{} and {}", pie.probability(), rfc.drop_prob);
            highest = highest.max(rfc.drop_prob);
        }
    }
    assert!(highest > 0.05 && fates.dropped().count() > 1_000, "the load was too low to test anything: {highest}");
}

/// At a constant overload the delay settles at the target.
#[test]
fn the_delay_settles_at_the_target() {
    let mut pie: Pie<u64> = Pie::new(PieSettings::default(), Limit::Packets(100_000), Random::new(2, "pie"));
    let mut fates = Fates::default();
    let mut random = Random::new(2, "load");
    let (mut waited, mut count) = (0u64, 0u64);
    for step in 0..200_000u64 {
        let now = Time::from_nanos(step * 1_000_000);
        // 1.1 packets come where one leaves.
        for _ in 0..1 + u64::from(random.unit() < 0.1) {
            pie.enqueue(now, Packet::new(1000, 0, Ecn::NotCapable, now.as_nanos()), &mut fates);
        }
        if let Some((_, packet)) = pie.dequeue(now, &mut fates)
            && step > 100_000
        {
            waited += now.as_nanos() - packet.payload;
            count += 1;
        }
    }
    let mean = waited as f64 / count as f64 / 1e6;
    assert!((mean - 15.0).abs() < 3.0, "{mean} ms, expected 15");
}
