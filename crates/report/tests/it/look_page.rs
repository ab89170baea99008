//! The page of packets in a real browser: what is drawn, and where its address leads.

use std::{fs, process::Command};

use quiclab_metrics::Verdicts;
use quiclab_report::{LookPacket, LookTransfer, render_look_html};
use quiclab_testing::has_program;

const MILLISECOND: u64 = 1_000_000;

/// 3000 packets of a server in trains of 1 to 30, and an acknowledgment after each third.
pub fn transfer(name: &str) -> LookTransfer {
    let mut packets = Vec::new();
    let mut time_ns = 0;
    for number in 0..3000_u64 {
        time_ns += if number % 30 < number / 100 { 1000 } else { 300_000 + number * number % 7919 };
        packets.push(LookPacket {
            frame: packets.len() as u64 + 1,
            time_ns,
            is_server: true,
            bytes: 1294,
            number: Some(number),
            bytes_in_flight: Some(20_000 + number * 7919 % 50_000),
            behind_bottleneck_after_ns: (number % 50 != 7).then_some(20 * MILLISECOND + number * 104_729 % 9_000_000),
            is_dropped: number % 50 == 7,
            new_stream_bytes: 1200,
            content: format!("1-RTT {number}: STREAM </script>"),
            ..LookPacket::default()
        });
        if number % 3 == 2 {
            packets.push(LookPacket {
                frame: packets.len() as u64 + 1,
                time_ns: time_ns + 500,
                bytes: 80,
                largest_acknowledged: Some(number.saturating_sub(100)),
                rtt_ns: Some(40 * MILLISECOND + number * 15_485_863 % 20_000_000),
                ..LookPacket::default()
            });
        }
    }
    LookTransfer {
        name: name.to_owned(),
        tap: "sender (0)".to_owned(),
        server_start_ns: 0,
        train_threshold_ns: 100_000,
        packets,
        log: None,
        verdicts: Verdicts::default(),
        notes: vec!["Only <the first> packets are shown".to_owned()],
        warnings: Vec::new(),
    }
}

/// What a script that runs behind the page's own writes, and what the browser complained about.
fn shown(transfers: &[LookTransfer], address: &str, script: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("look.html");
    let page = render_look_html(transfers);
    let behind = page.rfind("</body>").unwrap();
    let script = format!(
        "<script>(async () => {{ while (!globalThis.quiclabView) await new Promise((done) => setTimeout(done, 10)); \
         const view = quiclabView; const say = (text) => {{ document.title = `SAID ${{text}} END`; }}; {script} }})()</script>"
    );
    fs::write(&path, format!("{}{script}{}", &page[..behind], &page[behind..])).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--window-size=1400,900", "--dump-dom", &format!("file://{}{address}", path.display())])
        .output()
        .unwrap_or_else(|error| panic!("chromium: {error}; this test needs it: apt-get install chromium"));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = document.split_once("SAID ").and_then(|(_, rest)| rest.split_once(" END"));
    let said = said.map_or_else(|| panic!("nothing was said: {log}"), |(said, _)| said.to_owned());
    (said, log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect())
}

