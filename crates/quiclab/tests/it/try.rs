//! `quiclab stacks try`: endpoints on this machine, without virtual machines. Needs namespaces, and erofs-utils.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::common::{CommandOutput, output_of};
use quiclab_testing::{processes_with, wait_until};

/// Sends files over plain TCP. `MANNER` stands for what is wrong with it.
const ENDPOINT: &str = r#"
use strict;
use warnings;
use IO::Socket::INET;
use POSIX ();

my %known = (QUICLAB_CCA => 'cubic', QUICLAB_GSO => 'on', QUICLAB_PACING => 'off', QUICLAB_HTTP => 'h2', QUICLAB_IP => '4');
my $manner = 'MANNER';
for my $name (grep { /^QUICLAB_/ && $_ ne 'QUICLAB_PORT' } keys %ENV) {
    next if $manner eq 'ignores-settings' && $name eq 'QUICLAB_NO_SUCH_SETTING';
    exit 127 if ($known{$name} // '') ne $ENV{$name};
}
exit 127 if $ENV{TESTCASE} ne 'transfer' || $ENV{SERVER_PARAMS} || $ENV{CLIENT_PARAMS};
if ($manner eq 'leaves-a-process' && !fork) {
    require POSIX;
    POSIX::setsid();
    exec 'sleep', '98765';
}
if ($manner eq 'forks-without-end' && !fork) {
    require POSIX;
    POSIX::setsid();
    $0 = 'forks-without-end-98766';
    while (1) { my $child = fork; exit if $child; }
}
if ($manner eq 'attacks') {
    my @can;
    my $try = sub { my ($what, $worked) = @_; push @can, $what if $worked };
    for my $path ('SECRET', '/etc/shadow', '/proc/1/environ', '/dev/mem', '/dev/vda', '/dev/sda') {
        $try->("read $path", open my $file, '<', $path);
    }
    for my $path ('SECRET', '/usr/bin/quiclab-forged', '/etc/hosts', '/proc/sys/kernel/core_pattern', "$ENV{WWW}/file1k", "$ENV{CERTS}/ca.pem") {
        $try->("write $path", open my $file, '>>', $path);
    }
    for my $folder ('/home', '/root', '/var/lib', '/srv', '/mnt', '/boot') {
        $try->("list $folder", scalar grep { !m{/(\.|\.\.)$} } glob("$folder/* $folder/.*"));
    }
    # mount, unshare, chroot, keyctl, io_uring_setup, bpf; a socket of AF_VSOCK, and one for raw packets.
    $try->("call $_->[0]", syscall($_->[0], @{$_}[1 .. $#$_]) != -1)
        for [165, 'none', '/tmp', 'tmpfs', 0, 0], [272, 0x10000000], [161, '/tmp'], [250, 0, -3, 1], [425, 1, "\0" x 120], [321, 0, "\0" x 8, 8];
    $try->("socket $_->[0]", socket(my $socket, $_->[0], $_->[1], 0)) for [40, 1], [17, 3];
    # All of them stay open: more than 16 would be a share of what the user may have.
    my @instances = grep { $_ != -1 } map { syscall 294, 0 } 1 .. 100;
    $try->("have " . @instances . " instances of inotify", @instances > 16);
    POSIX::close($_) for @instances;
    my $line = sub { open my $file, '<', "/proc/self/$_[0]" or die $!; (grep { /$_[1]/ } <$file>)[0] };
    $try->('stay when memory runs out', $line->('oom_score_adj', '.') != 1000);
    $try->('use all memory', $line->('limits', '^Max data size') =~ /unlimited/);
    if (IS_FINAL) {
        open my $score, '>', '/proc/self/oom_score_adj' or die $!;
        $try->('write the score back', syswrite $score, '0');
    }
    my $uids = do { open my $file, '<', '/proc/self/status'; join ' ', map { /^CapEff:\s*(\S+)/ ? $1 : () } <$file> };
    $try->("have capabilities $uids", $uids !~ /^0+$/);
    $try->("see descriptor $_", 1) for grep { /(\d+)$/ && $1 > 2 && readlink($_) } glob('/proc/self/fd/*');
    symlink 'SECRET', "$ENV{LOGS}/stdout-of-the-next";
    local $| = 1;
    print "tried everything\n", map { "could $_\n" } @can;
}
if ($ENV{ROLE} eq 'server') {
    if ($manner eq 'crashes') {
        print STDERR "line $_\n" for 1 .. 30;
        print STDERR "no library of that name\n";
        exit 1;
    }
    my $listener = IO::Socket::INET->new(LocalPort => $ENV{QUICLAB_PORT}, Listen => 5, ReuseAddr => 1) or die $@;
    while (my $connection = $listener->accept) {
        chomp(my $name = <$connection> // '');
        if (open my $file, '<:raw', "$ENV{WWW}/$name") {
            local $/;
            my $body = <$file>;
            substr($body, 5000, 1) = '!' if $manner eq 'alters-a-byte';
            print $connection 'ok', $body;
        }
        close $connection;
    }
} else {
    sleep 40 if $manner eq 'hangs';
    for my $url (split / /, $ENV{REQUESTS}) {
        my ($host, $port, $name) = $url =~ m{^https://([^:]+):(\d+)/(.+)$} or die $url;
        my $connection = IO::Socket::INET->new(PeerAddr => "$host:$port") or exit 1;
        print $connection "$name\n";
        local $/;
        my $body = <$connection> // '';
        exit 1 if $body !~ s/^ok//;
        if ($manner eq 'stores-a-fifo') {
            require POSIX;
            POSIX::mkfifo("$ENV{DOWNLOADS}/$name", 0600) or die $!;
            POSIX::mkfifo("$ENV{LOGS}/keys.log", 0600) or die $!;
            unlink "$ENV{LOGS}/stderr";
            symlink '/dev/zero', "$ENV{LOGS}/stderr" or die $!;
            exit 0;
        }
        open my $file, '>:raw', "$ENV{DOWNLOADS}/$name" or die $!;
        seek $file, 1 << 30, 0 if $manner eq 'writes-too-much';
        print $file $body;
        close $file or die $!;
    }
}
"#;

const MANIFEST: &str = r#"
name = "plain"
version = "1"
licence = "MIT"
transport = "tcp"
roles = ["server", "client"]
http = ["h2"]
congestion_control = ["cubic"]
gso = ["on"]
pacing = ["off"]
ip = ["4"]
qlog = false
key_log = []
certificate_delay = "none"
notes = "For a test."
test_cases = { server = ["transfer"], client = ["transfer"] }
default = { http = "h2", congestion_control = "cubic", gso = "on", pacing = "off" }
build = { command = "cp endpoint.pl \"$QUICLAB_STACK_OUT/\"", profile = "none", host_packages = [], host_tools = [] }
guest = { packages = [], command = ["/usr/bin/perl", "/stack/endpoint.pl"] }
"#;

/// Whether this process has `CAP_SYS_RESOURCE`: scores for the end of memory that it sets cannot be lowered by others then.
fn can_bound_scores() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(capabilities.trim(), 16).unwrap() >> 24 & 1 == 1
}

/// What is said of a stack that behaves in this manner.
fn tried(folder: &Path, manner: &str, more: &[&str]) -> CommandOutput {
    output_of(&mut trial(folder, manner, more))
}

fn trial(folder: &Path, manner: &str, more: &[&str]) -> Command {
    let stack = folder.join("plain");
    fs::create_dir_all(&stack).unwrap();
    fs::write(stack.join("stack.toml"), MANIFEST).unwrap();
    let secret = folder.join("secret").display().to_string();
    let endpoint = ENDPOINT.replace("MANNER", manner).replace("SECRET", &secret);
    let endpoint = endpoint.replace("IS_FINAL", if can_bound_scores() { "1" } else { "0" });
    fs::write(stack.join("endpoint.pl"), endpoint).unwrap();
    let mut command = Command::new("timeout");
    command.args(["120", env!("CARGO_BIN_EXE_quiclab"), "stacks", "try"]).arg(&stack);
    command.arg("--out").arg(folder.join("out")).args(more);
    command.env("QUICLAB_CACHE", folder.join("cache"));
    command
}

#[test]
fn an_honest_endpoint_passes_and_its_files_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let cases = ["--case", "transfer", "--case", "settings", "--case", "multiplexing", "--case", "refusals"];
    let result = tried(folder.path(), "honest", &cases);
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    for line in [
        "ok   plain: a file arrives complete, and the client logs its TLS secrets: the files are complete",
        "ok   plain: QUICLAB_CCA=cubic is accepted: the files are complete",
        "ok   plain: 200 small files arrive over h2: the files are complete",
        "ok   plain: the server refuses TESTCASE=retry: exit status 127",
        "ok   plain: the client refuses QUICLAB_GSO=off: exit status 127",
    ] {
        assert!(result.output.contains(line), "no line {line:?} in\n{}", result.output);
    }
    let result = tried(folder.path(), "alters-a-byte", &["--case", "transfer"]);
    assert_eq!(result.status, Some(1), "{}", result.output);
    assert!(result.output.contains("the client's file10M has SHA-256 "), "{}", result.output);
}

#[test]
fn a_setting_that_is_ignored_is_found_without_a_virtual_machine() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "ignores-settings", &["--case", "refusals", "--json"]);
    let findings: serde_json::Value = serde_json::from_str(&result.output).unwrap();
    let failed = findings.as_array().unwrap().iter().filter(|finding| finding["holds"] == false);
    let names: Vec<_> = failed.map(|finding| finding["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["refuses-server-NO_SUCH_SETTING-1", "refuses-client-NO_SUCH_SETTING-1"]);
    assert_eq!(result.status, Some(2), "{}", result.errors);
}

#[test]
fn an_endpoint_that_breaks_is_shown_with_its_last_words_and_the_rest_is_not_tried() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "crashes", &[]);
    assert_eq!(result.status, Some(1), "{}\n{}", result.output, result.errors);
    for part in [
        "FAIL plain: a file arrives complete",
        "the server ended by itself (exit status 1)",
        "the server printed, at the end of ",
        "/out/plain/transfer/server/stderr:",
        "| no library of that name",
        "other checks were not tried, because the first transfer failed",
    ] {
        assert!(result.output.contains(part), "no {part:?} in\n{}", result.output);
    }
    assert!(!result.output.contains("| line 20\n"), "too much is shown:\n{}", result.output);
    let all = fs::read_to_string(folder.path().join("out/plain/transfer/server/stderr")).unwrap();
    assert!(all.starts_with("line 1\n"), "{all}");
}

#[test]
fn an_endpoint_that_cannot_be_started_is_a_failure_and_not_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let stack = folder.path().join("plain");
    drop(trial(folder.path(), "honest", &[]));
    let manifest = MANIFEST.replace(r#""/usr/bin/perl", "/stack/endpoint.pl""#, r#""/stack/endpoint.pl""#);
    fs::write(stack.join("stack.toml"), manifest).unwrap();
    fs::write(stack.join("endpoint.pl"), "#!/nonexistent/perl\n").unwrap();
    fs::set_permissions(stack.join("endpoint.pl"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("timeout");
    command.args(["120", env!("CARGO_BIN_EXE_quiclab"), "stacks", "try"]).arg(&stack).args(["--case", "transfer"]);
    let result = output_of(
        command.arg("--out").arg(folder.path().join("out")).env("QUICLAB_CACHE", folder.path().join("cache")),
    );
    assert_eq!(result.status, Some(1), "{}\n{}", result.output, result.errors);
    assert!(result.output.contains("could not be started") && result.output.contains("after #!"), "{}", result.output);
}

#[test]
fn an_endpoint_reaches_nothing_of_this_machine_but_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    // A shell that leaves a file open.
    let script = format!("exec 7< {}; exec \"$@\"", folder.path().join("secret").display());
    let inner = trial(folder.path(), "attacks", &["--case", "transfer"]);
    let mut outer = Command::new("bash");
    outer.args(["-c", &script, "bash"]).arg(inner.get_program()).args(inner.get_args());
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let result = output_of(&mut outer);
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    for role in ["server", "client"] {
        let printed = fs::read_to_string(folder.path().join("out/plain/transfer").join(role).join("stdout")).unwrap();
        assert_eq!(printed, "tried everything\n", "{role}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
}

#[test]
fn what_an_endpoint_leaves_behind_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "leaves-a-process", &["--case", "transfer"]);
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    assert_eq!(processes_with("sleep 98765"), [""; 0]);
}

#[test]
fn an_endpoint_that_forks_faster_than_it_can_be_killed_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "forks-without-end", &["--case", "transfer"]);
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    assert_eq!(processes_with("forks-without-end-98766"), [""; 0]);
}

#[test]
fn a_fifo_and_a_device_in_place_of_files_are_found_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("packets.pcapng");
    let result =
        tried(folder.path(), "stores-a-fifo", &["--case", "transfer", "--capture", &capture.display().to_string()]);
    assert_eq!(result.status, Some(1), "{}\n{}", result.output, result.errors);
    let expected = "the client's file10M in DOWNLOADS cannot be read: found a FIFO, expected a regular file";
    assert!(result.output.contains(expected), "{}", result.output);
}

