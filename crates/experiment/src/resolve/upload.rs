//! Refuses what an upload cannot be combined with.

use quiclab_units::{ByteCount, Duration};

use super::Refusal;
use crate::settings::{
    CrossTraffic, Sender,
    draft::Draft,
    workload::{LONGEST_ANSWER, SHORTEST_REQUEST},
};

impl Draft {
    /// Checks that a client whose packets are measured has something to send, and that nothing else asks for the server's packets.
    ///
    /// # Errors
    /// The key to blame, and what is wrong.
    pub(super) fn check_upload(&self) -> Result<(), Refusal> {
        const SENDER: &str = "workload.sender";
        let settings = &self.settings;
        let (workload, path) = (&settings.workload, &settings.path);
        if workload.sender == Sender::Server {
            return Ok(());
        }
        let refuse =
            |key, message: String, hint: &str| Err(Refusal { hint: Some(hint.to_owned()), ..(key, message).into() });
        if !workload.has_no_files() {
            let message = format!(
                "found \"client\" with workload.test_case = {:?}; expected \"perf\", in which a client sends bytes",
                workload.test_case
            );
            return refuse(SENDER, message, "workload.test_case = \"perf\", and workload.request_size = \"10 MiB\"");
        }
        if workload.request_size == ByteCount::from_bytes(SHORTEST_REQUEST) {
            let message = format!(
                "found {} with {SENDER} = \"client\"; expected more, because the requests are what is measured",
                workload.request_size
            );
            return refuse("workload.request_size", message, "workload.request_size = \"10 MiB\"");
        }
        if workload.length_of_each() > LONGEST_ANSWER {
            let message = format!(
                "found {} with {SENDER} = \"client\"; expected at most {LONGEST_ANSWER}, because a download behind the upload \
                 would be measured with it",
                workload.size
            );
            return refuse("workload.size", message, "workload.size = \"8 B\"");
        }
        if path.to_client.is_bottleneck() != path.to_server.is_bottleneck() {
            let [listed, other] = match path.to_client.is_bottleneck() {
                true => ["path.to_server", "path.to_client"],
                false => ["path.to_client", "path.to_server"],
            };
            let message = format!(
                "found stages with {SENDER} = \"client\" and the short form of {other}; expected both lists, or the short \
                 form of both"
            );
            return refuse(listed, message, "list the stages of both directions");
        }
        if path.cross_traffic != CrossTraffic::None {
            let message = format!(
                "found traffic towards the client with {SENDER} = \"client\"; expected \"none\", because it does not share the \
                 path of an upload"
            );
            return refuse("path.cross_traffic", message, "path.cross_traffic = \"none\"");
        }
        if settings.hosts.receive_coalescing != Duration::ZERO {
            let message = format!(
                "found {} with {SENDER} = \"client\"; expected 0 ns, because it bundles packets that reach the server, not \
                 acknowledgments that reach the client",
                settings.hosts.receive_coalescing
            );
            return refuse("hosts.receive_coalescing", message, "hosts.receive_coalescing = \"0 ns\"");
        }
        if settings.tap.send_sizes {
            let message =
                format!("found true with {SENDER} = \"client\"; expected false, because it counts what a server sends");
            return refuse("tap.send_sizes", message, "tap.send_sizes = false");
        }
        Ok(())
    }
}
