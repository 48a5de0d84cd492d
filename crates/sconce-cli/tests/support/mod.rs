//! Runs the binary over the fixtures.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test file uses a part of it"
)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A test for each line: that a command prints what its snapshot has.
#[allow(unused_macros, reason = "not every test file has any")]
macro_rules! looks {
    ($($name:ident: $($arg:expr),+;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), support::sconce(&[$($arg),+]).all());
        }
    )*};
}

/// What a run gave.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub raw: Vec<u8>,
}

/// The folder of the fixtures.
pub fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files")
}

/// The binary, in the fixtures' folder, with no say of the environment.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sconce"));
    command.args(args).current_dir(fixtures());
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "SCONCE_COLOR",
        "SCONCE_BYTES",
        "SCONCE_QUIET",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs the binary to its end.
pub fn sconce(args: &[&str]) -> Run {
    run(command(args).output().unwrap())
}

/// Runs the binary with something on standard input.
pub fn sconce_with_stdin(args: &[&str], input: &[u8]) -> Run {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A reader that refuses early closes the pipe.
    let _ = stdin.write_all(input);
    drop(stdin);
    run(child.wait_with_output().unwrap())
}

/// What a finished process gave.
pub fn run(output: Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        raw: output.stdout,
    }
}

impl Run {
    /// Standard output of a run that must succeed.
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// Standard output as JSON, whatever the exit code.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}\nstdout: {}\nstderr: {}", self.out, self.err))
    }

    /// Everything that was printed, for snapshots.
    pub fn all(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, stream) in [("stdout", &self.out), ("stderr", &self.err)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{stream}"));
            }
        }
        text
    }
}