#[test]
fn a_file_without_an_end_is_cut_short_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "writes-too-much", &["--case", "transfer"]);
    assert_eq!(result.status, Some(1), "{}\n{}", result.output, result.errors);
    assert!(result.output.contains("(SIGXFSZ): it wrote too much to one file"), "{}", result.output);
}

#[test]
fn a_capture_ends_when_the_trial_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("packets.pcapng").display().to_string();
    let mut trial = trial(folder.path(), "hangs", &["--case", "transfer", "--capture", &capture]).spawn().unwrap();
    wait_until("the client", || folder.path().join("out/plain/transfer/client/stderr").exists());
    assert!(!processes_with(&format!("lo -w {capture}")).is_empty(), "nothing captures");
    // timeout(1) passes it on.
    let signalled = Command::new("kill").args(["-TERM", &trial.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    trial.wait().unwrap();
    wait_until("quiclab", || processes_with(&format!("--capture {capture}")).is_empty());
    // The kernel ends it with the process that has started it.
    wait_until("the capture", || processes_with(&format!("lo -w {capture}")).is_empty());
}

#[test]
fn a_misspelt_case_is_refused_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let result = tried(folder.path(), "honest", &["--case", "refusal"]);
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(result.errors.contains("did you mean refusals?"), "{}", result.errors);
}
