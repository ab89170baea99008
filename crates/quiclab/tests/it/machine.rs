//! What quiclab needs of the machine is missing, old or full.

use crate::common;
use std::fs;

use crate::common::{Bench, TEST_STACKS, output_of, path_with, program, records};
use quiclab_testing::has_namespaces;

const EXPERIMENT: &str = r#"
name = "tests/machine"
title = "One good transfer"
[stack]
name = "misbehaving"
[workload]
size = "1 MiB"
"#;

#[test]
fn a_machine_without_qemu_is_told_what_to_install() {
    let bench = Bench::new(EXPERIMENT);
    let empty = tempfile::tempdir().unwrap();
    let result = output_of(bench.run(TEST_STACKS, "out", &[]).env("PATH", empty.path()));
    assert_eq!(result.status, Some(125));
    let expected = "qemu-system-x86_64: not found on this machine\nhint: apt-get install qemu-system-x86";
    assert!(result.errors.contains(expected), "{}", result.errors);
}

#[test]
fn an_old_qemu_is_refused() {
    let bench = Bench::new(EXPERIMENT);
    program(&bench.out("bin"), "qemu-system-x86_64", "echo 'QEMU emulator version 5.2.0 (Debian 1:5.2+dfsg-11)'");
    let result = output_of(bench.run(TEST_STACKS, "out", &[]).env("PATH", path_with(&bench.out("bin"))));
    assert_eq!(result.status, Some(125));
    assert!(
        result.errors.contains("5.2.0") && result.errors.contains("expected version 7.2 or later"),
        "{}",
        result.errors
    );
}

#[test]
fn a_kernel_package_that_cannot_be_had_is_named() {
    let bench = Bench::new(EXPERIMENT);
    let bin = bench.out("bin");
    program(&bin, "apt-cache", "echo '  Depends: linux-image-6.1.0-99-cloud-amd64'");
    program(
        &bin,
        "apt-get",
        "case \"$*\" in *update*) exit 0 ;; esac; echo 'E: Unable to locate package' >&2; exit 100",
    );
    program(&bin, "mmdebstrap", "touch root.erofs packages");
    let mut run = bench.run(TEST_STACKS, "out", &[]);
    let result = output_of(run.env("PATH", path_with(&bin)).env("QUICLAB_CACHE", bench.out("cache")));
    assert_eq!(result.status, Some(125));
    for part in ["downloading linux-image-6.1.0-99-cloud-amd64", "Unable to locate package"] {
        assert!(result.errors.contains(part), "lacks {part:?}: {}", result.errors);
    }
}

#[test]
fn an_image_that_cannot_be_made_is_told_with_what_mmdebstrap_said() {
    let bench = Bench::new(EXPERIMENT);
    program(&bench.out("bin"), "mmdebstrap", "echo 'E: cannot resolve the mirror' >&2; exit 25");
    let mut run = bench.run(TEST_STACKS, "out", &[]);
    let result = output_of(run.env("PATH", path_with(&bench.out("bin"))).env("QUICLAB_CACHE", bench.out("cache")));
    assert_eq!(result.status, Some(125));
    assert!(
        result.errors.contains("building the guest image") && result.errors.contains("cannot resolve"),
        "{}",
        result.errors
    );
    let left = fs::read_dir(bench.out("cache/image")).unwrap().count();
    assert_eq!(left, 0, "a half-made image was left");
}

/// Runs the experiment with its results on a disk of `size`, which only that process sees.
fn on_a_disk_of(size: &str, bench: &Bench) -> common::CommandOutput {
    let out = bench.out("disk");
    fs::create_dir_all(&out).unwrap();
    let run = bench.run(TEST_STACKS, "disk/out", &[]);
    let mut command = std::process::Command::new("unshare");
    // In a user namespace of its own, where it is root, an ordinary user may mount as well.
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c"]);
    command.arg(format!("mount -t tmpfs -o size={size} none \"$0\" && exec \"$@\"")).arg(&out);
    command.arg(run.get_program()).args(run.get_args());
    output_of(&mut command)
}

#[test]
fn a_full_disk_is_told_before_the_run_and_after_it() {
    if !has_namespaces() {
        return;
    }
    let bench = Bench::new(EXPERIMENT);
    // No room for the results of the guest.
    let before = on_a_disk_of("64m", &bench);
    assert_eq!(before.status, Some(1), "{}", before.errors);
    for part in ["No space left on device", "hint: free some space"] {
        assert!(before.errors.contains(part), "lacks {part:?}: {}", before.errors);
    }
    // Room for those, but not for the record.
    let after = on_a_disk_of("129m", &bench);
    assert_eq!(after.status, Some(1), "{}", after.errors);
    assert!(after.errors.contains("No space left on device"), "{}", after.errors);
    assert!(records(&bench.out("disk/out")).is_empty());
}
