//! `quiclab doctor`

mod hosts;
mod records;
mod screen;

use std::{env, fs, path::Path, process::Command, sync::atomic::Ordering, thread};

use anyhow::Result;
use quiclab_experiment::PATCHED_KERNEL;
use quiclab_pages::figure_files::rsvg;
use quiclab_testbed::{
    cache::{Cache, Care, Damage, Origin},
    guest::{agent::agent, kernels::recipe},
    image::Image,
    kernel::Kernel,
    kernel_build::{self, UML},
    netns::host::Facts,
    perform::Interrupted,
    sandbox,
    stack::is_installed,
    uml::is_hidden,
    vm::{
        machine::{QEMU_PACKAGE, qemu_version},
        priority,
    },
};
use serde::Serialize;

use crate::{
    session::{laboratory::open, signals},
    settings::DoctorSettings,
    terminal::output,
};

/// Room for kernel, image, builds and saved states, and for the records of a quick profile.
const WANTED_DISK_BYTES: u64 = 6 << 30;
/// Memory of a virtual machine that transfers 100 MiB.
const WANTED_MEMORY_BYTES_PER_RUN: u64 = 3 << 29;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    /// What.
    name: String,
    /// Whether quiclab can work with it as it is.
    good: bool,
    /// What there is.
    found: String,
    /// What to do; nothing where all is well.
    remedy: Option<String>,
    /// True where it is there and is not what it should be.
    #[serde(skip)]
    is_damage: bool,
    /// What cannot be done as it is, where everything else can; nothing where it is there, or where nothing works without it.
    needed_for: Option<String>,
}

/// Looks at this machine, or at records. Returns 0 where nothing is missing or damaged, 1 otherwise.
///
/// # Errors
/// Where a record cannot be read, or the findings cannot be printed.
pub fn doctor(settings: &DoctorSettings) -> Result<u8> {
    if !settings.records.is_empty() {
        return records::check(&settings.records, settings.json);
    }
    if let Some(file) = &settings.hosts {
        let checks = hosts::check(file)?;
        return show(&checks, settings.json, &hosts::summary(&checks));
    }
    let mut checks = vec![emulator(), agent_check()];
    checks.extend(programs());
    checks.extend(resources());
    checks.push(sandbox());
    checks.push(real_time());
    checks.push(figures());
    checks.extend(prepared(settings)?);
    if settings.cache {
        checks.extend(cached()?);
    }
    show(&checks, settings.json, &summary(&checks))
}

fn show(checks: &[Check], is_json: bool, summary: &str) -> Result<u8> {
    if is_json {
        output::print(&(serde_json::to_string_pretty(checks)? + "\n"))?;
    } else {
        output::print(&screen::screen(checks, output::terminal_width()))?;
        status!("quiclab: {summary}");
    }
    Ok(u8::from(checks.iter().any(|check| !check.good)))
}

fn emulator() -> Check {
    match qemu_version() {
        Ok(version) => good("QEMU", version),
        Err(error) => bad("QEMU", first_line(&error), format!("apt-get install {QEMU_PACKAGE}")),
    }
}

fn agent_check() -> Check {
    match agent() {
        Ok(path) => good("agent", path.display().to_string()),
        Err(error) => bad("agent", first_line(&error), "cargo build --release".to_owned()),
    }
}

/// Programs that make the image and take the kernel out of its package, with their packages.
fn programs() -> Vec<Check> {
    let needed = [
        ("mmdebstrap", "mmdebstrap"),
        ("mkfs.erofs", "erofs-utils"),
        ("newuidmap", "uidmap"),
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
        ("depmod", "kmod"),
        ("xz", "xz-utils"),
    ];
    needed
        .map(|(program, package)| match find(program) {
            Some(path) => good(program, path),
            None => bad(program, "not found".to_owned(), format!("apt-get install {package}")),
        })
        .into()
}

fn resources() -> Vec<Check> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut checks = vec![good("cores", format!("{cores}, so {cores} runs in parallel"))];
    checks.push(good(
        "priority",
        if priority::has_real_time() {
            "real-time, so other programs hardly slow runs down".to_owned()
        } else {
            "ordinary: runs yield to every other program; run as root, or with ulimit -r 1, to avoid that".to_owned()
        },
    ));
    let wanted = WANTED_MEMORY_BYTES_PER_RUN * cores as u64;
    if let Some(available) = available_memory() {
        let found = format!("{:.1} GiB available", available as f64 / f64::from(1 << 30));
        checks.push(if available >= wanted {
            good("memory", found)
        } else {
            let fitting = (available / WANTED_MEMORY_BYTES_PER_RUN).max(1);
            bad("memory", found, format!("quiclab run -j {fitting}"))
        });
    }
    match Cache::from_environment() {
        Err(error) => checks.push(bad("cache", first_line(&error), "export QUICLAB_CACHE=DIR".to_owned())),
        Ok(cache) => {
            let folder = cache.path("");
            let existing = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
            if let Some(free) = free_space(existing) {
                let found = format!("{}, {:.1} GiB free", folder.display(), free as f64 / f64::from(1 << 30));
                checks.push(if free >= WANTED_DISK_BYTES {
                    good("cache", found)
                } else {
                    bad("cache", found, "export QUICLAB_CACHE=DIR on a disk with 6 GiB free".to_owned())
                });
            }
        }
    }
    checks
}

