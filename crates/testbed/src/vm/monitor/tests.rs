use std::{fs::File, path::Path};

use super::*;
use crate::{cache::Cache, cores::cores};

/// `cli; hlt`: sleeps, and nothing can wake it. Devices still have timers, so that virtual time goes on.
const SLEEP: &[u8] = &[0xfa, 0xf4];
/// `jmp $`: computes for ever.
const SPIN: &[u8] = &[0xeb, 0xfe];
/// Writes 6 to the reset register of the chipset.
const REBOOT: &[u8] = &[0xb0, 0x06, 0xba, 0xf9, 0x0c, 0xee, 0xeb, 0xfe];
/// Writes 1 to the device by which guests stop themselves.
const STOP: &[u8] = &[0xb0, 0x01, 0xba, 0x05, 0x05, 0xee, 0xeb, 0xfe];

const TIMEOUTS: Timeouts = Timeouts {
    to_begin: Duration::from_millis(600),
    first_look: Duration::from_millis(200),
    asleep: Duration::from_millis(1500),
};

/// A machine that runs these instructions from its first one on.
fn machine(folder: &Path, instructions: &[u8]) -> Qemu {
    let mut rom = vec![0xf4; 1 << 16];
    rom[0xfff0..0xfff0 + instructions.len()].copy_from_slice(instructions);
    std::fs::write(folder.join("rom"), rom).unwrap();
    File::create(folder.join("slot")).unwrap().set_len(1 << 20).unwrap();
    // A guest of one instruction can end before QEMU has answered that it goes on.
    (0..5).find_map(|_| started(folder)).expect("QEMU answers")
}

/// `None` where the guest ended before QEMU's answer came.
fn started(folder: &Path) -> Option<Qemu> {
    let mut command = Command::new(QEMU);
    command.current_dir(folder).args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-nic",
        "none",
    ]);
    command.args(["-machine", "pc,usb=off", "-m", "64M", "-bios", "rom", "-qmp", "stdio"]);
    command.args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
    command.args(["-object", "memory-backend-file,id=slot,share=on,size=1M,mem-path=slot"]);
    command.args(["-device", "pvpanic", "-action", "panic=pause", "-S"]);
    let core = cores().unwrap()[0];
    let mut qemu = Qemu::start(command, core, Arc::default(), Duration::from_secs(60)).unwrap();
    qemu.execute("cont", json!({})).ok().map(|_| qemu)
}

/// How a guest of these instructions ends, in words.
fn end_of(instructions: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let verifying = Cache::at(folder.path().join("cache")).verify_aside(Vec::new());
    let ended = machine(folder.path(), instructions).watch_with(&verifying, TIMEOUTS).unwrap();
    ended.in_words("state/x")
}

#[test]
fn a_guest_that_never_reads_its_orders_is_ended_with_the_command_that_fixes_it() {
    for instructions in [SLEEP, SPIN] {
        let words = end_of(instructions);
        for part in ["it has not read its orders in", "quiclab doctor --cache", "quiclab cache remove state/x"] {
            assert!(words.contains(part), "{words}");
        }
    }
}

#[test]
fn a_guest_that_reboots_or_stops_itself_is_described_in_words() {
    let words = end_of(REBOOT);
    assert!(words.starts_with("the guest rebooted before the agent had handed over the results"), "{words}");
    let words = end_of(STOP);
    assert!(words.starts_with("the guest stopped its own machine"), "{words}");
}

#[test]
fn damage_ends_a_guest_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("cache"));
    let thing = cache.folder("state/x", |folder| Ok(std::fs::write(folder.join("state"), "whole")?)).unwrap();
    std::fs::write(thing.join("state"), "Whole").unwrap();
    let qemu = machine(folder.path(), SPIN);
    let error = qemu.watch_with(&cache.verify_aside(vec![thing]), super::super::watch::TIMEOUTS).unwrap_err();
    assert!(error.is::<crate::cache::Damage>(), "{error:#}");
}
