//! The layout of iperf3's JSON (`iperf3 -J`), for programs that read that. Fields that iperf3 has mean here what they mean
//! there; the others are in `quiclab` objects.

use serde_json::{Value, json};

use crate::{Direction, End, EndUse, ExchangeInterval, Exchanges, Interval, Summary};

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// quiclab and its version.
    pub version: String,
    /// What carried the bytes, such as `QUIC`.
    pub protocol: &'static str,
    /// Streams of each connection.
    pub streams: u64,
    /// Connections.
    pub connections: u64,
    /// Who sends.
    pub direction: Direction,
    /// Seconds that were asked for; `None`: a number of bytes was.
    pub seconds: Option<f64>,
    /// Bytes that were asked for.
    pub bytes: Option<u64>,
    /// Further facts about the test.
    pub more: Value,
}

/// One test, as an object.
pub fn iperf(asked: &Asked, intervals: &[Interval], summary: &Summary) -> Value {
    let is_sender = asked.direction == Direction::ClientSends;
    let rows: Vec<_> = intervals
        .iter()
        .map(|interval| {
            let sum = json!({
                "start": interval.start_seconds,
                "end": interval.end_seconds,
                "seconds": interval.end_seconds - interval.start_seconds,
                "bytes": interval.bytes,
                "bits_per_second": interval.bits_per_second,
                "omitted": false,
                "sender": is_sender,
            });
            json!({ "streams": [], "sum": sum, "quiclab": interval })
        })
        .collect();
    let sum = |end: &Option<End>| {
        end.map(|end| {
            json!({
                "start": 0,
                "end": end.seconds,
                "seconds": end.seconds,
                "bytes": end.bytes,
                "bits_per_second": end.bits_per_second,
                "sender": is_sender,
            })
        })
    };
    let (client, server) = match asked.direction {
        Direction::ClientSends => (&summary.sender, &summary.receiver),
        Direction::ServerSends => (&summary.receiver, &summary.sender),
    };
    // Of the time of the end itself, in percent of one core.
    let percent = |end: &Option<End>, of: fn(&End) -> Option<u64>| {
        let end = end.as_ref()?;
        (end.seconds > 0.0).then_some(of(end)? as f64 / 1e7 / end.seconds)
    };
    let total = |end: &Option<End>| Some(percent(end, |end| end.cpu_user_ns)? + percent(end, |end| end.cpu_system_ns)?);
    json!({
        "start": {
            "version": asked.version,
            "test_start": {
                "protocol": asked.protocol,
                "num_streams": asked.streams * asked.connections,
                "duration": asked.seconds.unwrap_or(0.0),
                "bytes": asked.bytes.unwrap_or(0),
                "reverse": u8::from(!is_sender),
                "bidir": 0,
            },
            "quiclab": asked.more,
        },
        "intervals": rows,
        "end": {
            "sum_sent": sum(&summary.sender),
            "sum_received": sum(&summary.receiver),
            "cpu_utilization_percent": {
                "host_total": total(client),
                "host_user": percent(client, |end| end.cpu_user_ns),
                "host_system": percent(client, |end| end.cpu_system_ns),
                "remote_total": total(server),
                "remote_user": percent(server, |end| end.cpu_user_ns),
                "remote_system": percent(server, |end| end.cpu_system_ns),
            },
            "quiclab": summary,
        },
    })
}

/// One test with both directions: what the server sends is in the fields that `iperf3 --bidir` has for that.
pub fn iperf_of_both(asked: &Asked, intervals: [&[Interval]; 2], summaries: &[Summary; 2]) -> Value {
    let asked = |direction| Asked { direction, ..asked.clone() };
    let [up, down] = summaries;
    let mut all = iperf(&asked(Direction::ClientSends), intervals[0], up);
    let other = iperf(&asked(Direction::ServerSends), intervals[1], down);
    all["start"]["test_start"]["bidir"] = 1.into();
    if let Value::Array(rows) = &mut all["intervals"] {
        for (row, other) in rows.iter_mut().zip(other["intervals"].as_array().into_iter().flatten()) {
            row["sum_bidir_reverse"] = other["sum"].clone();
            row["quiclab_bidir_reverse"] = other["quiclab"].clone();
        }
    }
    for (name, of) in [
        ("sum_sent_bidir_reverse", "sum_sent"),
        ("sum_received_bidir_reverse", "sum_received"),
        ("quiclab_bidir_reverse", "quiclab"),
    ] {
        all["end"][name] = other["end"][of].clone();
    }
    all
}

/// One test that counts requests or handshakes, for which iperf3 has no fields.
pub fn iperf_of_exchanges(asked: &Asked, intervals: &[ExchangeInterval], found: &Exchanges) -> Value {
    let rows: Vec<_> = intervals.iter().map(|interval| json!({ "streams": [], "quiclab": interval })).collect();
    let percent = |used: Option<&EndUse>, of: fn(&EndUse) -> Option<u64>| {
        (found.seconds > 0.0).then_some(of(used?)? as f64 / 1e7 / found.seconds)
    };
    let cpu = |used: Option<&EndUse>| {
        let (user, system) = (percent(used, |used| used.cpu_user_ns), percent(used, |used| used.cpu_system_ns));
        [user.zip(system).map(|(user, system)| user + system), user, system]
    };
    let ([host_total, host_user, host_system], [remote_total, remote_user, remote_system]) =
        (cpu(Some(&found.client)), cpu(found.server.as_ref()));
    json!({
        "start": {
            "version": asked.version,
            "test_start": {
                "protocol": asked.protocol,
                "num_streams": asked.streams * asked.connections,
                "duration": asked.seconds.unwrap_or(0.0),
            },
            "quiclab": asked.more,
        },
        "intervals": rows,
        "end": {
            "cpu_utilization_percent": {
                "host_total": host_total,
                "host_user": host_user,
                "host_system": host_system,
                "remote_total": remote_total,
                "remote_user": remote_user,
                "remote_system": remote_system,
            },
            "quiclab": found,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reading, Sample, summary};

    #[test]
    fn fields_that_iperf3_has_are_where_its_readers_look() {
        let asked = Asked {
            version: "quiclab 1".to_owned(),
            protocol: "QUIC",
            streams: 2,
            connections: 3,
            direction: Direction::ServerSends,
            seconds: Some(10.0),
            bytes: None,
            more: Value::Null,
        };
        let mut ended =
            Sample { moving_lines: 10, cpu_user_ns: Some(500_000_000), cpu_system_ns: Some(0), ..Sample::default() };
        ended.last.received = 1000;
        ended.last.monotonic_ns = 1_000_000_000;
        let started = Sample { cpu_user_ns: Some(0), cpu_system_ns: Some(0), ..Sample::default() };
        let reading = |sample| Reading { clients: vec![sample], ..Reading::default() };
        let (before, after) = (reading(started), reading(ended));
        let found = iperf(&asked, &[], &summary(&before, &after, asked.direction));
        assert_eq!(found["start"]["test_start"]["num_streams"], 6);
        assert_eq!(found["start"]["test_start"]["reverse"], 1);
        assert_eq!(found["end"]["sum_received"]["bits_per_second"], 8000.0);
        assert_eq!(found["end"]["sum_sent"], Value::Null);
        assert_eq!(found["end"]["cpu_utilization_percent"]["host_total"], 50.0);
        assert_eq!(found["end"]["cpu_utilization_percent"]["remote_total"], Value::Null);
    }
}