/// What surrounds the programs of stacks without sockets, which run on this machine as the user.
fn sandbox() -> Check {
    let sandbox = sandbox::available();
    let name = "sandbox of the simulator";
    match &sandbox.missing()[..] {
        [] => good(name, "namespaces, Landlock, seccomp".to_owned()),
        missing if sandbox.is_closed() => {
            good(name, format!("enough to keep programs away from files, processes and the network; without {}", missing.join(", ")))
        }
        missing => absent(
            name,
            format!("no {}", missing.join(", no ")),
            "sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0, as far as there are such settings"
                .to_owned(),
            "running stacks without sockets that you do not trust".to_owned(),
        ),
    }
}

/// What runs in real time need: namespaces, and queueing disciplines of this machine's kernel.
fn real_time() -> Check {
    let name = "--testbed netns";
    let needed_for = "runs in real time";
    match Facts::find() {
        Ok(facts) => {
            let way = if facts.is_in_user_namespace { "in a user namespace, without root" } else { "as root" };
            let missing: Vec<_> = facts.missing.into_iter().collect();
            good(
                name,
                match &missing[..] {
                    [] => format!("works {way}"),
                    missing => format!(
                        "works {way}; the kernel has no {}: quiclab moves packets itself where a path needs them, and refuses server_qdisc \
                     with them",
                        missing.join(", ")
                    ),
                },
            )
        }
        Err(error) => {
            let text = format!("{error:#}");
            let remedy = text.split_once("hint: ").map_or("run as root", |(_, hint)| hint).to_owned();
            absent(name, first_line(&error), remedy, needed_for.to_owned())
        }
    }
}

/// What turns figures into PDF and PNG files; SVG files and pages need nothing.
fn figures() -> Check {
    let name = "figures as PDF and PNG";
    match find(rsvg::PROGRAM) {
        Some(path) => good(name, path),
        None => absent(
            name,
            format!("no {}", rsvg::PROGRAM),
            format!("apt-get install {}", rsvg::PACKAGE),
            "PDF and PNG files of figures".to_owned(),
        ),
    }
}

/// Toolchains and packages of the stacks (each is needed for that stack alone), and what is already in the cache.
fn prepared(settings: &DoctorSettings) -> Result<Vec<Check>> {
    let laboratory = match open(&settings.stacks, signals::stop_flag()?) {
        Ok(laboratory) => laboratory,
        Err(error) => return Ok(vec![bad("stacks", first_line(&error), "--stacks DIR".to_owned())]),
    };
    let mut checks = Vec::new();
    for manifest in laboratory.stack_store.default_builds() {
        let name = format!("to build {}", manifest.name);
        let tools = manifest.build.host_tools.iter().filter(|tool| find(tool).is_none()).cloned().collect::<Vec<_>>();
        let packages =
            manifest.build.host_packages.iter().filter(|one| !is_installed(one)).cloned().collect::<Vec<_>>();
        let needed_for = format!("building the stack {}", manifest.name);
        checks.push(match (&tools[..], &packages[..]) {
            ([], []) => good(&name, "installed".to_owned()),
            ([], packages) => {
                let remedy = format!("apt-get install {}", packages.join(" "));
                absent(&name, format!("no {}", packages.join(", ")), remedy, needed_for)
            }
            (tools, _) => absent(
                &name,
                format!("no {} on the PATH", tools.join(", ")),
                "README.md, \"Requirements\", explains how to get toolchains".to_owned(),
                needed_for,
            ),
        });
    }
    let name = format!("to build kernel {PATCHED_KERNEL}");
    checks.push(match &kernel_build::missing_packages()[..] {
        [] => good(&name, "installed".to_owned()),
        missing => {
            let remedy = format!("apt-get install {}", missing.join(" "));
            absent(&name, format!("no {}", missing.join(", ")), remedy, format!("building kernel {PATCHED_KERNEL}"))
        }
    });
    let made = |folder: Option<&Path>| match folder.map(Origin::of) {
        None => "not built yet; quiclab run or quiclab tools prepare builds it".to_owned(),
        Some(None) => "in the cache".to_owned(),
        Some(Some(origin)) => format!("in the cache, {origin}"),
    };
    let kernel = Kernel::find(&laboratory.stack_store.cache, "6.1");
    checks.push(good("kernel 6.1", made(kernel.as_ref().map(Kernel::folder))));
    // An installed quiclab does not have the sources.
    let uml = recipe(&laboratory.stack_store, &UML).ok().and_then(|uml| uml.find(&laboratory.stack_store.cache));
    checks.push(match uml {
        Some(kernel) => good("kernel uml", made(Some(kernel.folder()))),
        None => good("kernel uml", format!("not built yet; {} builds it, for --testbed uml", UML.command)),
    });
    checks.push(match is_hidden() {
        true => good("CPUID", "can fault, so guests of --testbed uml see the same processor everywhere".to_owned()),
        false => absent(
            "CPUID",
            "cannot fault".to_owned(),
            "another machine, whose /proc/cpuinfo has the flag cpuid_fault".to_owned(),
            "runs with --testbed uml of stacks with guest.hardware_random".to_owned(),
        ),
    });
    let image = Image::find(&laboratory.stack_store.cache, &Default::default());
    checks.push(good("root file system of the guests", made(image.as_ref().map(Image::folder))));
    Ok(checks)
}

