//! Completion as bash asks for it.

use quiclab_testing::has_program;
use std::process::Command;

/// What bash offers for the last of these words, as it splits them: `key=value` is three words.
fn offered(words: &[&str]) -> Vec<String> {
    let quiclab = env!("CARGO_BIN_EXE_quiclab");
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.last().copied().unwrap_or_default();
    // Readline hands over an empty word behind an equals sign.
    let current = if last == "=" { "" } else { last };
    let script = format!(
        "source <(COMPLETE=bash {quiclab}) && COMP_WORDS=({}) COMP_CWORD={} && _quiclab_complete quiclab '{current}' x && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1
    );
    let done = Command::new("bash").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_verbs_keys_and_values() {
    if !has_program("bash", "bash") {
        return;
    }
    assert_eq!(offered(&["quiclab", "ver"]), ["verify"]);
    assert_eq!(offered(&["quiclab", "run", "x.toml", "--set", "vm.ker"]), ["vm.kernel="]);
    assert_eq!(offered(&["quiclab", "run", "x.toml", "--set", "stack.gso", "=", "o"]), ["off", "on"]);
    assert_eq!(offered(&["quiclab", "run", "x.toml", "--set", "hosts.server_qdisc", "=", "fq"]), ["fq", "fq_codel"]);
    assert_eq!(
        offered(&["quiclab", "run", "x.toml", "--filter", "stack.pacing", "="]),
        ["off", "user", "txtime", "default"]
    );
    assert_eq!(offered(&["quiclab", "run", "x.toml", "--set", "=", "stack.gso", "=", "o"]), ["off", "on"]);
    assert_eq!(offered(&["quiclab", "help", "burs"]), ["bursts"]);
    assert_eq!(offered(&["quiclab", "ab", "x", "y", "--fail-if", "train_max"]), ["train_max_packets"]);
    assert_eq!(offered(&["quiclab", "ab", "x", "y", "--metric", "rtt_p"]), ["rtt_p95_ns"]);
    // Tests run in a folder below that of the shipped stacks.
    assert_eq!(offered(&["quiclab", "ab", "quiche-0"]), ["quiche-0.22", "quiche-0.24"]);
    assert_eq!(offered(&["quiclab", "stacks", "check", "picoq"]), ["picoquic"]);
    assert_eq!(offered(&["quiclab", "interop", "--server", "picoq"]), ["picoquic"]);
    assert_eq!(offered(&["quiclab", "interop", "--client", "quinn,picoq"]), ["quinn,picoquic"]);
    assert_eq!(offered(&["quiclab", "interop", "--case", "retr"]), ["retry"]);
    assert_eq!(offered(&["quiclab", "run", "x.toml", "--set", "stack.name", "=", "noq"]), ["noq"]);
    // What was completed before does not get in the way.
    let words = ["quiclab", "run", "--set", "stack.gso", "=", "on", "--filter", "tap.qlog", "=", "t"];
    assert_eq!(offered(&words), ["true"]);
}

#[test]
fn other_shells_are_served_as_well() {
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let done = Command::new(env!("CARGO_BIN_EXE_quiclab")).env("COMPLETE", shell).output().unwrap();
        assert!(done.status.success() && !done.stdout.is_empty(), "{shell}");
    }
}
