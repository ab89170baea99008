//! What is to be run: servers, clients, cases, and which pairs can do which case.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use quiclab_experiment::{
    run::Run,
    stack::{Role, StackManifest, common_http},
};
use quiclab_interop::{CASES, Case};
use quiclab_testbed::laboratory::Laboratory;
use quiclab_wire::Role as Side;

use quiclab_trials::case_run::run_of;

use crate::{settings::InteropSettings, verbs::stacks::implementations};

/// What is to be run.
pub struct Selection {
    /// Names of the servers, the columns of the matrix.
    pub servers: Vec<String>,
    /// Names of the clients, its rows.
    pub clients: Vec<String>,
    /// Names of the cases.
    pub cases: Vec<String>,
    /// Every server with every client in every case.
    pub pairings: Vec<Pairing>,
}

/// A server, a client and a case.
pub struct Pairing {
    /// The server's stack.
    pub server: String,
    /// The client's stack.
    pub client: String,
    /// The case.
    pub case: &'static Case,
    /// How it is run, or the role that does not support it.
    pub run: Result<Run, Side>,
    /// Name of the record, once it is known.
    pub record: Option<String>,
}

impl Selection {
    /// Leaves out stacks that could not be built.
    pub fn leave_out<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names {
            self.servers.retain(|server| server != name);
            self.clients.retain(|client| client != name);
            self.pairings.retain(|pairing| pairing.server != *name && pairing.client != *name);
        }
    }
}

impl Pairing {
    /// Name of the pairing for people.
    pub fn label(&self) -> String {
        format!("{} server, {} client, {}", self.server, self.client, self.case.name)
    }
}

/// Selects what the command line names; all QUIC stacks and all cases where it names none.
///
/// # Errors
/// A name that there is nothing of, or a stack without the role.
pub fn select(settings: &InteropSettings, laboratory: &Laboratory) -> Result<Selection> {
    let servers = stacks(&chosen(&settings.server, Role::Server, settings, laboratory)?, Role::Server, laboratory)?;
    let clients = stacks(&chosen(&settings.client, Role::Client, settings, laboratory)?, Role::Client, laboratory)?;
    let cases = cases(&settings.case)?;
    let mut pairings = Vec::new();
    // Case by case, so that what is most telling about a stack is there first.
    for case in &cases {
        for server in &servers {
            for client in &clients {
                pairings.push(Pairing {
                    server: server.name.clone(),
                    client: client.name.clone(),
                    case,
                    run: run_if_supported(case, server, client, settings.seed, laboratory)?,
                    record: None,
                });
            }
        }
    }
    let names = |stacks: &[&StackManifest]| stacks.iter().map(|stack| stack.name.clone()).collect();
    Ok(Selection {
        servers: names(&servers),
        clients: names(&clients),
        cases: cases.iter().map(|case| case.name.to_owned()).collect(),
        pairings,
    })
}

/// What the command line names, by itself or by a list of implementations; empty for everything.
fn chosen(names: &[String], role: Role, settings: &InteropSettings, laboratory: &Laboratory) -> Result<Vec<String>> {
    let Some(file) = settings.implementations.as_ref().filter(|_| names.is_empty()) else { return Ok(names.to_vec()) };
    let (imported, missing) = implementations::with_role(file, role, laboratory)?;
    let role = quiclab_experiment::run::word(&role);
    if !missing.is_empty() {
        status!("quiclab: warning: skipping images that were not imported, as {role}: {}", missing.join(", "));
    }
    if imported.is_empty() {
        bail!(
            "--implementations {0}: found no imported {role}, expected at least one\nhint: quiclab stacks import --implementations {0}",
            file.display()
        );
    }
    Ok(imported)
}

fn stacks<'a>(names: &[String], role: Role, laboratory: &'a Laboratory) -> Result<Vec<&'a StackManifest>> {
    if names.is_empty() {
        return Ok(laboratory
            .stack_store
            .default_builds()
            .filter(|manifest| manifest.is_quic() && manifest.has(role))
            .collect());
    }
    let mut chosen = Vec::new();
    for name in names.iter().collect::<BTreeSet<_>>() {
        let manifest = &laboratory.stack_store.source(name)?.manifest;
        if !manifest.is_quic() || !manifest.has(role) {
            bail!("{name}: has no QUIC {}; expected a stack with one", quiclab_experiment::run::word(&role));
        }
        chosen.push(manifest);
    }
    Ok(chosen)
}

fn cases(names: &[String]) -> Result<Vec<&'static Case>> {
    if let Some(name) = names.iter().find(|name| CASES.iter().all(|case| case.name != name.as_str())) {
        let known = CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
        bail!("--case {name}: found no such case, expected one of {known}");
    }
    let is_chosen = |case: &&Case| match names {
        [] => !case.is_measurement,
        names => names.iter().any(|name| name == case.name),
    };
    Ok(CASES.iter().filter(is_chosen).collect())
}

/// The run, or the role that does not claim what the case needs; the server where neither does.
fn run_if_supported(
    case: &'static Case,
    server: &StackManifest,
    client: &StackManifest,
    seed: u64,
    laboratory: &Laboratory,
) -> Result<Result<Run, Side>> {
    if !server.test_cases.server.contains(case.server_test_case()) || !server.ip.contains(&case.ip) {
        return Ok(Err(Side::Server));
    }
    let speaks = !common_http(server, client, case.client_test_case).is_empty();
    if !client.test_cases.client.contains(case.client_test_case) || !client.ip.contains(&case.ip) || !speaks {
        return Ok(Err(Side::Client));
    }
    run_of(case, &server.name, &client.name, seed, &laboratory.stack_store.manifests()).map(Ok)
}
