//! Frequencies, temperatures and the load average: what is read once for each check. Everything is `None` where the machine does not say it,
//! as most virtual machines do not.

use std::{
    fs,
    path::{Path, PathBuf},
};

use quiclab_record::{FrequencySeen, TemperatureSeen};

/// The load average of the last minute.
pub(super) fn load(root: &Path) -> Option<f64> {
    text(&root.join("proc/loadavg"))?.split_whitespace().next()?.parse().ok()
}

/// Frequencies of all CPUs.
pub(super) fn frequency(root: &Path) -> Option<FrequencySeen> {
    let policies = found(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq");
    let numbers = |name: &str| policies.iter().filter_map(|folder| number(&folder.join(name))).collect::<Vec<u64>>();
    let current = numbers("scaling_cur_freq");
    let mut governors: Vec<_> = policies.iter().filter_map(|folder| text(&folder.join("scaling_governor"))).collect();
    governors.sort();
    governors.dedup();
    Some(FrequencySeen {
        lowest_khz: *current.iter().min()?,
        highest_khz: *current.iter().max()?,
        allowed_khz: numbers("scaling_max_freq").into_iter().min(),
        hardware_khz: numbers("cpuinfo_max_freq").into_iter().max(),
        governors,
    })
}

/// The sensor nearest to the temperature at which the machine slows down; without such limits, the hottest.
pub(super) fn hottest(root: &Path) -> Option<TemperatureSeen> {
    let zones = found(root, "sys/class/thermal/thermal_zone[0-9]*");
    let sensors = zones.iter().filter_map(|zone| {
        Some(TemperatureSeen {
            sensor: text(&zone.join("type"))?,
            millidegrees: number(&zone.join("temp"))?,
            limit_millidegrees: limit(zone),
        })
    });
    sensors
        .max_by_key(|sensor| (sensor.limit_millidegrees.map(|limit| sensor.millidegrees - limit), sensor.millidegrees))
}

/// The lowest trip point at which something happens to the CPU's speed, or to the machine.
fn limit(zone: &Path) -> Option<i64> {
    let trips = found(zone, "trip_point_[0-9]*_type").into_iter().filter_map(|path| {
        let is_meant = matches!(text(&path)?.as_str(), "passive" | "hot" | "critical");
        let name = path.file_name()?.to_string_lossy().replace("_type", "_temp");
        number::<i64>(&path.with_file_name(name)).filter(|limit| is_meant && *limit > 0)
    });
    trips.min()
}

fn found(root: &Path, pattern: &str) -> Vec<PathBuf> {
    glob::glob(&root.join(pattern).to_string_lossy()).map(|paths| paths.flatten().collect()).unwrap_or_default()
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}
