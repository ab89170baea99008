//! What sets this host's clock: the kernel's own account, and the programs that are known to do it.

use std::{fs, path::Path};

use quiclab_agent_protocol::hosts::ClockFacts;

/// Programs that set clocks, by the names of their processes (`/proc/PID/comm`).
const KEEPERS: [&str; 6] = ["ptp4l", "phc2sys", "chronyd", "ntpd", "systemd-timesyn", "openntpd"];
/// Where `chronyd` is told of the clock of a card.
const CHRONY: [&str; 4] = ["etc/chrony/chrony.conf", "etc/chrony.conf", "etc/chrony/conf.d", "etc/chrony.d"];

/// Looks, without any tool.
pub(super) fn look() -> ClockFacts {
    // SAFETY: all zeros is a valid value of this plain struct, and asks for nothing to be changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the struct outlives the call.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    ClockFacts {
        is_synchronised: answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
        largest_error_us: u64::try_from(state.maxerror).unwrap_or(0),
        ptp_clocks: ptp_clocks(Path::new("/sys/class/ptp")),
        kept_by: keepers(Path::new("/")),
    }
}

fn ptp_clocks(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .map(|entry| {
            let name = fs::read_to_string(entry.path().join("clock_name")).unwrap_or_default();
            format!("{}: {}", entry.file_name().to_string_lossy(), name.trim())
        })
        .collect();
    all.sort();
    all
}

/// The programs that run below `root`, each once.
fn keepers(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let names = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_process))
        .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    let mut found: Vec<_> = names.filter_map(|name| KEEPERS.into_iter().find(|one| *one == name.trim())).collect();
    found.sort_unstable();
    found.dedup();
    let named = |name: &str| match (name, chrony_reference(root)) {
        ("chronyd", Some(reference)) => format!("chronyd (reference: {reference})"),
        ("systemd-timesyn", _) => "systemd-timesyncd".to_owned(),
        (name, _) => name.to_owned(),
    };
    found.into_iter().map(named).collect()
}

/// The clock of a card that `chronyd` follows, such as `PHC /dev/ptp0`.
fn chrony_reference(root: &Path) -> Option<String> {
    let files = CHRONY.iter().map(|path| root.join(path)).flat_map(|path| match fs::read_dir(&path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![path],
    });
    let texts = files.filter_map(|file| fs::read_to_string(file).ok());
    texts.collect::<Vec<_>>().iter().flat_map(|text| text.lines()).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (directive, driver, place) = (words.next()?, words.next()?, words.next()?);
        (directive == "refclock" && driver == "PHC").then(|| format!("PHC {place}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_set_the_clock_are_found_by_name_and_chrony_with_its_reference() {
        let root = tempfile::tempdir().unwrap();
        assert!(keepers(root.path()).is_empty());
        for (process, name) in [("12", "ptp4l"), ("13", "bash"), ("14", "chronyd"), ("15", "chronyd"), ("self", "ntpd")]
        {
            let folder = root.path().join("proc").join(process);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        }
        assert_eq!(keepers(root.path()), ["chronyd", "ptp4l"]);
        let folder = root.path().join("etc/chrony/conf.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("card.conf"), "# refclock PHC /dev/ptp9\nrefclock PHC /dev/ptp0 poll 0\n").unwrap();
        assert_eq!(keepers(root.path()), ["chronyd (reference: PHC /dev/ptp0)", "ptp4l"]);
    }

    #[test]
    fn clocks_of_cards_have_their_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ptp0")).unwrap();
        fs::write(folder.path().join("ptp0/clock_name"), "a card\n").unwrap();
        assert_eq!(ptp_clocks(folder.path()), ["ptp0: a card"]);
    }
}
