//! Runs in namespaces as an ordinary user. Where the tests run as one, those of tests/netns.rs do that already.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use crate::common::{TEST_STACKS, agent, output_of, records};
use quiclab_testing::{has_program, has_root, processes_with};

const EXPERIMENT: &str = r#"
name = "tests/without-root"
title = "A transfer without root"
stack.name = "misbehaving"
workload.size = "2 MiB"
path.rate = "20 Mbit/s"
path.delay_to_client = "5 ms"
path.delay_to_server = "5 ms"
"#;

/// A user without a name or a home, who can do nothing but what everybody can.
const USER: &str = "65534";

fn must(command: &mut Command) {
    let result = output_of(command);
    assert_eq!(result.status, Some(0), "{command:?}: {}{}", result.output, result.errors);
}

#[test]
fn an_ordinary_user_makes_namespaces_shapes_a_path_and_leaves_nothing() {
    if !has_root("run as another user") || !has_program("setpriv", "util-linux") {
        return;
    }
    // The user may see neither the folder of the sources nor that of the build.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(at("experiment.toml"), EXPERIMENT).unwrap();
    for (from, to) in [
        (Path::new(env!("CARGO_BIN_EXE_quiclab")), "quiclab"),
        (&agent(), "quiclab-agent"),
        (&Path::new(TEST_STACKS).join("misbehaving"), "stacks/"),
    ] {
        fs::create_dir_all(at("stacks")).unwrap();
        must(Command::new("cp").arg("-a").arg(from).arg(at(to)));
    }
    let run = |command: &mut Command, out: &str| {
        command.arg("run").arg(at("experiment.toml")).args(["--testbed", "netns", "--wait-for-quiet", "0"]);
        command.arg("--stacks").arg(at("stacks")).arg("--out").arg(at(out)).env("QUICLAB_CACHE", at("cache"));
        command.env("HOME", at("home")).current_dir(folder.path());
        must(command);
    };
    // Root makes the file systems of the stack: an ordinary user needs an entry in /etc/subuid for that, and this one has none.
    run(&mut Command::new(at("quiclab")), "by-root");
    must(Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(folder.path()));
    let mut user = Command::new("setpriv");
    user.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all", "--"]).arg(at("quiclab"));
    run(&mut user, "by-user");

    let names = records(&at("by-user"));
    let [name] = &names[..] else { panic!("expected one record, found {names:?}") };
    let record = at("by-user").join(name);
    assert_eq!(fs::metadata(record.join("metrics.json")).unwrap().uid().to_string(), USER);
    let metrics: serde_json::Value = serde_json::from_slice(&fs::read(record.join("metrics.json")).unwrap()).unwrap();
    let goodput = metrics["metrics"]["goodput_wire_bps"].as_f64().unwrap();
    assert!((12e6..20e6).contains(&goodput), "{goodput}");
    let left = processes_with(folder.path().to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}
