//! PyTorch in a process of its own that stays, so that its runs and sconce's can alternate.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = include_str!("peer.py");

pub struct Peer {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub fn start(python: &str) -> Peer {
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starting Python");
        let orders = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Peer { process, orders, answers }
    }

    /// Has something done; gives the time that Python measured.
    pub fn order(&mut self, words: &[&str]) -> Duration {
        writeln!(self.orders, "{}", words.join("\t")).expect("Python listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("Python answers");
        Duration::from_secs_f64(answer.trim().parse().expect("Python says seconds"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
