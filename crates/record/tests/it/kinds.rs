//! A record holds a run of either kind, and each is read as what it is.

use std::{fs, path::Path};

use quiclab_experiment::{
    AnyRun, Overrides,
    run::{Run, Versions},
    scenario::{Scenario, ScenarioRun},
};
use quiclab_record::{Draft, Records, RunFile};

const SCENARIO: &str = "name = \"x\"\ntitle = \"X\"\n[flows]\ncount = 5\nrtt = \"100 ms\"\n";

fn draft(folder: &Path) -> Draft {
    Records::open(folder).unwrap().begin("x-01-0123456789abcdef").unwrap()
}

#[test]
fn a_run_of_models_is_written_and_read_and_is_no_transfer() {
    let plan = Scenario::parse("x.toml", SCENARIO, None).unwrap().plan(&Overrides::default()).unwrap();
    let versions = Versions::from([("testbed".to_owned(), "sim".to_owned())]);
    let run = AnyRun::from(plan.runs[0].clone());
    let file = RunFile { id: "0123456789abcdef".to_owned(), ..RunFile::of(&run, &versions) };
    let folder = tempfile::tempdir().unwrap();
    let draft = draft(folder.path());
    draft.write_run(&file).unwrap();
    assert_eq!(RunFile::read_any(draft.folder()).unwrap(), file);
    assert_eq!(RunFile::<ScenarioRun>::read(draft.folder()).unwrap().run, plan.runs[0]);
    let error = RunFile::<Run>::read(draft.folder()).unwrap_err().to_string();
    assert!(error.contains("run.toml: found a record of a scenario, expected one of a transfer"), "{error}");
}

#[test]
fn a_schema_that_is_no_version_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for schema in ["0", "1", "-3", "\"2\""] {
        fs::write(folder.path().join("run.toml"), format!("schema = {schema}\nid = \"x\"\n")).unwrap();
        let error = RunFile::<Run>::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("schema: found {schema}, expected 2")), "{error}");
    }
}
