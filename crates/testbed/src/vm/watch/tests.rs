use std::{
    os::fd::AsRawFd,
    process::{Command, Stdio},
};

use quiclab_testing::wait_until;

use super::*;

const NEVER: fn() -> bool = || false;

fn look(at: u64, used: u64, sleeps: bool) -> Look {
    Look { at: Duration::from_secs(at), used: Duration::from_secs(used), sleeps }
}

#[test]
fn a_guest_that_has_not_begun_after_ten_seconds_of_cpu_time_is_dead() {
    let mut judge = Judge::new(TIMEOUTS);
    // An hour on a machine that gave it less than that.
    assert_eq!(judge.judge(look(3600, 9, false), NEVER).unwrap(), None);
    let dead = judge.judge(look(3601, 10, false), NEVER).unwrap();
    assert_eq!(dead, Some(Lifeless::NeverBegan(Duration::from_secs(10))));
}

#[test]
fn a_guest_that_has_begun_may_compute_for_ever() {
    let mut judge = Judge::new(TIMEOUTS);
    assert_eq!(judge.judge(look(10, 10, false), || true).unwrap(), None);
    assert_eq!(judge.judge(look(36_000, 36_000, false), || unreachable!("it is known to have begun")).unwrap(), None);
}

#[test]
fn a_qemu_that_sleeps_for_ten_seconds_is_dead_even_after_its_guest_has_begun() {
    let mut judge = Judge { has_begun: true, ..Judge::new(TIMEOUTS) };
    assert_eq!(judge.judge(look(5, 3, true), NEVER).unwrap(), None);
    assert_eq!(judge.judge(look(14, 3, true), NEVER).unwrap(), None);
    let dead = judge.judge(look(15, 3, true), NEVER).unwrap();
    assert_eq!(dead, Some(Lifeless::Sleeps(Duration::from_secs(10))));
}

#[test]
fn work_and_waiting_for_a_cpu_or_a_disk_are_no_sleep() {
    let mut judge = Judge { has_begun: true, ..Judge::new(TIMEOUTS) };
    for second in 0..100 {
        // Seen asleep at most looks, but it works in between.
        assert_eq!(judge.judge(look(second, second, true), NEVER).unwrap(), None, "second {second}");
    }
    for second in 100..200 {
        // Starved: it never gets a CPU, and once in nine seconds it is seen to wait for one.
        assert_eq!(judge.judge(look(second, 100, second % 9 != 0), NEVER).unwrap(), None, "second {second}");
    }
}

#[test]
fn state_and_times_are_found_behind_any_name() {
    let line = "17 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 50 7 8 9 20 0 1 0 100 1000 10";
    assert_eq!(state_and_ticks(line), Some(("S", 57)));
    assert_eq!(state_and_ticks("17 (a"), None);
}

#[test]
fn a_process_that_sleeps_works_or_is_stopped_is_told_apart() {
    let mut child =
        Command::new("sh").args(["-c", "read line; while :; do :; done"]).stdin(Stdio::piped()).spawn().unwrap();
    let of = |child: &std::process::Child| seen_of(child.id()).unwrap().unwrap();
    wait_until("a program that waits for a line", || of(&child).1);
    drop(child.stdin.take());
    wait_until("a program that computes", || !of(&child).1 && of(&child).0 > Duration::from_millis(50));
    // SAFETY: plain system call on a child that is not reaped.
    unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
    assert!(!of(&child).1, "who is stopped does not sleep");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen_of(child.id()).unwrap(), None);
}

#[test]
fn pages_count_once_they_are_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a, b");
    let file = fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    let pages = || has_pages_of(std::process::id(), "a, b").unwrap();
    assert_eq!(pages(), None);
    file.set_len(8192).unwrap();
    // SAFETY: a new mapping of a file that is as long.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            8192,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    assert_eq!(pages(), Some(false));
    // SAFETY: inside the mapping.
    unsafe { start.cast::<u8>().write_volatile(1) };
    assert_eq!(pages(), Some(true));
    // SAFETY: ours, and nobody uses it any more.
    unsafe { libc::munmap(start, 8192) };
}
