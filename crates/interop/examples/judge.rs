//! Judges a capture by every case: `judge CAPTURE [KEY_LOG]`. Files are taken to have arrived.

use quiclab_interop::{CASES, End, EndpointFacts, Facts, FactsSettings, Verdict, judge};
use quiclab_wire::CaptureReader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let capture = std::fs::read(arguments.first().ok_or("judge CAPTURE [KEY_LOG]")?)?;
    let keys = arguments.get(1).map(std::fs::read).transpose()?.unwrap_or_default();
    let facts = Facts::read(CaptureReader::new(capture.as_slice())?, &keys, &FactsSettings::default())?;
    println!("{facts:#?}");
    let endpoints = EndpointFacts { client: End::Status(0), server: End::Signal, files_ok: Ok(()) };
    for case in CASES {
        let verdict = judge(case, &facts, &endpoints);
        println!("{:20} {}", case.name, verdict.name());
        if let Verdict::Failed { reasons } = verdict {
            for reason in reasons {
                println!("    {reason}");
            }
        }
    }
    Ok(())
}
