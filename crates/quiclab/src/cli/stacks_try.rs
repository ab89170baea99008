//! Arguments of `quiclab stacks try`.

use std::path::PathBuf;

use clap::Args;

use super::shared::Output;
use crate::settings::StacksTrySettings;

/// Arguments of `quiclab stacks try`.
#[derive(Debug, Args)]
#[command(after_help = TRY_HELP)]
pub struct StacksTryArguments {
    /// A folder with a stack.toml, or a program that implements the endpoint contract
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Try only this kind of check; can be repeated [default: all]
    #[arg(long, value_name = "CASE")]
    pub case: Vec<String>,
    /// The stack for the other role: a folder or a program [default: the same stack]
    #[arg(long, value_name = "PATH")]
    pub peer: Option<PathBuf>,
    /// Environment variable for the stack in every transfer, such as QUICLAB_CCA=bbr if this kernel has no CUBIC for TCP; can be
    /// repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub variables: Vec<(String, String)>,
    /// Build the stack even if the cache has a build of the same files
    #[arg(long)]
    pub rebuild: bool,
    /// Write all packets to this file (pcapng, by dumpcap), and the TLS secrets to FILE.keys
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Folder for what the endpoints print and log, with a folder for each stack and check
    #[arg(long, value_name = "DIR", default_value = "results/try")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl StacksTryArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> StacksTrySettings {
        StacksTrySettings {
            path: self.path,
            case: self.case,
            peer: self.peer,
            variables: self.variables,
            rebuild: self.rebuild,
            capture: self.capture,
            out: self.out,
            json: self.output.json,
        }
    }
}

const TRY_HELP: &str = "\
Cases: transfer, settings, ip, multiplexing, streams, large-certificate, rsa-certificate, certificate-delay, patience, refusals, and the test cases of the \
contract (handshake, retry, ...).

Examples:
  quiclab stacks try ./my-endpoint
  quiclab stacks try stacks/quiche --case retry --capture retry.pcapng
  quiclab stacks try stacks/nginx --peer stacks/ngtcp2

The endpoints run on this machine, over the loopback of a separate network namespace. Root is not needed if the kernel allows user \
namespaces. A stack that names Debian packages in [guest] runs in the same root file system as in the virtual machine, which is built once. \
The packets are not judged: quiclab stacks check does that.

Exit status: the number of checks that fail, at most 99, without those that were not tried; 125 if nothing could be tried; 130 if interrupted.";

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("found {text:?}, expected NAME=VALUE such as QUICLAB_CCA=reno")),
    }
}
