//! What the endpoints of a check are told.

use quiclab_experiment::{
    run::word,
    server_test_case,
    stack::{Role, StackManifest},
};

use super::checks::{HTTP, PERF_SIZES, SHARED, Variables};

/// What a role is told in a check with these `variables`: the stack that is tried (`own`) also what it is `always` told. Its own
/// settings are nothing to its peer, except those that both sides must be told.
pub fn told(own: &StackManifest, is_own: bool, role: Role, always: &Variables, variables: &Variables) -> Variables {
    let mut told = variables.clone();
    for (name, value) in always.iter().filter(|(name, _)| is_own || SHARED.contains(&name.as_str())) {
        told.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let is_size = |name: &str| PERF_SIZES.iter().any(|(size, _)| *size == name);
    if !is_own {
        told.retain(|name, _| !name.starts_with("QUICLAB_") || SHARED.contains(&name.as_str()) || is_size(name));
        told.entry(HTTP.to_owned()).or_insert_with(|| word(&own.default.http));
    }
    if role == Role::Server {
        told.retain(|name, _| !is_size(name));
        if let Some(case) = told.get_mut("TESTCASE") {
            *case = server_test_case(case).to_owned();
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use quiclab_testbed::stack::sources;

    use super::*;

    #[test]
    fn a_peer_is_told_the_http_of_the_stack_that_is_tried_and_not_its_other_settings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let own = sources(&folder).unwrap().remove("quinn").unwrap().manifest;
        let variables = |all: &[(&str, &str)]| -> Variables {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let always = variables(&[(HTTP, "hq"), ("QUICLAB_CCA", "reno")]);
        let none = Variables::new();
        let told = |is_own, always, check: &Variables| told(&own, is_own, Role::Client, always, check);
        assert_eq!(told(false, &always, &none), variables(&[(HTTP, "hq")]));
        assert_eq!(told(true, &always, &none), always);
        assert_eq!(told(false, &none, &none), variables(&[(HTTP, "h3")]));
        assert_eq!(told(true, &none, &none), none);
        // A check that names one overrides both.
        let check = variables(&[(HTTP, "h3"), ("QUICLAB_GSO", "off")]);
        assert_eq!(told(false, &always, &check), variables(&[(HTTP, "h3")]));
        assert_eq!(told(true, &always, &check)[HTTP], "h3");
    }
}
