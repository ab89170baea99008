//! Arguments of `quiclab stacks import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quiclab_experiment::{run::Http, stack::Role};

use super::shared::{Output, StackOptions};

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

const IMPORT_HELP: &str = "\
Examples:
  docker save example/endpoint:latest > endpoint.tar && quiclab stacks import endpoint.tar
  quiclab stacks import endpoint.tar.zst --name other --role server --cases handshake,transfer,retry
  quiclab interop --server endpoint --client quic-go

Guide: docs/guides/interop-runner-images.md. Exit status: 0 success; with --implementations the number of images that could not be imported, at most 99; 125 on any other error.";

/// Roles of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoleChoice {
    /// Server and client.
    Both,
    /// The server alone.
    Server,
    /// The client alone.
    Client,
}

impl RoleChoice {
    /// The roles.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Self::Both => &[Role::Server, Role::Client],
            Self::Server => &[Role::Server],
            Self::Client => &[Role::Client],
        }
    }
}

fn parse_http(text: &str) -> Result<Http, String> {
    match text {
        "hq" => Ok(Http::Hq),
        "h3" => Ok(Http::H3),
        _ => Err(format!("found {text:?}, expected hq or h3")),
    }
}