/// The levels are a shortcut: what they give is what all values give.
#[test]
fn extremes_of_any_span_are_those_of_its_values() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let script = "
        let wrong = 0; let asked = 0;
        for (const series of Object.values(view.transfers[0].series).flat().filter((it) => it && it.extremes)) {
          for (let from = 0; from <= series.length; from += 37) for (let to = from; to <= series.length; to += 53) {
            const [low, high] = series.extremes(from, to); let [least, most] = [Infinity, -Infinity];
            for (let at = from; at < to; at += 1) { least = Math.min(least, series.values[at]); most = Math.max(most, series.values[at]); }
            asked += 1; if (low !== least || high !== most) wrong += 1;
          }
          for (const count of [1, 7, 900]) {
            let place = 0; const start = series.times[0] || 0; const end = (series.times[series.length - 1] || 0) + 1;
            series.columns(start, end, count, (column, low, high, last) => {
              const first = place;
              while (place < series.length && Math.min(count - 1, Math.floor((series.times[place] - start) / ((end - start) / count))) === column) place += 1;
              const values = series.values.slice(first, place);
              asked += 1; if (low !== Math.min(...values) || high !== Math.max(...values) || last !== values[values.length - 1]) wrong += 1;
            });
            if (place !== series.length) wrong += 1;
          }
        }
        say(`${wrong} of ${asked > 10000 ? 'many' : 'few'}`);";
    let (said, complaints) = shown(&[transfer("one")], "", script);
    assert_eq!(said, "0 of many");
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// Pixels of a colour of the trains are where packets of such trains are, and nowhere once they are out of view.
#[test]
fn packets_are_drawn_in_the_colour_of_their_train() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let script = "
        const count = (index) => { view.draw(); const colour = pixelOf(colours().trains[index]);
          return view.raster.pixels.reduce((sum, pixel) => sum + (pixel === colour ? 1 : 0), 0); };
        const whole = [0, 1, 2, 3, 4, 5].map(count);
        view.show(0, 30e6);
        const early = [0, 5].map(count);
        say(JSON.stringify({ whole: whole.map((pixels) => pixels > 0), early: early.map((pixels) => pixels > 20) }));";
    let (said, complaints) = shown(&[transfer("one")], "", script);
    assert_eq!(said, r#"{"whole":[true,true,true,true,true,true],"early":[true,false]}"#);
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// The legend has the classes of the report, each in the colour in which its packets are drawn.
#[test]
fn the_bins_of_trains_are_those_of_the_report() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let script = "const [entries, palette] = [[...document.querySelectorAll('#legend li')], colours()];
        const inks = entries.map((one) => one.querySelector('span').style.background);
        const wanted = palette.trains.map((one) => { const box = document.createElement('i'); box.style.background = one; return box.style.background; });
        say(entries.slice(0, 6).map((one) => one.textContent).join(', ') + ` ${wanted.every((one, place) => one === inks[place])}`);";
    let (said, _) = shown(&[transfer("one")], "", script);
    assert_eq!(said, "packets in a train of 1, 2, 3 to 5, 6 to 10, 11 to 20, more than 20 true");
    let report = quiclab_report::render_html(&crate::common::input());
    let bins = report.split("id=\"train-mix\"").nth(1).unwrap();
    let places =
        ["1", "2", "3 to 5", "6 to 10", "11 to 20", "more than 20"].map(|bin| bins.find(&format!(">{bin}</text>")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
}

#[test]
fn the_address_leads_to_a_packet_with_its_frames() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let script =
        "await new Promise((done) => setTimeout(done, 100)); const time = view.transfers[0].time[view.selected.place];
        say(`${document.getElementById('detail').textContent} ${time > view.from && time < view.to}`);";
    let (said, _) = shown(&[transfer("one")], "#packet=1234", script);
    assert!(said.contains("1-RTT 1234: STREAM &lt;/script&gt;") && said.ends_with("true"), "{said}");
    let script = "say(document.getElementById('detail').textContent);";
    let (said, _) = shown(&[transfer("one")], "#packet=9999", script);
    assert!(said.contains("no packet of the measured sender with number 9999"), "{said}");
}

#[test]
fn the_address_can_name_the_second_transfer_and_the_same_place_twice() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let script = "
        const click = (type) => view.canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1 }));
        view.canvas.setPointerCapture = () => {};
        const panel = view.panels[1]; const box = view.canvas.getBoundingClientRect(); const other = view.transfers[1];
        const middle = other.flags.indexOf(1, 500); view.show(other.time[middle] - 5e6, other.time[middle] + 5e6); view.draw();
        const x = box.left + view.x(other.time[middle]); const y = box.top + view.y(panel, other.height[middle]);
        click('pointerdown'); click('pointerup');
        const clicked = [location.hash, view.selected.transfer === other];
        const field = document.getElementById('goto'); const form = document.getElementById('controls');
        const visits = [1, 2].map(() => { field.value = '1234'; view.showAll(); form.requestSubmit(); return view.to - view.from; });
        say(JSON.stringify([clicked, visits]));";
    let (said, complaints) = shown(&[transfer("one"), transfer("two")], "", script);
    assert!(said.starts_with("[[\"#packet=") && said.contains("&amp;of=B\",true]"), "{said}");
    assert!(said.ends_with(",[20000000,20000000]]"), "{said}");
    assert!(complaints.is_empty(), "{complaints:?}");
    let script =
        "await new Promise((done) => setTimeout(done, 100)); say(view.transfers.indexOf(view.selected.transfer));";
    let (said, _) = shown(&[transfer("one"), transfer("two")], "#packet=1234&of=B", script);
    assert_eq!(said, "1");
}

#[test]
fn a_part_of_a_transfer_fills_the_figure() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let mut part = transfer("part");
    part.packets.drain(..3000);
    let first = part.packets[0].time_ns;
    let (said, _) = shown(&[part], "", "say([view.from, view.begin].join());");
    assert_eq!(said, format!("{first},{first}"));
}

#[test]
fn two_transfers_share_their_axes_of_time() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let mut other = transfer("other <b>");
    other.packets.truncate(1000);
    let script = "say(view.panels.map((panel) => panel.title + (panel.curves || []).map((it) => ` ${it.name}`).join()).join(';'))";
    let (said, complaints) = shown(&[transfer("one"), other], "", script);
    assert!(said.starts_with("A: packet number;B: packet number;bytes in flight in flight A, in flight B;"), "{said}");
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn what_is_left_out_is_said_and_names_are_escaped() {
    let page = render_look_html(&[transfer("</script><b>")]);
    assert!(page.contains("Only &lt;the first&gt; packets are shown"));
    assert!(!page.contains("</script><b>"));
}
