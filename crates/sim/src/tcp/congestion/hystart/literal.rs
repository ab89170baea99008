//! Slow start beside a literal transcription of RFC 9406, section 4.2, on random round-trip times. In segments: SMSS is 1.

use quiclab_path::random::Random;

use super::*;

/// The variables and constants of the RFC under their names; times in nanoseconds, which are whole where the RFC divides.
struct Rfc {
    cwnd: f64,
    ssthresh: f64,
    l: f64,
    window_end: u64,
    last_round_min_rtt: u64,
    current_round_min_rtt: u64,
    curr_rtt: u64,
    rtt_sample_count: u32,
    is_in_css: bool,
    css_baseline_min_rtt: u64,
    css_rounds: u32,
}

const INFINITY: u64 = u64::MAX;
const MIN_RTT_THRESH: u64 = 4_000_000;
const MAX_RTT_THRESH: u64 = 16_000_000;
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

impl Rfc {
    fn new(cwnd: f64, l: f64) -> Self {
        Self {
            cwnd,
            ssthresh: f64::INFINITY,
            l,
            window_end: 0,
            last_round_min_rtt: INFINITY,
            current_round_min_rtt: INFINITY,
            curr_rtt: INFINITY,
            rtt_sample_count: 0,
            is_in_css: false,
            css_baseline_min_rtt: INFINITY,
            css_rounds: 0,
        }
    }

    /// An acknowledgment of `n` segments up to `ack`, with SND.NXT.
    fn on_ack(&mut self, n: u64, ack: u64, rtt: u64, snd_nxt: u64) {
        // "When windowEnd is ACKed, the current round ends and windowEnd is set to SND.NXT." It is the number of a segment, which an acknowledgment of more covers.
        let mut css_is_over = false;
        if ack > self.window_end {
            self.window_end = snd_nxt;
            // "At the start of each round during standard slow start and CSS".
            self.last_round_min_rtt = self.current_round_min_rtt;
            self.current_round_min_rtt = INFINITY;
            self.rtt_sample_count = 0;
            if self.is_in_css {
                // "If the transition into CSS happens in the middle of a round, that partial round counts towards the limit."
                self.css_rounds += 1;
                css_is_over = self.css_rounds >= CSS_ROUNDS;
            }
        }
        self.curr_rtt = rtt;
        let growth = (n as f64).min(self.l);
        self.current_round_min_rtt = self.current_round_min_rtt.min(self.curr_rtt);
        self.rtt_sample_count += 1;
        if !self.is_in_css {
            self.cwnd += growth;
            if self.rtt_sample_count >= N_RTT_SAMPLE
                && self.current_round_min_rtt != INFINITY
                && self.last_round_min_rtt != INFINITY
            {
                let rtt_thresh = MIN_RTT_THRESH.max((self.last_round_min_rtt / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH));
                if self.current_round_min_rtt >= self.last_round_min_rtt + rtt_thresh {
                    self.css_baseline_min_rtt = self.current_round_min_rtt;
                    self.is_in_css = true;
                    self.css_rounds = 0;
                }
            }
        } else {
            self.cwnd += growth / CSS_GROWTH_DIVISOR;
            if self.rtt_sample_count >= N_RTT_SAMPLE && self.current_round_min_rtt < self.css_baseline_min_rtt {
                self.css_baseline_min_rtt = INFINITY;
                self.is_in_css = false;
            }
            if css_is_over {
                self.ssthresh = self.cwnd;
            }
        }
    }
}

#[test]
fn slow_start_does_what_rfc_9406_says() {
    let (mut ended, mut resumed, mut steps) = (0, 0, 0);
    for seed in 0..4000 {
        let mut random = Random::new(seed, "hystart");
        let is_paced = seed % 2 == 1;
        let initial = [1.0, 10.0][(seed / 2 % 2) as usize];
        let (mut window, mut threshold) = (initial, f64::INFINITY);
        let mut slow_start = SlowStart::hystart(is_paced);
        let mut rfc = Rfc::new(initial, if is_paced { f64::INFINITY } else { 8.0 });
        let base = 1_000_000 * (1 + random.up_to(300));
        let (slope, noise) = (random.unit() * 0.02, random.up_to(base / 4));
        let (mut acknowledged, mut highest) = (0, initial as u64);
        for step in 0..2000_u64 {
            let newly = (1 + random.up_to(if seed % 3 == 0 { 12 } else { 2 })).min(highest - acknowledged);
            acknowledged += newly;
            // A queue that grows, and now and then has gone.
            let queue = if seed % 5 == 0 && step / 200 % 2 == 1 { 0.0 } else { slope * step as f64 };
            let rtt = base + (queue * base as f64) as u64 + random.up_to(noise);
            let was_in_css = rfc.is_in_css;
            let acked =
                Acked { newly, acknowledged, highest, rtt: Some(Duration::from_nanos(rtt)), ..Acked::default() };
            assert!(slow_start.grow(&acked, &mut window, &mut threshold));
            rfc.on_ack(newly, acknowledged, rtt, highest);
            assert_eq!((window, threshold), (rfc.cwnd, rfc.ssthresh), "seed {seed}, step {step}");
            resumed += u32::from(was_in_css && !rfc.is_in_css);
            steps += 1;
            if threshold.is_finite() {
                ended += 1;
                break;
            }
            highest = highest.max(acknowledged + window as u64);
            if window > 5000.0 {
                break;
            }
        }
    }
    assert!(ended > 300 && resumed > 100 && steps > 100_000, "{ended} ended, {resumed} resumed, {steps} steps");
}
