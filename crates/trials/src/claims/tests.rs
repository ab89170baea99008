use std::{collections::BTreeSet, path::Path};

use quiclab_testbed::stack::sources;

use super::*;

/// The manifests of the stacks in this repository.
fn shipped() -> BTreeMap<String, StackManifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    sources(&folder).unwrap().into_iter().map(|(name, source)| (name, source.manifest)).collect()
}

#[test]
fn every_claim_of_every_stack_has_a_name_of_its_own() {
    let stacks = shipped();
    for stack in stacks.keys() {
        let proofs = of(stack, &stacks).unwrap();
        assert_eq!(proofs[0].name, TRANSFER);
        let names: BTreeSet<_> = proofs.iter().map(|proof| &proof.name).collect();
        assert_eq!(names.len(), proofs.len(), "{stack}: {names:?}");
    }
}

#[test]
fn both_roles_must_refuse_the_parameters_of_both_and_other_names_of_congestion_controls_can_be_claimed() {
    let stacks = shipped();
    let proofs = of("picoquic", &stacks).unwrap();
    let has = |name: &str| proofs.iter().any(|proof| proof.name == name);
    for role in ["server", "client"] {
        for variable in ["SERVER_PARAMS", "CLIENT_PARAMS"] {
            assert!(has(&format!("refuses-{role}-{variable}-x")), "{role} {variable}");
        }
        assert!(
            has(&format!("refuses-{role}-QUICLAB_CCA-copa")) && has(&format!("refuses-{role}-QUICLAB_CCA-nonsense"))
        );
        assert!(!has(&format!("refuses-{role}-QUICLAB_CCA-prague")));
    }
    assert!(has("congestion-control-prague"));
}

#[test]
fn only_a_server_that_does_not_claim_migration_may_forbid_it() {
    let mut stacks = shipped();
    let may_forbid = |name: &str, stacks: &BTreeMap<_, _>| {
        let proofs = of(name, stacks).unwrap();
        let proof = proofs.iter().find(|proof| proof.name == "case-connectionmigration").unwrap();
        matches!(proof.expected, Expected::CaseUnlessForbidden(_))
    };
    assert!(may_forbid("openssl", &stacks));
    // Its client claims the case, and is proved with its own server.
    assert!(!may_forbid("quic-go", &stacks));
    stacks.get_mut("openssl").unwrap().test_cases.server.insert("connectionmigration".to_owned());
    assert!(!may_forbid("openssl", &stacks));
}

#[test]
fn a_name_is_safe_in_a_file_system() {
    assert_eq!(file_name("refuses-server-SERVER_PARAMS--x"), "refuses-server-SERVER_PARAMS-x");
    assert_eq!(file_name("quiche profile=dev"), "quiche-profile-dev");
    assert_eq!(file_name("../../etc/a b"), "-..-etc-a-b");
}

#[test]
fn a_late_certificate_meets_a_client_hello_in_parts_where_a_part_is_acknowledged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    let mut stacks: BTreeMap<String, StackManifest> =
        sources(&folder).unwrap().into_iter().map(|(name, source)| (name, source.manifest)).collect();
    let client = |name: &str, stacks: &BTreeMap<_, _>| {
        let proofs = of(name, stacks).unwrap();
        let proof = proofs.iter().find(|proof| proof.name == "late-certificate").unwrap();
        proof.run.settings.stack.client.clone()
    };
    // Its own client sends its ClientHello in one datagram, that of quic-go in two, and nothing has to be installed for its build.
    assert_eq!(client("picoquic", &stacks), "quic-go");
    assert_eq!([client("quic-go", &stacks), client("quinn", &stacks)], ["quic-go", "quinn"]);
    assert_eq!(client("tokio-quiche", &stacks), "quiche");
    stacks.get_mut("picoquic").unwrap().certificate_delay = CertificateDelay::Wait;
    assert_eq!(client("picoquic", &stacks), "picoquic");
}
