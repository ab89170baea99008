//! Which claims are checked: all, or those that `--claim` names.

use anyhow::{Result, bail};
use quiclab_experiment::error::nearest;
use quiclab_testbed::testbed::Testbed;
use quiclab_trials::claims::{Expected, Proof};
use serde_json::json;

use crate::terminal::output;

/// What is run of a stack's claims, and which of it is reported.
pub struct Selected {
    /// The stack's name.
    pub stack: String,
    /// What is run, in order.
    pub proofs: Vec<Proof>,
    /// What was asked for; everything where it is empty.
    wanted: Vec<String>,
}

impl Selected {
    /// True where nothing is run.
    pub fn is_empty(&self) -> bool {
        self.proofs.is_empty()
    }

    /// Takes out what `testbed` refuses, with its reason.
    pub fn set_aside(&mut self, testbed: &dyn Testbed) -> Vec<(Proof, String)> {
        let (mut refused, mut kept) = (Vec::new(), Vec::new());
        for proof in self.proofs.drain(..) {
            match testbed.refuse(&proof.run) {
                Some(why) => refused.push((proof, why)),
                None => kept.push(proof),
            }
        }
        self.proofs = kept;
        refused
    }

    /// True for what was asked for, false for what is only run to compare with.
    pub fn reports(&self, proof: &Proof) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| is_named(proof, wanted))
    }
}

/// The claims of each stack that are named in `wanted`; all where it is empty. Beside them, those that they are judged against.
///
/// # Errors
/// A name that no claim of any of the stacks has.
pub fn select(stacks: &[String], proofs: Vec<Vec<Proof>>, wanted: &[String]) -> Result<Vec<Selected>> {
    for name in wanted {
        if !proofs.iter().flatten().any(|proof| is_named(proof, name)) {
            let known = proofs.iter().flatten().map(|proof| proof.name.as_str());
            let near = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let list = format!("quiclab stacks check {} --list prints their names", stacks.join(" "));
            bail!("--claim: found {name:?}, expected a claim of {}{near}\nhint: {list}", stacks.join(" or "));
        }
    }
    let select = |(stack, mut proofs): (&String, Vec<Proof>)| {
        if !wanted.is_empty() {
            let named = |proof: &Proof| wanted.iter().any(|name| is_named(proof, name));
            let kinds: Vec<_> = proofs.iter().filter(|proof| named(proof)).filter_map(compared_with).collect();
            proofs.retain(|proof| named(proof) || compared_with(proof).is_some_and(|kind| kinds.contains(&kind)));
        }
        Selected { stack: stack.clone(), proofs, wanted: wanted.to_vec() }
    };
    Ok(stacks.iter().zip(proofs).map(select).collect())
}

/// Prints the names of the claims.
///
/// # Errors
/// Where standard output is closed.
pub fn list(stacks: &[String], proofs: &[Vec<Proof>], json: bool) -> Result<()> {
    let all = || stacks.iter().zip(proofs).flat_map(|(stack, proofs)| proofs.iter().map(move |proof| (stack, proof)));
    if json {
        let row =
            |(stack, proof): (&String, &Proof)| json!({ "stack": stack, "name": proof.name, "claim": proof.claim });
        return output::print(&(serde_json::to_string_pretty(&all().map(row).collect::<Vec<_>>())? + "\n"));
    }
    let mut table = output::table(["stack", "--claim", "what is checked"]);
    for (stack, proof) in all() {
        table.add_row([stack.clone(), proof.name.clone(), proof.claim.clone()]);
    }
    output::print(&format!("{table}\n"))
}

/// `gso` names `gso-on` and `gso-off`.
fn is_named(proof: &Proof, name: &str) -> bool {
    proof.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Claims of the same answer are judged by how far their packets are apart.
fn compared_with(proof: &Proof) -> Option<&'static str> {
    match proof.expected {
        Expected::CongestionControl(_) => Some("congestion control"),
        Expected::Hystart(_) => Some("HyStart++"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use quiclab_experiment::stack::StackManifest;
    use quiclab_testbed::stack::sources;

    use quiclab_trials::claims;

    use super::*;

    fn names(wanted: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let stacks: BTreeMap<String, StackManifest> =
            sources(&folder).unwrap().into_iter().map(|(name, source)| (name, source.manifest)).collect();
        let proofs = vec![claims::of("quinn", &stacks).unwrap()];
        let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let selected = select(&["quinn".to_owned()], proofs, &wanted).map_err(|error| error.to_string())?;
        let [selected] = &selected[..] else { panic!() };
        let name = |proof: &Proof| proof.name.clone();
        let reported = selected.proofs.iter().filter(|proof| selected.reports(proof)).map(name).collect();
        Ok((selected.proofs.iter().map(name).collect(), reported))
    }

    #[test]
    fn a_claim_is_selected_by_its_name_or_its_beginning() {
        assert_eq!(names(&["gso-on"]).unwrap().0, ["gso-on"]);
        assert_eq!(names(&["gso", "transfer"]).unwrap().0, ["transfer", "gso-on", "gso-off"]);
        assert_eq!(names(&["case-retry"]).unwrap().0, ["case-retry"]);
        assert!(names(&[]).unwrap().0.len() > 30);
    }

    #[test]
    fn what_a_claim_is_compared_with_is_run_and_not_reported() {
        let (run, reported) = names(&["congestion-control-reno"]).unwrap();
        assert_eq!(run, ["congestion-control-cubic", "congestion-control-reno", "congestion-control-bbr"]);
        assert_eq!(reported, ["congestion-control-reno"]);
    }

    #[test]
    fn a_misspelt_claim_is_refused_with_the_nearest_one() {
        let error = names(&["gso-onn"]).unwrap_err();
        for part in ["--claim", "\"gso-onn\"", "did you mean gso-on?", "--list"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