/// Reads everything in the cache that has hashes.
fn cached() -> Result<Vec<Check>> {
    let cache = Cache::from_environment()?;
    let stop = signals::stop_flag()?;
    let things: Vec<_> = cache.things()?.into_iter().filter(|thing| thing.can_be_checked).collect();
    let (mut checks, mut foreign, mut own, mut bytes) = (Vec::new(), Vec::new(), 0, 0);
    for thing in &things {
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let Err(error) = cache.verify(&thing.path, Care::Thorough) else {
            // Of what was made elsewhere, hashes say that nobody has changed it here, and nothing else.
            match &thing.origin {
                None => (own, bytes) = (own + 1, bytes + thing.bytes),
                Some(origin) => foreign.push(good(&thing.name, format!("{origin}; unchanged since then"))),
            }
            continue;
        };
        let (problem, remedy) = match error.downcast::<Damage>() {
            Ok(damage) => (damage.problem, damage.hint),
            // It was removed meanwhile.
            Err(_) if !thing.path.exists() => continue,
            Err(error) => (first_line(&error), format!("quiclab cache remove {}", thing.name)),
        };
        checks.push(Check { is_damage: true, ..bad(&thing.name, problem, remedy) });
    }
    let found = format!("{own} things ({:.1} GB) are as they were made", bytes as f64 / 1e9);
    checks.insert(0, good("contents of the cache", found));
    checks.extend(foreign);
    Ok(checks)
}

fn good(name: &str, found: String) -> Check {
    Check { name: name.to_owned(), good: true, found, remedy: None, is_damage: false, needed_for: None }
}

/// Only what `needed_for` needs; everything else works without.
fn absent(name: &str, found: String, remedy: String, needed_for: String) -> Check {
    Check {
        name: name.to_owned(),
        good: true,
        found,
        remedy: Some(remedy),
        is_damage: false,
        needed_for: Some(needed_for),
    }
}

fn bad(name: &str, found: String, remedy: String) -> Check {
    Check { name: name.to_owned(), good: false, found, remedy: Some(remedy), is_damage: false, needed_for: None }
}

fn first_line(error: &anyhow::Error) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// Where a program is; the folders of system programs are looked at even where a user's `PATH` lacks them.
fn find(program: &str) -> Option<String> {
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).env("PATH", path).output().ok()?;
    found.status.success().then(|| String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

fn free_space(folder: &Path) -> Option<u64> {
    let statistics = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(statistics.blocks_available() * statistics.fragment_size())
}

/// What all findings mean, in a sentence or two.
fn summary(checks: &[Check]) -> String {
    let missing: Vec<_> = checks.iter().filter(|check| !check.good).map(|check| check.name.as_str()).collect();
    if !missing.is_empty() {
        let what = if let [_] = missing[..] { "thing is" } else { "things are" };
        let state = if checks.iter().any(|check| check.is_damage) {
            "missing, damaged or too small"
        } else {
            "missing or too small"
        };
        return format!("{} required {what} {state}: {}", missing.len(), missing.join(", "));
    }
    let absent: Vec<_> = checks.iter().filter_map(|check| check.needed_for.as_deref()).collect();
    match absent.join(", ") {
        none if none.is_empty() => "this machine can run everything; no root is needed for runs".to_owned(),
        absent => format!(
            "everything required is there; no root is needed for runs. Some optional things are missing; they are \
             needed only for {absent}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_does_not_promise_what_optional_things_are_needed_for() {
        let there = || good("QEMU", "10.0".to_owned());
        let no_java = || {
            absent("to build kwik", "no mvn".to_owned(), "README.md".to_owned(), "building the stack kwik".to_owned())
        };
        assert_eq!(summary(&[there()]), "this machine can run everything; no root is needed for runs");
        let optional = summary(&[there(), no_java()]);
        assert!(!optional.contains("can run everything"), "{optional}");
        assert!(optional.ends_with("needed only for building the stack kwik"), "{optional}");
        let missing = summary(&[bad("QEMU", "not found".to_owned(), "apt-get install qemu".to_owned()), no_java()]);
        assert_eq!(missing, "1 required thing is missing or too small: QEMU");
    }
}
