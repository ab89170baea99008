//! How many handshakes a second of CPU time is enough for, beside what their cryptography alone takes: `make bench-handshakes`.
//!
//! Rounds of all stacks take turns with rounds of the floor, because other work on the machine slows all of them alike. Values are medians of rounds.

use std::{
    env, fs,
    io::{Read, Write},
    process::{Command, Stdio},
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
    sys::resource::{UsageWho, getrusage},
    unistd::Pid,
};
use quiclab_metrics::Summary;
use ring::{
    agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral},
    rand::SystemRandom,
    signature::{self, ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};

/// The variable with another folder of stacks: to compare two states of them.
const FOLDER: &str = "HANDSHAKES_STACKS";
const STACKS: [&str; 3] = ["ngtcp2-1.25", "quiche-0.22", "quinn"];
/// Names of paths, and their rules in the direction of the server.
const PATHS: [(&str, &str); 2] = [
    ("no loss", ""),
    (
        "second flight of the client lost",
        "[[path.to_server]]\nstage = \"loss\"\nmodel = \"content\"\ndrop = \"flight 2\"\nat_least_drops = 1\n",
    ),
];
const ROUNDS: usize = 5;
const HANDSHAKES: u64 = 1000;
/// Operations of the floor in a round.
const OPERATIONS: u32 = 500;
/// Bytes of an order with one datagram.
const ORDER: usize = 1250;
const GOAL: f64 = 1000.0;

/// Microseconds.
#[derive(Default)]
struct Floor {
    sign: Vec<f64>,
    verify: Vec<f64>,
    exchange: Vec<f64>,
    order: Vec<f64>,
}

#[derive(Default)]
struct Stack {
    per_second: Vec<f64>,
    /// Client, server, simulation, measurement, and what remains, in microseconds for a handshake.
    parts: [Vec<f64>; 5],
    orders: f64,
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut floor = Floor::default();
    let mut stacks: Vec<Stack> = (0..PATHS.len() * STACKS.len()).map(|_| Stack::default()).collect();
    for _ in 0..ROUNDS {
        let cases = PATHS.iter().flat_map(|path| STACKS.map(|stack| (path, stack)));
        for (((_, rule), stack), seen) in cases.zip(&mut stacks) {
            seen.measure(folder.path(), stack, rule);
        }
        floor.measure();
    }
    println!("Medians of {ROUNDS} rounds; microseconds of CPU time for a handshake of 1 kB, {HANDSHAKES} in a round");
    for (number, (path, _)) in PATHS.iter().enumerate() {
        println!("\n{path}");
        println!(
            "{:<12} {:>7} {:>15} {:>8} {:>8} {:>11} {:>12} {:>6} {:>7} {:>7}",
            "", "per s", "(range)", "client", "server", "simulation", "measurement", "rest", "orders", "floor"
        );
        for (stack, seen) in STACKS.iter().zip(&stacks[number * STACKS.len()..]) {
            let speed = summary(&seen.per_second);
            let [client, server, simulation, measurement, rest] = seen.parts.each_ref().map(|part| median(part));
            println!(
                "{stack:<12} {:>7.0} {:>15} {client:>8.0} {server:>8.0} {simulation:>11.0} {measurement:>12.0} {rest:>6.0} {:>7.1} {:>7.0}",
                speed.median,
                format!("({:.0} to {:.0})", speed.minimum, speed.maximum),
                seen.orders,
                floor.cryptography() + seen.orders * median(&floor.order),
            );
        }
    }
    println!("\nFloor: what no stack can do without here");
    println!("{:>8.1} a signature, ECDSA with P-256, by ring", median(&floor.sign));
    println!(
        "{:>8.1} two verifications of such signatures, of the certificate and of the handshake",
        2.0 * median(&floor.verify)
    );
    println!("{:>8.1} X25519 at both ends: two keys, two secrets", 2.0 * median(&floor.exchange));
    println!("{:>8.1} all of these", floor.cryptography());
    println!(
        "{:>8.2} an order of {ORDER} bytes and its answer, between two processes that do nothing else",
        median(&floor.order)
    );
    println!("\nGoal: {GOAL:.0} a second, {:.0} microseconds each", 1e6 / GOAL);
}

