use super::*;

#[test]
fn a_name_is_the_archives_without_its_endings() {
    for (file, name) in [("a/quic-go.tar.gz", "quic-go"), ("x.oci.tar.zst", "x"), ("ngtcp2-1.9.tgz", "ngtcp2-1.9")] {
        assert_eq!(name_of(Path::new(file)).unwrap(), name);
    }
    for file in [".tar", "-x.tar", "a b.tar", "..", "é.tar"] {
        let error = format!("{:#}", name_of(Path::new(file)).unwrap_err());
        assert!(error.contains("hint: --name"), "{file}: {error}");
    }
}

#[test]
fn a_manifest_says_what_was_said_on_import_and_keeps_the_contracts_variables() {
    let image = oci::Image {
        id: "0123456789abcdef".repeat(4),
        tag: None,
        command: vec!["/run_endpoint.sh".to_owned()],
        environment: [("PATH", "/opt/bin"), ("ROLE", "nobody"), ("QUICLAB_CCA", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        folder: "/work".to_owned(),
        user: String::new(),
        layers: Vec::new(),
    };
    let cases = BTreeSet::from(["retry".to_owned()]);
    let claims = Claims { name: "x".to_owned(), role: RoleChoice::Client, http: vec![Http::H3, Http::Hq], cases };
    let text = toml::to_string(&manifest(&image, &claims).unwrap()).unwrap();
    let manifest = StackManifest::parse("stack.toml", &text).unwrap();
    assert!(manifest.is_of_interop_runner());
    assert_eq!(manifest.peer.as_deref(), Some(PEER));
    assert_eq!(manifest.default.http, Http::Hq);
    assert!(manifest.test_cases.server.is_empty() && manifest.test_cases.client.contains("retry"));
    assert_eq!(manifest.guest.environment.into_keys().collect::<Vec<_>>(), ["PATH"]);
    assert_eq!((manifest.guest.folder.as_deref(), manifest.version.as_str()), (Some("/work"), "image 0123456789ab"));
}
