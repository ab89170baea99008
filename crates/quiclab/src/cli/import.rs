//! Arguments of `quiclab stacks import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::PossibleValue};
use quiclab_experiment::run::Http;

use super::shared::{Output, StackOptions};
use crate::settings::{RoleChoice, StacksImportSettings};

/// Arguments of `quiclab stacks import`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub struct StacksImportArguments {
    /// The image: what `docker save` or `skopeo copy ... oci-archive:FILE` wrote, plain, gzip or zstd
    #[arg(value_name = "ARCHIVE", required_unless_present = "implementations", conflicts_with = "implementations")]
    pub archive: Option<PathBuf>,
    /// Every image of this implementations.json of the QUIC Interop Runner, saved by docker, podman or skopeo
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "role"])]
    pub implementations: Option<PathBuf>,
    /// Name of the stack [default: the name of the archive without its extension]
    #[arg(long)]
    pub name: Option<String>,
    /// Roles of the image
    #[arg(long, value_enum, default_value_t = RoleChoice::Both)]
    pub role: RoleChoice,
    /// HTTP versions of the image, separated by commas: hq (HTTP/0.9) in every test case, h3 in the test case http3
    #[arg(long, value_name = "VERSION", value_delimiter = ',', default_value = "hq,h3", value_parser = parse_http)]
    pub http: Vec<Http>,
    /// Test cases that the image supports, separated by commas [default: all of the endpoint contract]
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub cases: Vec<String>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl StacksImportArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> StacksImportSettings {
        StacksImportSettings {
            archive: self.archive,
            implementations: self.implementations,
            name: self.name,
            role: self.role,
            http: self.http,
            cases: self.cases,
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const IMPORT_HELP: &str = "\
Examples:
  docker save example/endpoint:latest > endpoint.tar && quiclab stacks import endpoint.tar
  quiclab stacks import endpoint.tar.zst --name other --role server --cases handshake,transfer,retry
  quiclab interop --server endpoint --client quic-go

Guide: docs/guides/interop-runner-images.md. Exit status: 0 success; with --implementations the number of images that could not be imported, at most 99; 125 on any other error.";

impl ValueEnum for RoleChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Both, Self::Server, Self::Client]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Both => PossibleValue::new("both").help("Server and client"),
            Self::Server => PossibleValue::new("server").help("The server alone"),
            Self::Client => PossibleValue::new("client").help("The client alone"),
        })
    }
}

fn parse_http(text: &str) -> Result<Http, String> {
    match text {
        "hq" => Ok(Http::Hq),
        "h3" => Ok(Http::H3),
        _ => Err(format!("found {text:?}, expected hq or h3")),
    }
}
