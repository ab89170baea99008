//! The reference says what the table of cases says.

use quiclab_interop::CASES;

#[test]
fn every_case_stands_in_the_reference_with_its_letters_files_and_test_cases() {
    let text = include_str!("../../../../docs/reference/interop.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), CASES.len());
    for (case, row) in CASES.iter().zip(rows) {
        let files = format!("{} x {}", case.files.count, case.files.size);
        let found = row[4].split(", with names of").next().unwrap();
        assert_eq!(row[1], format!("`{}`", case.name));
        assert_eq!(row[2], case.abbreviation, "{}", case.name);
        assert_eq!(row[3], format!("`{}`, `{}`", case.client_test_case, case.server_test_case()), "{}", case.name);
        assert_eq!(found, files, "{}", case.name);
    }
}
