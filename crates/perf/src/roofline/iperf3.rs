//! TCP of the kernel as `iperf3` itself measures it, where it is installed.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::roofline::part::{Cost, Unmeasured};

/// Seconds of a test: it takes whole ones.
const SECONDS: u64 = 1;
/// How often the client tries to reach the server, and how long it waits in between.
const TRIES: (u32, Duration) = (50, Duration::from_millis(20));
/// The address of both ends.
const ADDRESS: &str = "127.0.0.1";

/// What it measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iperf3 {
    /// The version that iperf3 names.
    pub version: String,
    /// Bits that arrived in a second.
    pub bits_per_second: f64,
    /// CPU time of its processes.
    #[serde(flatten)]
    pub cost: Cost,
}

/// Ends a server that still runs.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs it.
///
/// # Errors
/// Where it is not installed, or says something else.
pub fn measure() -> Result<Iperf3, Unmeasured> {
    // A port that is free now.
    let port = std::net::TcpListener::bind((ADDRESS, 0))?.local_addr()?.port().to_string();
    let mut command = Command::new("iperf3");
    command
        .args(["-s", "-1", "-B", ADDRESS, "-p", &port])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _server = Server(command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Unmeasured::NoIperf3,
        _ => Unmeasured::Io(error),
    })?);
    let mut said = Value::Null;
    for _ in 0..TRIES.0 {
        let mut command = Command::new("iperf3");
        command.args(["-c", ADDRESS, "-p", &port, "-t", &SECONDS.to_string(), "-J"]).stdin(Stdio::null());
        let output = command.output()?;
        said = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.success() {
            return read(&said).ok_or_else(|| Unmeasured::Iperf3("its JSON lacks a number".to_owned()));
        }
        // It does not listen yet.
        thread::sleep(TRIES.1);
    }
    Err(Unmeasured::Iperf3(said["error"].as_str().unwrap_or("it failed and did not say why").to_owned()))
}

fn read(said: &Value) -> Option<Iperf3> {
    let end = &said["end"];
    let cost = |sum: &str, percent: &str| {
        let (seconds, bytes) = (end[sum]["seconds"].as_f64()?, end[sum]["bytes"].as_f64()?);
        let share = end["cpu_utilization_percent"][percent].as_f64()? / 100.0;
        (bytes > 0.0).then(|| share * seconds * 1e9 / bytes)
    };
    Some(Iperf3 {
        version: said["start"]["version"].as_str()?.to_owned(),
        bits_per_second: end["sum_received"]["bits_per_second"].as_f64()?,
        cost: Cost {
            send_ns_per_byte: cost("sum_sent", "host_total")?,
            receive_ns_per_byte: cost("sum_received", "remote_total")?,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cpu_time_is_a_share_of_its_seconds() {
        let said = json!({
            "start": { "version": "iperf 3.12" },
            "end": {
                "sum_sent": { "seconds": 2.0, "bytes": 4e9 },
                "sum_received": { "seconds": 2.0, "bytes": 4e9, "bits_per_second": 16e9 },
                "cpu_utilization_percent": { "host_total": 50.0, "remote_total": 80.0 },
            },
        });
        let found = read(&said).unwrap();
        assert_eq!((found.version.as_str(), found.bits_per_second), ("iperf 3.12", 16e9));
        assert_eq!((found.cost.send_ns_per_byte, found.cost.receive_ns_per_byte), (0.25, 0.4));
        assert_eq!(read(&json!({ "error": "unable to connect" })), None);
    }

    #[test]
    fn where_it_is_installed_it_measures() {
        match measure() {
            Ok(found) => assert!(found.bits_per_second > 1e6 && found.cost.send_ns_per_byte > 0.0, "{found:?}"),
            Err(Unmeasured::NoIperf3) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
