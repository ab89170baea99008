//! Many commands that fill one folder, some of them killed at random moments: no record is lost, none is half, none is made twice.

use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Output, Stdio},
    thread,
    time::Duration,
};

use crate::common::{Bench, output_of, quiclab, records};

const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");
const RUNS: usize = 40;
const COMMANDS: usize = 3;
const KILLS: usize = 30;
/// Seed of the moments at which commands are killed, in steps of a generator by Knuth.
const SEED: u64 = 7;

fn experiment() -> String {
    format!(
        "name = \"shared\"\ntitle = \"Small\"\n[stack]\nname = \"quinn\"\n[workload]\nsize = \"64 KiB\"\nrepetitions = {RUNS}\n"
    )
}

#[test]
fn commands_that_are_killed_at_random_moments_leave_whole_records_to_the_others() {
    let bench = Bench::new(&experiment());
    let out = bench.out("out");
    let arguments = ["--testbed", "sim", "-j", "2"];
    let start = || -> Child {
        bench.run(SANS_IO, "out", &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut state = SEED;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut commands: Vec<Child> = (0..COMMANDS).map(|_| start()).collect();
    let (mut kills, mut ended) = (0, 0);
    while kills < KILLS {
        thread::sleep(Duration::from_millis(20 + below(500)));
        let place = below(COMMANDS as u64) as usize;
        let mut command = std::mem::replace(&mut commands[place], start());
        if command.try_wait().unwrap().is_none() {
            command.kill().unwrap();
            command.wait().unwrap();
            kills += 1;
        } else {
            check(command);
            ended += 1;
        }
        // Where all is done nothing is killed in the middle.
        if ended > RUNS {
            break;
        }
    }
    assert!(kills > 0, "seed {SEED}: no command was killed");
    commands.into_iter().for_each(check);
    let names = records(&out);
    let ids: BTreeSet<_> = names.iter().filter_map(|name| name.rsplit_once('-')).map(|(_, id)| id).collect();
    assert_eq!((names.len(), ids.len()), (RUNS, RUNS), "seed {SEED}, {kills} kills");
    let hidden: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "left behind: {hidden:?}");
    // They are what one undisturbed command makes.
    let alone = output_of(&mut bench.run(SANS_IO, "alone", &arguments));
    assert_eq!(alone.status, Some(0), "{}", alone.errors);
    assert_eq!(records(&bench.out("alone")), names);
    for name in &names {
        for file in ["run.toml", "wire.pcapng", "path.json", "metrics.json"] {
            let [one, other] = [&out, &bench.out("alone")].map(|out| fs::read(out.join(name).join(file)).unwrap());
            assert!(one == other, "{name}/{file} differs");
        }
    }
    let verified = output_of(quiclab().arg("verify").arg(out.join(&names[0])).args(["--stacks", SANS_IO]));
    assert_eq!(verified.status, Some(0), "{}{}", verified.output, verified.errors);
}

/// A command that was not killed has done its work.
fn check(command: Child) {
    let Output { status, stderr, .. } = command.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
}
