//! Logs that cannot be read, are cut, or are lost: a warning, and the numbers that need them are null with the reason.

use std::{fs, path::Path};

use crate::common::{NAME, copy_of_record};
use quiclab_experiment::{run::Run, stack::Role};
use quiclab_metrics::{RunMetrics, Withheld};
use quiclab_record::{LostLog, Observed, Record, measure::measure_record};

const OF_WINDOWS: [&str; 2] = ["congestion_window_reductions", "congestion_window_restorations"];
const QLOG: &str = concat!(
    "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n",
    "\u{1e}{\"time\":1,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":12000}}\n",
    "\u{1e}{\"time\":2,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":6000}}\n",
);

/// The metrics of the record after a change.
fn measured(change: impl FnOnce(&Path, &mut Run, &mut Observed)) -> RunMetrics {
    let copy = copy_of_record();
    let folder = copy.path().join(NAME);
    let Record { run, mut observed, .. } = Record::load(&folder).unwrap();
    let mut run = run.run;
    run.settings.tap.qlog = true;
    fs::create_dir(folder.join("server/qlog")).unwrap();
    change(&folder, &mut run, &mut observed);
    measure_record(&folder, &run, &observed).unwrap()
}

fn write_qlog(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join("server/qlog").join(name), text).unwrap();
}

/// The reason why these metrics are null.
fn reason(metrics: &RunMetrics, names: &[&str], code: &str) -> String {
    for name in names {
        assert_eq!(metrics.metrics.value(name), Some(None), "{name}");
    }
    let withheld = metrics.withheld.iter().find(|withheld| withheld.metrics == names).expect("withheld");
    let warning =
        metrics.warnings.iter().find(|warning| warning.code == code && warning.message.starts_with(&withheld.reason));
    assert!(warning.is_some(), "{:?}", metrics.warnings);
    withheld.reason.clone()
}

#[test]
fn a_readable_log_gives_the_numbers() {
    let metrics = measured(|folder, _, _| write_qlog(folder, "a.sqlog", QLOG));
    assert_eq!(metrics.metrics.congestion_window_reductions, Some(1));
    // What the cut tap behind the bottleneck does not show of the handshake, and what virtual time does not show of the hosts, is another
    // matter.
    let of_logs = |one: &&Withheld| {
        !one.metrics.iter().all(|name| name.starts_with("handshake_client_"))
            && !one.reason.starts_with("virtual time: ")
    };
    assert_eq!(metrics.withheld.iter().find(of_logs), None);
}

#[test]
fn a_log_that_cannot_be_parsed_takes_its_numbers_with_it() {
    let metrics = measured(|folder, _, _| {
        write_qlog(folder, "a.sqlog", QLOG);
        write_qlog(folder, "b.sqlog", "no qlog at all");
    });
    let reason = reason(&metrics, &OF_WINDOWS, "qlog_unread");
    assert!(reason.starts_with("the sender's log could not be read: server/qlog/b.sqlog: byte 0"), "{reason}");
}

#[test]
fn a_log_that_was_cut_or_lost_takes_its_numbers_with_it() {
    let metrics = measured(|folder, _, observed| {
        write_qlog(folder, "a.sqlog", QLOG);
        observed.cut_files.insert("server/qlog/a.sqlog".to_owned(), 10);
    });
    assert_eq!(
        reason(&metrics, &OF_WINDOWS, "log_cut"),
        "the sender's log is not complete: server/qlog/a.sqlog was cut"
    );
    let lost = |role| {
        measured(|folder, _, observed| {
            write_qlog(folder, "a.sqlog", QLOG);
            observed.lost_logs.push(LostLog { role, what: "2 of 9 log files are not kept".to_owned() });
        })
    };
    assert_eq!(
        reason(&lost(Role::Server), &OF_WINDOWS, "log_cut"),
        "the sender's log is not complete: 2 of 9 log files are not kept"
    );
    let of_client = lost(Role::Client);
    assert_eq!(of_client.metrics.congestion_window_reductions, Some(1), "the client's log says nothing of it");
    assert!(of_client.warnings.iter().any(|warning| warning.message == "client: 2 of 9 log files are not kept"));
}

#[test]
fn a_list_of_planned_times_that_was_cut_takes_precision_with_it() {
    let names = ["precision_sd_ns", "precision_samples"];
    let metrics = measured(|folder, _, observed| {
        fs::write(folder.join("server/planned.csv"), "planned_ns,packet_number\n1,2\n").unwrap();
        observed.cut_files.insert("server/planned.csv".to_owned(), 7);
    });
    let code = metrics.warnings.iter().find(|warning| warning.message.contains("planned send times")).unwrap();
    let reason = reason(&metrics, &names, &code.code);
    assert!(reason.contains("server/planned.csv"), "{reason}");
}
