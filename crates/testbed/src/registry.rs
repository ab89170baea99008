//! The testbeds that there are.

use std::sync::Arc;

use anyhow::{Result, bail};
use quiclab_experiment::{AnyRun, run::Versions};

use crate::{
    hosts::Hosts,
    netns::Namespaces,
    sim::testbed::Simulator,
    testbed::{TESTBED_VERSION, Testbed},
    uml::UserModeLinux,
    vm::testbed::VirtualMachines,
};

/// Every testbed. The first one is the default.
pub const TESTBEDS: &[fn() -> Arc<dyn Testbed>] = &[
    || Arc::new(VirtualMachines::default()),
    || Arc::new(UserModeLinux::default()),
    || Arc::new(Simulator::default()),
    || Arc::new(Namespaces::default()),
    || Arc::new(Hosts::default()),
];

/// Why `testbed` cannot do exactly what `run` asks for, whatever its workload, as [`Testbed::refuse`] says it; `None` where it can.
pub fn refusal(testbed: &dyn Testbed, run: &AnyRun) -> Option<String> {
    match run {
        AnyRun::Transfer(run) => testbed.refuse(run),
        AnyRun::Models(_) if testbed.runs_models() => None,
        AnyRun::Models(_) => Some(format!(
            "found flows of models with --testbed {}, expected --testbed {}\nhint: a file with [workload] and [stack] instead \
             of [flows] runs real stacks",
            testbed.name(),
            crate::sim::testbed::NAME
        )),
    }
}

/// The testbed of that name.
///
/// # Errors
/// Where there is none: the message names those there are.
pub fn testbed(name: &str) -> Result<Arc<dyn Testbed>> {
    match TESTBEDS.iter().map(|make| make()).find(|testbed| testbed.name() == name) {
        Some(testbed) => Ok(testbed),
        None => bail!("testbed: found {name:?}, expected one of {}", names().join(", ")),
    }
}

/// The testbed for runs of stacks where none is named.
pub fn default_testbed() -> Arc<dyn Testbed> {
    TESTBEDS[0]()
}

/// The testbed that made a run, by its versions.
///
/// # Errors
/// Where the versions name none, or one that this quiclab does not have.
pub fn testbed_of(versions: &Versions) -> Result<Arc<dyn Testbed>> {
    match versions.get(TESTBED_VERSION) {
        Some(name) => testbed(name).map_err(|error| {
            error.context("versions: the record was made on a testbed that this version of quiclab does not know")
        }),
        None => bail!("versions.{TESTBED_VERSION}: missing; expected one of {}", names().join(", ")),
    }
}

/// The names of all testbeds.
pub fn names() -> Vec<&'static str> {
    TESTBEDS.iter().map(|make| make().name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn testbeds_have_different_names_and_are_found_by_them() {
        let mut all = names();
        for name in &all {
            assert_eq!(testbed(name).unwrap().name(), *name);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), TESTBEDS.len());
    }

    #[test]
    fn an_unknown_testbed_in_a_record_is_named_with_the_known_ones() {
        let of = |name: &str| testbed_of(&Versions::from([(TESTBED_VERSION.to_owned(), name.to_owned())]));
        assert_eq!(of("sim").unwrap().name(), "sim");
        let error = format!("{:#}", of("moon").unwrap_err());
        for part in ["\"moon\"", "vm, uml, sim, netns, hosts", "this version of quiclab"] {
            assert!(error.contains(part), "{error}");
        }
        let error = testbed_of(&Versions::new()).unwrap_err().to_string();
        assert!(error.contains("versions.testbed: missing"), "{error}");
    }
}
