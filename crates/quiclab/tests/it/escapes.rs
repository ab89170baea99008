//! What a file's name, an experiment, a capture or a qlog says reaches neither the terminal nor Markdown as it is.

use std::{fs, path::Path, process::Command};

use crate::common::quiclab;

/// Clears the screen, rings, goes back to the start of the line, sets colours by a C1 control, turns the direction, hides.
const HOSTILE: &str = "\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}gnp\u{2066}\u{200b}\u{7f}";
/// The beginning of it, as it is shown.
const SHOWN: &str = r"\u001b[2J\u0007\r\u009b31m\u202egnp\u2066\u200b\u007f";

/// One packet with an Ethernet, an IPv4 and a UDP header, on an interface with a name, as pcapng.
fn capture(interface: &str) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().div_ceil(4) * 4, 0);
        let length = body.len() as u32 + 12;
        [&kind.to_le_bytes()[..], &length.to_le_bytes(), &body, &length.to_le_bytes()].concat()
    };
    let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &1u16.to_le_bytes(), &[0, 0], &[0xff; 8]].concat();
    let mut description = [&1u16.to_le_bytes()[..], &[0, 0], &65_535u32.to_le_bytes()].concat();
    description.extend(2u16.to_le_bytes());
    description.extend((interface.len() as u16).to_le_bytes());
    description.extend(interface.as_bytes());
    description.resize(description.len().div_ceil(4) * 4, 0);
    let udp =
        [&443u16.to_be_bytes()[..], &50_000u16.to_be_bytes(), &28u16.to_be_bytes(), &[0, 0], &[0x40; 20]].concat();
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(&udp);
    let length = (frame.len() as u32).to_le_bytes();
    let packet = [&0u32.to_le_bytes()[..], &[0; 8], &length, &length, &frame].concat();
    [block(0x0a0d_0d0a, &section), block(1, &description), block(6, &packet)].concat()
}

/// What it printed, on either stream.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn hidden(text: &str) -> Option<char> {
    let overrides = ['\u{202e}', '\u{2066}', '\u{200b}'];
    text.chars().find(|letter| letter.is_control() && !['\n', '\t'].contains(letter) || overrides.contains(letter))
}

/// Nothing hidden is printed, and what was said is there in its escaped form.
fn is_shown(command: &mut Command) -> String {
    let text = printed(command);
    assert_eq!(hidden(&text), None, "{command:?}: {text:?}");
    assert!(text.contains(SHOWN), "{command:?}: {text}");
    text
}

#[test]
fn names_of_files_are_escaped_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join(format!("missing{HOSTILE}"));
    for verb in ["run", "analyze", "packets", "report", "check", "verify"] {
        is_shown(quiclab().arg(verb).arg(&missing).current_dir(folder.path()));
    }
    is_shown(quiclab().arg("analyze").arg("x").arg("--keys").arg(&missing));
    is_shown(quiclab().arg("diff").arg(&missing).arg(&missing));
    // Something that is no capture.
    let other = folder.path().join(format!("other{HOSTILE}.pcap"));
    fs::write(&other, format!("no capture {HOSTILE}")).unwrap();
    is_shown(quiclab().arg("analyze").arg(&other));
}

#[test]
fn the_name_of_a_file_is_one_line_of_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\nwarning: all is well\n.pcap";
    fs::write(folder.path().join(name), "no capture").unwrap();
    fs::write(folder.path().join(format!("b{name}")), capture("eth0")).unwrap();
    for name in [name.to_owned(), format!("b{name}"), format!("missing{name}")] {
        let text = printed(quiclab().arg("analyze").arg(&name).current_dir(folder.path()));
        assert!(text.contains(r"a\nwarning: all is well\n.pcap"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("warning: all is well")), "{text}");
    }
}

#[test]
fn what_a_capture_says_is_escaped_in_tables_and_stays_itself_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("eth{HOSTILE}");
    let path = folder.path().join(format!("wire{HOSTILE}.pcapng"));
    fs::write(&path, capture(&name)).unwrap();
    is_shown(quiclab().arg("analyze").arg(&path));
    let json = is_shown(quiclab().arg("analyze").arg(&path).arg("--json"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["captures"][0]["interfaces"][0]["name"], name);
    assert_eq!(value["captures"][0]["file"], path.display().to_string());
    let tap = printed(quiclab().arg("packets").arg(&path).arg("--tap").arg("x"));
    assert_eq!(hidden(&tap), None, "{tap:?}");
    let rows = printed(quiclab().arg("packets").arg(&path));
    assert_eq!(hidden(&rows), None, "{rows:?}");
}

#[test]
fn markup_in_names_is_text_on_pages() {
    let folder = tempfile::tempdir().unwrap();
    let name = "<img src=x onerror=alert(1)>&\"'";
    let path = folder.path().join("wire<b>&.pcapng");
    fs::write(&path, capture(name)).unwrap();
    let page = folder.path().join("page.html");
    printed(quiclab().arg("analyze").arg(&path).arg("--html").arg(&page));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("wire&lt;b&gt;&amp;.pcapng"), "the name of the file is there");
    assert!(!html.contains("<img src=x") && !html.contains("wire<b>"));
}

/// A scenario with a title that hides something, run by the simulator.
fn results(folder: &Path) {
    let text = HOSTILE.chars().map(|letter| format!("\\u{:04x}", letter as u32)).collect::<String>();
    let scenario = format!(
        "name = \"tests/escapes\"\ntitle = \"x{text} <b>|\"\nsource = \"{text}\"\n[scenario]\nduration = \"2 s\"\n[flows]\ncount = 1\nrtt = \"100 ms\"\n"
    );
    fs::write(folder.join("file.toml"), scenario).unwrap();
}

#[test]
fn what_an_experiment_says_is_escaped_in_reports_and_in_markdown() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path());
    let verb = |arguments: &[&str]| {
        let mut command = quiclab();
        command.args(arguments).current_dir(folder.path()).env("QUICLAB_CACHE", folder.path().join("cache"));
        command
    };
    is_shown(&mut verb(&["run", "file.toml", "--out", "out"]));
    is_shown(&mut verb(&["report", "out"]));
    for arguments in
        [&["report", "out", "--markdown"][..], &["report", "out", "--json"], &["check", "out", "--markdown"]]
    {
        let text = printed(&mut verb(arguments));
        assert_eq!(hidden(&text), None, "{arguments:?}: {text:?}");
    }
    let html = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(html.contains("&lt;b&gt;") && !html.contains(" <b>|"));
}
