//! Commands are killed at random moments, again and again: nothing finished is lost or changed, nothing half done is taken for whole, and
//! the next start leaves nothing behind.
//!
//! `make kills` runs it with KILLS (1000) kills over all verbs that write; `make test` with a few over those that need no virtual machine.
//! KILLS_SEED chooses the moments, KILLS_CASES the verbs.

pub mod cases;
pub mod place;

use std::{
    collections::BTreeMap,
    env,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use crate::common::output_of;
use cases::{Case, QUICK, all};
use place::Place;
use quiclab_testing::{processes_with, wait_until};

/// One start in this many, by chance, is not killed, and must finish what the killed ones began.
const FINISHED_OF: u64 = 4;

/// What came of the kills of one verb.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    /// Starts that ended before they were killed.
    too_late: u64,
    /// Starts after a kill that were let finish.
    finished: u64,
    /// Kills that left something, such as an unfinished record, for the next start to remove.
    leftovers: u64,
    /// Records and files that were there when a kill came, and stayed as they were.
    kept: u64,
}

/// A short sequence that is the same for a seed; what it hits depends on the machine.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

fn number(name: &str, usual: u64) -> u64 {
    env::var(name)
        .map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}: found {text}, expected a number")))
}

/// A verb with its folder, and what it leaves where nobody kills it.
struct Bench {
    case: &'static Case,
    place: Place,
    usual: Duration,
    tally: Tally,
}

impl Bench {
    fn new(case: &'static Case) -> Self {
        let mut place = Place::new(case.name);
        (case.prepare)(&place);
        place.note_before();
        // Twice: the first one may build what both need.
        let mut usual = Duration::ZERO;
        for _ in 0..2 {
            place.clear();
            let start = Instant::now();
            let done = output_of(&mut (case.command)(&place));
            assert_eq!(done.status, Some(0), "{}: {}{}", case.name, done.output, done.errors);
            usual = start.elapsed();
        }
        place.note_whole(case.varies);
        place.clear();
        Self { case, place, usual, tally: Tally::default() }
    }

    /// Starts the command and kills it some time later, then looks at what is there.
    fn kill(&mut self, random: &mut Random) {
        let before = self.place.finished();
        let mut command = (self.case.command)(&self.place);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(random.below(self.usual.as_micros() as u64)));
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        let mark = self.place.mark();
        wait_until("the kernel to end what the command has started", || processes_with(&mark).is_empty());
        self.place.check_whole(&before);
        self.tally.kept += before.len() as u64;
        self.tally.kills += 1;
        self.tally.too_late += u64::from(is_over);
        self.tally.leftovers += u64::from(!self.place.leftovers().is_empty());
    }

    /// Starts the command and lets it finish: everything is there, and nothing else.
    fn finish(&mut self) {
        let before = self.place.finished();
        let done = output_of(&mut (self.case.command)(&self.place));
        assert_eq!(done.status, Some(0), "{}: {}{}", self.case.name, done.output, done.errors);
        self.place.check_whole(&before);
        assert_eq!(self.place.missing(), Vec::<String>::new(), "{}: after the next start", self.case.name);
        assert_eq!(self.place.leftovers(), Vec::<String>::new(), "{}: after the next start", self.case.name);
        let mark = self.place.mark();
        assert_eq!(processes_with(&mark), Vec::<String>::new(), "{}: after the next start", self.case.name);
        self.tally.finished += 1;
        self.place.clear();
    }
}

fn kill_all(cases: Vec<&'static Case>, kills: u64, seed: u64) -> BTreeMap<&'static str, Tally> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut benches: Vec<_> = cases.into_iter().map(Bench::new).collect();
    let weights: u64 = benches.iter().map(|bench| bench.case.weight).sum();
    for kill in 1..=kills {
        let mut draw = random.below(weights);
        let chosen = benches.iter_mut().find(|bench| match draw.checked_sub(bench.case.weight) {
            Some(rest) => {
                draw = rest;
                false
            }
            None => true,
        });
        let bench = chosen.expect("the weights add up");
        bench.kill(&mut random);
        if random.below(FINISHED_OF) == 0 {
            bench.finish();
        }
        if kill % 50 == 0 {
            eprintln!("{kill} of {kills} kills");
        }
    }
    benches.iter_mut().for_each(Bench::finish);
    benches.into_iter().map(|bench| (bench.case.name, bench.tally)).collect()
}

#[test]
fn a_few_kills_lose_nothing() {
    let tallies = kill_all(all().iter().filter(|case| QUICK.contains(&case.name)).collect(), 24, 1);
    assert_eq!(tallies.values().map(|tally| tally.kills).sum::<u64>(), 24);
}

#[test]
#[ignore = "make kills: some seconds for each kill of a virtual machine"]
fn many_kills_lose_nothing() {
    let (kills, seed) = (number("KILLS", 1000), number("KILLS_SEED", 1));
    let wanted = env::var("KILLS_CASES").ok();
    let is_wanted = |case: &&Case| {
        case.weight > 0 && wanted.as_ref().is_none_or(|names| names.split(',').any(|name| name == case.name))
    };
    let start = Instant::now();
    let tallies = kill_all(all().iter().filter(is_wanted).collect(), kills, seed);
    println!("\n{kills} kills with seed {seed} in {:.0} s", start.elapsed().as_secs_f64());
    println!(
        "| verb | kills | ended before | left something | finished afterwards | files that were there and stayed |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, Tally { kills, too_late, leftovers, finished, kept }) in &tallies {
        println!("| {name} | {kills} | {too_late} | {leftovers} | {finished} | {kept} |");
    }
    let hit: u64 = tallies.values().map(|tally| tally.kills - tally.too_late).sum();
    assert!(hit * 2 > kills, "{hit} of {kills} kills hit a command at work: too few to show anything");
}