impl Stack {
    fn measure(&mut self, folder: &std::path::Path, stack: &str, rule: &str) {
        let delay = |to: &str| format!("[[path.{to}]]\nstage = \"delay\"\ndelay = \"10 ms\"\n");
        let text = format!(
            "name = \"bench\"\ntitle = \"Handshakes\"\n[workload]\nsize = \"1 kB\"\nrepetitions = 1\n[stack]\nname = \"{stack}\"\n{}{rule}{}",
            delay("to_client"),
            delay("to_server")
        );
        let file = folder.join("bench.toml");
        fs::write(&file, text).expect("an experiment file");
        let output = Command::new(env!("CARGO_BIN_EXE_quiclab"))
            .arg("run")
            .arg(&file)
            .args(["--json", "--handshakes", &HANDSHAKES.to_string()])
            .arg("--stacks")
            .arg(env::var_os(FOLDER).unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io").into()))
            .output()
            .expect("quiclab can be started");
        assert!(output.status.success(), "{stack}: {}", String::from_utf8_lossy(&output.stderr));
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let group = &all[0];
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        self.per_second.push(number(&group["handshakes_per_cpu_second"]));
        let each = 1e6 / HANDSHAKES as f64;
        let parts = ["client", "server", "simulation", "measurement"];
        let parts = parts.map(|part| number(&group["cpu_seconds_by_part"][part]) * each);
        let rest = number(&group["cpu_seconds"]) * each - parts.iter().sum::<f64>();
        self.parts.iter_mut().zip(parts.into_iter().chain([rest])).for_each(|(all, part)| all.push(part));
        self.orders = number(&group["orders"]) / HANDSHAKES as f64;
    }
}

impl Floor {
    fn measure(&mut self) {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).expect("a key");
        // What TLS signs: 64 spaces, a context, a hash.
        let message = [0x20; 130];
        let signature = key.sign(&random, &message).expect("a signature");
        let public = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_key());
        self.sign.push(micros(|| {
            std::hint::black_box(key.sign(&random, &message).expect("a signature"));
        }));
        self.verify.push(micros(|| public.verify(&message, signature.as_ref()).expect("it is valid")));
        let new_key = || EphemeralPrivateKey::generate(&X25519, &random).expect("a key");
        let peer = new_key().compute_public_key().expect("a key");
        let peer = UnparsedPublicKey::new(&X25519, peer.as_ref().to_vec());
        self.exchange.push(micros(|| {
            let own = new_key();
            std::hint::black_box(own.compute_public_key().expect("a key"));
            agree_ephemeral(own, &peer, |secret| std::hint::black_box(secret.len())).expect("a secret");
        }));
        self.order.push(order_micros());
    }

    fn cryptography(&self) -> f64 {
        median(&self.sign) + 2.0 * median(&self.verify) + 2.0 * median(&self.exchange)
    }
}

/// CPU time of one operation, in microseconds.
fn micros(mut operation: impl FnMut()) -> f64 {
    let before = cpu_seconds(UsageWho::RUSAGE_SELF);
    (0..OPERATIONS).for_each(|_| operation());
    (cpu_seconds(UsageWho::RUSAGE_SELF) - before) * 1e6 / f64::from(OPERATIONS)
}

/// CPU time of both processes for bytes that go to `cat` and come back, all on one processor.
fn order_micros() -> f64 {
    let this = Pid::from_raw(0);
    let before = sched_getaffinity(this).expect("processors");
    let mut one = CpuSet::new();
    one.set(sched_getcpu().expect("a processor")).expect("its number");
    // A process that is started now inherits it.
    sched_setaffinity(this, &one).expect("one processor");
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
    let (mut to, mut from) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    let mut bytes = [7; ORDER];
    let ours = micros(|| {
        to.write_all(&bytes).expect("cat reads");
        from.read_exact(&mut bytes).expect("cat writes");
    });
    let all_before = cpu_seconds(UsageWho::RUSAGE_CHILDREN);
    drop((to, from));
    child.wait().expect("the end of cat");
    let of_cat = (cpu_seconds(UsageWho::RUSAGE_CHILDREN) - all_before) * 1e6 / f64::from(OPERATIONS);
    sched_setaffinity(this, &before).expect("all processors");
    ours + of_cat
}

fn cpu_seconds(who: UsageWho) -> f64 {
    let used = getrusage(who).expect("getrusage");
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(used.user_time()) + seconds(used.system_time())
}

fn summary(values: &[f64]) -> Summary {
    Summary::of(values.to_vec()).expect("at least one round")
}

fn median(values: &[f64]) -> f64 {
    summary(values).median
}
