//! From what the agent says that the hosts did to `host.json`.

use quiclab_agent_protocol::activity::{Activity, Subject};
use quiclab_record::{HostActivity, HostBatches, HostMissing, HostSeries, layout::HOST_SCHEMA};
use syscalls::Sysno;

/// What the agent answered, as a record has it.
///
/// # Errors
/// Where it cannot be that of a run, with what is wrong.
pub(crate) fn host_activity(answer: &[u8]) -> Result<HostActivity, String> {
    let activity: Activity = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let named = |calls: std::collections::BTreeMap<u32, u64>| {
        calls.into_iter().map(|(number, count)| (name(number), count)).collect()
    };
    let activity = HostActivity {
        schema: HOST_SCHEMA,
        times_ns: activity.times_ns,
        series: activity.series.into_iter().map(series).collect(),
        system_calls: activity.system_calls.into_iter().map(|(role, calls)| (role, named(calls))).collect(),
        batches: activity
            .batches
            .into_iter()
            .map(|batches| HostBatches {
                of: batches.of,
                sent: batches.sent,
                packets: batches.packets.into_iter().map(|(packets, count)| (packets.into(), count)).collect(),
                largest_bytes: batches.largest_bytes,
            })
            .collect(),
        missing: activity
            .missing
            .into_iter()
            .map(|missing| HostMissing { what: missing.what, reason: missing.reason })
            .collect(),
        threads_not_listed: activity.threads_not_listed,
    };
    activity.problem().map_or(Ok(activity), Err)
}

fn series(series: quiclab_agent_protocol::activity::Series) -> HostSeries {
    let (kind, process, number, name) = match series.subject {
        Subject::Endpoint => ("endpoint", None, None, None),
        Subject::Thread { process, thread, name } => ("thread", Some(process), Some(thread), Some(name)),
        Subject::Core { core } => ("core", None, Some(core), None),
        Subject::Udp => ("udp", None, None, None),
        Subject::SystemCalls => ("system_calls", None, None, None),
        Subject::Events => ("events", None, None, None),
    };
    HostSeries {
        of: series.of,
        kind: kind.to_owned(),
        process,
        number,
        name,
        first_step: series.first_step,
        counters: series.counters,
    }
}

/// Name of a system call of this architecture; those that nobody knows are called by their number.
fn name(number: u32) -> String {
    Sysno::new(number as usize).map_or_else(|| format!("call {number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_names() {
        let number = |call: libc::c_long| u32::try_from(call).unwrap();
        assert_eq!(name(number(libc::SYS_sendmmsg)), "sendmmsg");
        assert_eq!(name(number(libc::SYS_epoll_wait)), "epoll_wait");
        assert_eq!(name(511), "call 511");
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_refused() {
        let text = r#"{"times_ns":[0,10],"series":[{"of":"server","subject":{"kind":"core","core":0},"first_step":0,
            "counters":{"user_ns":[1,2]}}],"system_calls":{"client":{"0":5}},"batches":[],"missing":[],
            "threads_not_listed":0}"#;
        assert!(host_activity(text.as_bytes()).unwrap_err().contains("series[0]"));
        let one = text.replace("[1,2]", "[1]");
        let activity = host_activity(one.as_bytes()).unwrap();
        assert_eq!(activity.system_calls["client"]["read"], 5);
        assert_eq!((activity.series[0].kind.as_str(), activity.series[0].number), ("core", Some(0)));
        assert!(host_activity(b"{}").unwrap_err().contains("missing field"));
    }
}
