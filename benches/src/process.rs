//! Whole processes: how long they take, and how much memory they ever had resident.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// What a process took.
pub struct Cost {
    pub time: Duration,
    /// The most memory it had resident, pages of mapped files included, in kilobytes: what
    /// `time -v` calls the maximum resident set size.
    pub peak: u64,
}

/// Runs a program to its end. A process of this program's own stands between, since the system
/// counts what a process began as, before it became the other program, to that one's peak.
pub fn measure<S: AsRef<OsStr>>(program: &OsStr, args: impl IntoIterator<Item = S>) -> Cost {
    let me = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(me);
    command.arg("child-run").arg(program).args(args);
    let output = command.output().expect("starting a child");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", program.to_string_lossy());
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let mut next = || words.next().expect("two numbers");
    Cost {
        time: Duration::from_secs_f64(next().parse().expect("seconds")),
        peak: next().parse().expect("kilobytes"),
    }
}

/// The process that stands between: runs a command line, prints seconds and kilobytes.
pub fn child_run(command: &[String]) {
    let start = Instant::now();
    let status = Command::new(&command[0]).args(&command[1..]).stdout(Stdio::null()).status();
    let time = start.elapsed();
    assert!(status.expect("starting the program").success(), "{command:?} failed");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of children");
    println!("{} {}", time.as_secs_f64(), usage.max_rss());
}

/// The `sconce` binary of this checkout, built now if it is not there as the sources have it.
pub fn sconce() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = root.join("target");
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "sconce-cli", "--target-dir"])
        .arg(&target)
        .current_dir(&root)
        .status();
    assert!(status.expect("starting cargo").success(), "sconce-cli does not build");
    target.join("release").join("sconce")
}
