//! Machines made of files.

use std::{
    cell::RefCell,
    fs,
    path::Path,
    path::PathBuf,
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

use quiclab_record::{MachineWindow, TemperatureSeen};
use tempfile::TempDir;

use super::{Watch, facts, judge};

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // As the kernel's files, never half written.
    fs::write(path.with_extension("new"), text).unwrap();
    fs::rename(path.with_extension("new"), path).unwrap();
}

/// Two CPUs that were busy and stolen for so many ticks.
fn stat(root: &Path, busy: u64, steal: u64) {
    let line = |name: &str| format!("{name} {busy} 0 0 500 0 0 0 {steal} 0 0\n");
    write(root, "proc/stat", &(line("cpu ") + &line("cpu0") + &line("cpu1")));
}

fn machine() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    stat(root.path(), 100, 0);
    write(root.path(), "proc/loadavg", "1.50 1.00 0.50 1/100 1\n");
    root
}

/// Tests beside these ones use this process's CPU time.
fn watch(root: &Path) -> Watch {
    Watch::of(root, || quiclab_units::Duration::ZERO)
}

fn check(watch: &Watch, longest_wait: Duration) -> (super::Checked, Duration, usize) {
    let said = std::cell::Cell::new(0);
    let start = Instant::now();
    let checked = watch.wait_for_quiet(longest_wait, &AtomicBool::new(false), &|_| said.set(said.get() + 1));
    (checked, start.elapsed(), said.get())
}

#[test]
fn a_quiet_machine_is_found_quiet_without_waiting() {
    let root = machine();
    let watch = watch(root.path());
    let (checked, _, said) = check(&watch, Duration::from_secs(30));
    assert_eq!((checked.seen.not_quiet.len(), said, checked.seen.waited.as_nanos()), (0, 0, 0));
    assert_eq!((checked.seen.load_1_minute, checked.seen.before.cpus), (Some(1.5), 2));
}

#[test]
fn the_time_since_the_last_run_serves_as_the_window() {
    let root = machine();
    let watch = watch(root.path());
    let (checked, ..) = check(&watch, Duration::ZERO);
    watch.finish(checked);
    thread::sleep(Duration::from_millis(150));
    let (checked, ..) = check(&watch, Duration::ZERO);
    // A window of its own would have begun after the pause.
    assert!(checked.seen.before.length.as_nanos() >= 150_000_000, "{:?}", checked.seen.before);
}

/// A machine both of whose CPUs are busy from now on.
#[derive(Clone)]
struct Busy {
    root: PathBuf,
    start: Instant,
    lasts: Duration,
}

thread_local! {
    static BUSY: RefCell<Option<Busy>> = const { RefCell::new(None) };
}

/// Watches a machine that is busy for this long. The ticks are those of the moment at which they are read, however late that is.
fn watch_busy(root: &Path, lasts: Duration) -> Watch {
    BUSY.set(Some(Busy { root: root.to_path_buf(), start: Instant::now(), lasts }));
    // The watch asks for this process's own time directly before it reads the machine's.
    Watch::of(root, || {
        let Busy { root, start, lasts } = BUSY.with_borrow(Clone::clone).expect("a busy machine");
        // Two CPUs: 200 ticks a second.
        stat(&root, 100 + start.elapsed().min(lasts).as_millis() as u64 / 5, 0);
        quiclab_units::Duration::ZERO
    })
}

#[test]
fn a_machine_that_stays_busy_is_waited_for_up_to_the_limit_and_then_said_to_be_busy() {
    let root = machine();
    let watch = watch_busy(root.path(), Duration::from_secs(3600));
    let (checked, took, said) = check(&watch, Duration::from_millis(400));
    assert!(took >= Duration::from_millis(400), "{took:?}");
    assert_eq!((checked.seen.not_quiet.len(), said), (1, 1), "{:?}", checked.seen);
    assert!(checked.seen.not_quiet[0].contains("of 2 CPUs"), "{:?}", checked.seen);
    assert!(checked.seen.waited.as_nanos() >= 400_000_000);
}

#[test]
fn a_machine_that_becomes_quiet_is_waited_for() {
    let root = machine();
    let watch = watch_busy(root.path(), Duration::from_millis(500));
    let (checked, _, said) = check(&watch, Duration::from_secs(300));
    assert_eq!((checked.seen.not_quiet.len(), said), (0, 1), "{:?}", checked.seen);
    assert!(checked.seen.waited.as_nanos() >= 300_000_000, "{:?}", checked.seen);
}

#[test]
fn steal_during_a_run_is_seen_and_the_time_of_others_is_not_claimed() {
    let root = machine();
    let watch = watch(root.path());
    let (checked, ..) = check(&watch, Duration::ZERO);
    stat(root.path(), 160, 30);
    let during = watch.finish(checked).during.unwrap();
    assert_eq!((during.steal.unwrap().as_nanos(), during.others, during.waiting), (300_000_000, None, None));
}

