//! What the shell gets: completions, manual pages.

mod support;

use std::fs;

use support::sconce;

#[test]
fn completions_for_each_shell_name_every_verb() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sconce(&["completions", shell]).ok();
        for verb in ["identify", "convert", "globals", "code", "graph", "resave"] {
            assert!(script.contains(verb), "{shell} {verb}");
        }
    }
    assert_eq!(sconce(&["completions", "tcsh"]).code, 3);
}

#[test]
fn manual_pages_are_roff() {
    let page = sconce(&["man"]).ok();
    assert!(page.contains(".TH sconce 1"), "{}", &page[..200.min(page.len())]);
    let folder = tempfile::tempdir().unwrap();
    sconce(&["man", "--dir", &folder.path().to_string_lossy()]).ok();
    let pages = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(pages, 32, "one for sconce and one for each verb");
    assert!(fs::read_to_string(folder.path().join("sconce-ls.1")).unwrap().contains("sconce\\-ls"));
}

#[test]
fn the_listing_is_that_of_pickletools() {
    let listing = sconce(&["dis", "2.15/zip/single_tensor.pt"]).ok();
    assert!(listing.starts_with("    0: \\x80 PROTO      2\n"), "{listing}");
    assert!(listing.ends_with("highest protocol among opcodes = 2\n"), "{listing}");
    let legacy = sconce(&["dis", "2.15/legacy/single_tensor.pt"]).ok();
    assert_eq!(legacy.matches("highest protocol").count(), 5);
    let object = sconce(&["dis", "2.15/legacy/single_tensor.pt", "--record", "object"]).ok();
    assert_eq!(object.matches("highest protocol").count(), 1);
    assert!(object.starts_with("    0: \\x80 PROTO      2\n"), "{object}");
}
