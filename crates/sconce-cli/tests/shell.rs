//! What the shell gets: completions, manual pages.

mod support;

use std::fs;

use support::sconce;

#[test]
fn completions_for_each_shell_name_every_verb() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish", "nushell"] {
        let script = sconce(&["completions", shell]).ok();
        for verb in ["identify", "convert", "globals", "code", "graph", "resave"] {
            assert!(script.contains(verb), "{shell} {verb}");
        }
    }
    assert_eq!(sconce(&["completions", "tcsh"]).code, 3);
}

/// What is offered for the last word, by the command itself.
fn offered(words: &[&str]) -> Vec<String> {
    let run = sconce(&[&["completions", "--names"], words].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    run.out.lines().map(str::to_owned).collect()
}

#[test]
fn names_in_files_are_completed() {
    const STATE: &str = "2.15/zip/state_dict.pt";
    const CLASSIFIER: &str = "../../examples/classifier.pt";
    let all = offered(&["show", STATE, ""]);
    let listed = sconce(&["ls", STATE, "--no-header"]).ok();
    assert_eq!(all.len(), listed.lines().count(), "{all:?}");
    let begun = offered(&["show", STATE, "body.2"]);
    assert!(!begun.is_empty() && begun.iter().all(|name| name.starts_with("body.2")), "{begun:?}");
    assert_eq!(offered(&["trace", STATE, "--tensor", "body.2"]), begun);
    assert_eq!(offered(&["-q", "run", CLASSIFIER, "enc"]), ["encoder.forward"]);
    assert_eq!(offered(&["graph", CLASSIFIER, "-m", "na"]), ["name_of"]);
    for nothing in [&["show", "nowhere.pt", ""][..], &["ls", STATE, "x"], &["show"], &[]] {
        assert!(offered(nothing).is_empty(), "{nothing:?}");
    }
}

/// The scripts in the shells that are here.
#[cfg(unix)]
#[test]
fn shells_complete_names_in_files() {
    use std::path::Path;
    use std::process::Command;

    let folder = Path::new(env!("CARGO_BIN_EXE_sconce")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let bash = "source <(sconce completions bash); COMP_WORDS=(sconce show $FILE body.2); COMP_CWORD=3; \
                _sconce_with_names sconce body.2 $FILE; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let fish = "sconce completions fish | source; complete -C \"sconce show $FILE body.2\"";
    let zsh = "autoload -U compinit; compinit -D; eval \"$(sconce completions zsh)\"; \
               words=(sconce show $FILE body.2); CURRENT=4; compadd() { print -l -- ${(P)@[-1]}; }; \
               _sconce_words() { :; }; _sconce";
    for (shell, script) in [("bash", bash), ("fish", fish), ("zsh", zsh)] {
        let mut command = Command::new(shell);
        command.args(["-c", script]).env("PATH", &path).env("FILE", "2.15/zip/state_dict.pt");
        // Only bash is on every machine.
        let output = match command.current_dir(support::fixtures()).output() {
            Err(_) if shell != "bash" => continue,
            output => support::run(output.unwrap()),
        };
        assert!(output.out.contains("body.2.bn.weight"), "{shell}: {}{}", output.out, output.err);
        assert!(!output.out.contains("body.1"), "{shell}: {}", output.out);
    }
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