#[test]
fn what_this_process_does_itself_does_not_speak_against_the_machine() {
    let root = machine();
    let watch = Watch::of(root.path(), super::counters::own);
    let (checked, ..) = check(&watch, Duration::ZERO);
    watch.finish(checked);
    let start = Instant::now();
    let before = super::counters::own();
    while super::counters::own().as_nanos() - before.as_nanos() < 200_000_000 {
        assert!(start.elapsed() < Duration::from_secs(300), "hung: no 200 ms of CPU time in five minutes");
    }
    // 20 ticks of the 200 ms.
    stat(root.path(), 120, 0);
    let (checked, ..) = check(&watch, Duration::ZERO);
    assert_eq!(checked.seen.before.others.map(quiclab_units::Duration::as_nanos), Some(0), "{:?}", checked.seen);
}

#[test]
fn a_machine_without_these_files_is_not_called_busy() {
    let root = tempfile::tempdir().unwrap();
    let (checked, ..) = check(&watch(root.path()), Duration::ZERO);
    assert!(checked.seen.not_quiet.is_empty());
    let MachineWindow { others, steal, waiting, throttles, .. } = checked.seen.before;
    assert_eq!((others, steal, waiting, throttles), (None, None, None, None));
    assert_eq!((checked.seen.frequency, checked.seen.hottest), (None, None));
}

#[test]
fn limits_hold_just_inside_and_not_just_outside() {
    let time = |milliseconds| Some(quiclab_units::Duration::from_millis(milliseconds));
    let quiet = MachineWindow {
        length: quiclab_units::Duration::from_secs(1),
        cpus: 2,
        others: time(250),
        steal: time(100),
        waiting: time(100),
        throttles: Some(0),
    };
    let hot = |millidegrees| {
        Some(TemperatureSeen { sensor: "cpu".to_owned(), millidegrees, limit_millidegrees: Some(90_000) })
    };
    assert!(judge::reasons(&quiet, hot(87_000).as_ref()).is_empty());
    let all = [
        (MachineWindow { others: time(251), ..quiet }, None, "0.3 of 2 CPUs"),
        (MachineWindow { steal: time(101), ..quiet }, None, "(steal)"),
        (MachineWindow { waiting: time(101), ..quiet }, None, "wait for a CPU"),
        (MachineWindow { throttles: Some(1), ..quiet }, None, "slowed down 1 times"),
        (quiet, hot(87_001), "cpu is at 87 \u{b0}C, expected at most 87 \u{b0}C"),
    ];
    for (window, hottest, expected) in all {
        let reasons = judge::reasons(&window, hottest.as_ref());
        assert!(reasons.len() == 1 && reasons[0].contains(expected), "{reasons:?}");
    }
}

#[test]
fn frequencies_temperatures_and_throttles_are_read_where_they_are() {
    let root = machine();
    for (cpu, current) in [(0, 800_000), (1, 3_200_000)] {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        write(root.path(), &format!("{folder}/cpufreq/scaling_cur_freq"), &format!("{current}\n"));
        write(root.path(), &format!("{folder}/cpufreq/scaling_max_freq"), "3200000\n");
        write(root.path(), &format!("{folder}/cpufreq/cpuinfo_max_freq"), "4000000\n");
        write(root.path(), &format!("{folder}/cpufreq/scaling_governor"), "powersave\n");
        write(root.path(), &format!("{folder}/thermal_throttle/core_throttle_count"), "4\n");
    }
    for (zone, name, temperature, limit) in [(0, "acpitz", 95_000, None), (1, "x86_pkg_temp", 60_000, Some(80_000))] {
        let folder = format!("sys/class/thermal/thermal_zone{zone}");
        write(root.path(), &format!("{folder}/type"), &format!("{name}\n"));
        write(root.path(), &format!("{folder}/temp"), &format!("{temperature}\n"));
        if let Some(limit) = limit {
            write(root.path(), &format!("{folder}/trip_point_0_type"), "passive\n");
            write(root.path(), &format!("{folder}/trip_point_0_temp"), &format!("{limit}\n"));
        }
    }
    let frequency = facts::frequency(root.path()).unwrap();
    assert_eq!((frequency.lowest_khz, frequency.highest_khz), (800_000, 3_200_000));
    assert_eq!((frequency.allowed_khz, frequency.hardware_khz), (Some(3_200_000), Some(4_000_000)));
    assert_eq!(frequency.governors, ["powersave"]);
    // The one that has a limit says more.
    let hottest = facts::hottest(root.path()).unwrap();
    assert_eq!((hottest.sensor.as_str(), hottest.limit_millidegrees), ("x86_pkg_temp", Some(80_000)));
    let watch = watch(root.path());
    let (checked, ..) = check(&watch, Duration::ZERO);
    write(root.path(), "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n");
    assert_eq!(watch.finish(checked).during.unwrap().throttles, Some(3));
}
