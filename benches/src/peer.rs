//! PyTorch, or sconce, in a process of its own that stays, so that their runs can alternate.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = include_str!("peer.py");

/// Where it is set, sconce and the peers use no vector instructions newer than AVX2.
pub const AVX2: &str = "SCONCE_BENCH_AVX2";
/// What the peers are told then. ONNX Runtime cannot be told: it asks the processor.
const AVX2_OF_PEERS: [(&str, &str); 3] = [
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
];

pub struct Peer {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub fn start(python: &str) -> Peer {
        let mut command = Command::new(python);
        if std::env::var_os(AVX2).is_some() {
            command.envs(AVX2_OF_PEERS);
        }
        Peer::of(command.args(["-c", SCRIPT]))
    }

    /// sconce, with so many threads, taking the orders of `infer.rs`.
    pub fn start_sconce(threads: usize) -> Peer {
        let program = std::env::current_exe().expect("this program");
        let threads = threads.to_string();
        Peer::of(Command::new(program).arg("child-infer").env("RAYON_NUM_THREADS", threads))
    }

    fn of(command: &mut Command) -> Peer {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starting the process");
        let orders = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Peer { process, orders, answers }
    }

    /// Has something done; gives the time that it measured.
    pub fn order(&mut self, words: &[&str]) -> Duration {
        writeln!(self.orders, "{}", words.join("\t")).expect("it listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        Duration::from_secs_f64(answer.trim().parse().expect("it says seconds"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
