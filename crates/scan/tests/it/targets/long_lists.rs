//! Long lists: how much time and memory they take. Apart from other tests, which have memory of their own.

use std::{
    io::{self, BufRead, Read},
    time::Duration,
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use quiclab_scan::targets::List;

/// `count` lines `rank,name` of which every eleventh is one that was there before; never in memory.
struct Generated {
    next: u64,
    count: u64,
    line: Vec<u8>,
    at: usize,
}

impl Read for Generated {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("lines are read by their buffer"))
    }
}

impl BufRead for Generated {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.line.len() && self.next < self.count {
            let name = if self.next % 11 == 10 { self.next / 2 } else { self.next };
            self.line = format!("{},name-{name}.example\n", self.next).into_bytes();
            (self.next, self.at) = (self.next + 1, 0);
        }
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at += length;
    }
}

/// CPU time of this process, which does not count what other processes take of a busy machine.
fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("usage of this process");
    Duration::from_micros((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as u64)
}

/// Bytes of memory that this process has now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status of this process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("resident memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

fn measure(count: u64) -> (Duration, u64) {
    let (before, begin) = (resident(), cpu_time());
    let mut list = List::new(Generated { next: 0, count, line: Vec::new(), at: 0 });
    let mut most = before;
    for (index, item) in (&mut list).enumerate() {
        assert!(item.is_ok());
        if index % 50_000 == 0 {
            most = most.max(resident());
        }
    }
    most = most.max(resident());
    let counts = list.counts();
    // Half of a number below, which an eleventh line does not have for a name, unless that is an eleventh itself.
    let copies = (0..count).filter(|line| line % 11 == 10);
    let expected = copies.filter(|line| (line / 2) % 11 != 10).count() as u64;
    assert_eq!((counts.lines, counts.unreadable), (count, 0));
    assert!(counts.duplicates >= expected && counts.targets + counts.duplicates == count);
    (cpu_time() - begin, most - before)
}

#[test]
fn a_million_lines_take_little_time_and_memory() {
    let (time, memory) = measure(1_000_000);
    println!("{time:?}, {} KiB", memory / 1024);
    assert!(memory <= 40 << 20, "{memory} bytes");
    assert!(time < Duration::from_secs(60), "{time:?}");
}

#[test]
#[ignore = "takes minutes without optimisation; run it alone"]
fn ten_million_lines_take_at_most_200_mib() {
    let (time, memory) = measure(10_000_000);
    println!("{time:?}, {} KiB", memory / 1024);
    assert!(memory <= 200 << 20, "{memory} bytes");
}
