//! Names of members: 32 parts of 255 bytes at most, and below the folder that they are unpacked to.

use quiclab_record::bundle::check_name;

#[test]
fn names_below_the_folder_are_taken() {
    for name in ["a", "a/b.txt", "first/results/quiche-01-0123456789abcdef/run.toml", "..a/.b", "größe/…"] {
        check_name(name).unwrap();
    }
    check_name("x/".repeat(31).trim_end_matches('/')).unwrap();
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in ["", "/etc/passwd", "a/../b", "..", "./a", "a//b", "a/", "C:/x", "a\\..\\b", "a\nb", "a\u{1b}[2J"] {
        let error = check_name(name).unwrap_err().to_string();
        assert!(error.contains("found") && error.contains("expected") && !error.contains('\u{1b}'), "{error}");
    }
    check_name(&"x".repeat(255)).unwrap();
    assert!(check_name(&"x".repeat(255 + 1)).is_err());
    assert!(check_name(&vec!["x"; 32].join("/")).is_ok());
    assert!(check_name(&vec!["x"; 32 + 1].join("/")).is_err());
}
