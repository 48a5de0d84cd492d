//! Limits that hold: small files that claim much, files that change or are no files, runs that are
//! killed, and texts of megabytes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crc32fast::Hasher;
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress, create_comp_flags_from_zip_params,
};
use support::{Run, command, fixtures, sconce};

/// Deflate data that ends at a byte, so that it can stand any number of times in a stream.
fn deflated(data: &[u8]) -> Vec<u8> {
    let mut state = CompressorOxide::new(create_comp_flags_from_zip_params(9, 0, 0));
    let mut out = vec![0; data.len() + 1000];
    let (_, read, written) = compress(&mut state, data, &mut out, TDEFLFlush::Sync);
    assert_eq!(read, data.len());
    out.truncate(written);
    out
}

/// A record: its name, its bytes in the file, what they come to, and the checksum of that.
struct Record {
    name: String,
    stored: Vec<u8>,
    size: u64,
    crc: u32,
    deflated: bool,
}

impl Record {
    fn stored(name: impl Into<String>, bytes: &[u8]) -> Record {
        let (size, crc) = (bytes.len() as u64, crc32fast::hash(bytes));
        Record { name: name.into(), stored: bytes.to_vec(), size, crc, deflated: false }
    }

    /// A beginning, a part that is repeated, and an end.
    fn repeated(name: &str, start: &[u8], part: &[u8], times: usize, end: &[u8]) -> Record {
        let (mut stored, mut crc, mut size) = (Vec::new(), Hasher::new(), 0);
        let packed = [start, part, end].map(deflated);
        let sums = [start, part, end].map(|data| {
            let mut sum = Hasher::new();
            sum.update(data);
            sum
        });
        for (which, times) in [(0, 1), (1, times), (2, 1)] {
            for _ in 0..times {
                stored.extend(&packed[which]);
                crc.combine(&sums[which]);
                size += [start, part, end][which].len() as u64;
            }
        }
        // An empty block, the last one.
        stored.extend([3, 0]);
        Record { name: name.into(), stored, size, crc: crc.finalize(), deflated: true }
    }
}

/// A zip archive in the folder `archive`.
fn zip(records: &[Record]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for record in records {
        let name = format!("archive/{}", record.name);
        let mut fixed = vec![20, 0, 0, 0, if record.deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        fixed.extend(record.crc.to_le_bytes());
        fixed.extend((record.stored.len() as u32).to_le_bytes());
        fixed.extend((record.size as u32).to_le_bytes());
        fixed.extend((name.len() as u16).to_le_bytes());
        fixed.extend([0, 0]);
        let at = out.len() as u32;
        out.extend([b"PK\x03\x04", &fixed[..], name.as_bytes(), &record.stored].concat());
        directory.extend([b"PK\x01\x02\x14\0", &fixed[..], &[0; 10]].concat());
        directory.extend([&at.to_le_bytes()[..], name.as_bytes()].concat());
    }
    let (at, size) = (out.len() as u32, directory.len() as u32);
    let count = (records.len() as u16).to_le_bytes();
    out.extend(directory);
    out.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count].concat());
    out.extend([&size.to_le_bytes()[..], &at.to_le_bytes(), &[0, 0]].concat());
    out
}

/// A checkpoint of one tensor of bytes.
fn checkpoint(pickle: Record, data: Option<Record>) -> Vec<u8> {
    let mut records = vec![pickle, Record::stored("version", b"3\n")];
    records.extend(data);
    zip(&records)
}

/// The pickle of `torch.zeros(n, dtype=torch.uint8)`.
fn pickle_of_bytes(n: u32) -> Vec<u8> {
    let n = n.to_le_bytes();
    [
        &b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\0\
           0X\x03\0\0\0cpuJ"[..],
        &n,
        b"tQK\0J",
        &n,
        b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR.",
    ]
    .concat()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.text(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| name(entry).into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs the binary with so many kilobytes for what it allocates, its threads' stacks among it.
fn with_memory(kilobytes: u32, args: &[&str]) -> Run {
    let inner = command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -d {kilobytes}; exec \"$0\" \"$@\"")]);
    shell.arg(inner.get_program()).args(inner.get_args()).env("RAYON_NUM_THREADS", "2");
    shell.current_dir(inner.get_current_dir().unwrap());
    support::run(shell.output().unwrap())
}

/// 260 KB that claim a hundred million values took 17 s and 4 GB.
#[test]
fn a_pickle_that_claims_a_million_values_is_refused_by_every_verb() {
    let folder = Folder::new();
    let part = vec![b'N'; 1 << 20];
    let bomb = |times| Record::repeated("data.pkl", b"\x80\x02(", &part, times, b"l.");
    // One that inflates to more than is read, and one that holds more values than it may.
    let files = [
        ("long.pt", checkpoint(bomb(100), None), "--max-pickle-bytes"),
        ("many.pt", checkpoint(bomb(10), None), "--max-pickle-values"),
    ];
    let verbs: [&[&str]; 15] = [
        &["info", "FILE"],
        &["ls", "FILE"],
        &["tree", "FILE"],
        &["show", "FILE"],
        &["stat", "FILE"],
        &["dis", "FILE"],
        &["dis", "FILE", "--json"],
        &["trace", "FILE", "--limit", "0", "--at", "99999999"],
        &["globals", "FILE"],
        &["verify", "FILE"],
        &["scan", "FILE"],
        &["pickle", "FILE"],
        &["diff", "2.15/zip/shared.pt", "FILE"],
        &["convert", "FILE", "/dev/null", "--to", "npz"],
        &["resave", "FILE", "/dev/null"],
    ];
    for (name, bytes, flag) in files {
        assert!(bytes.len() < 200_000, "{}", bytes.len());
        let file = folder.write(name, &bytes);
        for verb in verbs {
            let args: Vec<&str> =
                verb.iter().map(|&arg| if arg == "FILE" { file.as_str() } else { arg }).collect();
            let run = with_memory(96 << 10, &args);
            assert!((1..=2).contains(&run.code), "{args:?}: {}", run.err);
            let said = if matches!(verb[0], "verify" | "scan") { &run.out } else { &run.err };
            assert!(said.contains("more than "), "{args:?}: {said}");
            let tells = matches!(verb[0], "info" | "dis" | "ls") && verb.len() == 2;
            assert!(!tells || said.contains(flag), "{args:?}: {said}");
        }
        // Who trusts it says so.
        let all = ["--max-pickle-bytes", "1G", "--max-pickle-values", "200000000"];
        let run = sconce(&[&["trace", "--limit", "1", &file], &all[..]].concat());
        assert_eq!(run.code, 0, "{}", run.err);
    }
}

#[test]
fn records_that_inflate_to_much_are_read_in_parts() {
    let folder = Folder::new();
    let part = vec![0; 1 << 20];
    const PARTS: u32 = 256;
    let zeros = Record::repeated("data/0", b"", &part, PARTS as usize, b"");
    let pickle = Record::stored("data.pkl", &pickle_of_bytes(PARTS << 20));
    let mut wrong = Record::repeated("data/0", b"", &part, PARTS as usize, b"");
    wrong.crc ^= 1;
    let file = folder.write("zeros.pt", &checkpoint(pickle, Some(zeros)));
    let run = with_memory(64 << 10, &["verify", &file]);
    assert_eq!(run.code, 0, "{}", run.all());
    let to = folder.text("out");
    let run = with_memory(64 << 10, &["extract", &file, "-C", &to]);
    assert_eq!(run.code, 0, "{}", run.all());
    let len = fs::metadata(folder.path("out/archive/data/0")).unwrap().len();
    assert_eq!(len, u64::from(PARTS) << 20);
    // What is wrong with it shows at its end, and leaves nothing.
    let pickle = Record::stored("data.pkl", &pickle_of_bytes(PARTS << 20));
    let file = folder.write("wrong.pt", &checkpoint(pickle, Some(wrong)));
    assert_eq!(with_memory(64 << 10, &["verify", &file]).code, 1);
    let to = folder.text("wrong");
    let run = with_memory(64 << 10, &["extract", &file, "-C", &to, "--entry", "*/data/0"]);
    assert!(run.code == 2 && run.err.contains("checksum"), "{}", run.all());
    assert_eq!(names(&folder.path("wrong/archive/data")), Vec::<String>::new());
}

/// Each took minutes when every record was waited for.
#[test]
fn many_records_are_extracted_in_seconds() {
    let folder = Folder::new();
    let records: Vec<Record> =
        (0..1500).map(|at| Record::stored(format!("data/{at}"), &[at as u8; 8])).collect();
    let file = folder.write("many.pt", &zip(&records));
    let to = folder.text("out");
    let start = Instant::now();
    sconce(&["extract", &file, "-C", &to]).ok();
    sconce(&["extract", &file, "-C", &to, "-f"]).ok();
    // An idle disk takes a second; two waits a record took 30 on a busy one.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(120), "{took:?}");
    let out = folder.path("out/archive/data");
    assert_eq!(names(&out).len(), records.len());
    assert_eq!(fs::read(out.join("1499")).unwrap(), [(1499 % 256) as u8; 8]);
}

/// A file of megabytes can be one name, one line, or one message.
#[test]
fn errors_are_no_longer_than_a_screen() {
    let folder = Folder::new();
    let long = "x".repeat(8 << 20);
    let files = [
        ("int.pkl", format!("\u{0}I{long}\n.").replacen('\u{0}', "(", 1).into_bytes()),
        (
            "global.pkl",
            [b"\x80\x02c", long.as_bytes(), b"\n", long.as_bytes(), b"\n)R0N0."].concat(),
        ),
        ("stack.pkl", [b"\x80\x02", &b"N".repeat(200_000)[..], b"."].concat()),
        ("float.pkl", format!("F{long}\n.").into_bytes()),
        ("line.py", format!("def f(x):\n  return {long} +\n").into_bytes()),
        ("name.py", format!("def {long}(x) -> {long}:\n  return y {long}\n").into_bytes()),
        ("index.json", format!("{{\"weight_map\": {{\"a\": \"{long}\"}}}}").into_bytes()),
        ("zip.pt", {
            let name = "y".repeat(60_000);
            let twice = [0, 1].map(|_| Record::stored(name.as_str(), b"1"));
            zip(&twice)
        }),
        (
            "version.pt",
            zip(&[
                Record::stored("data.pkl", b"\x80\x02N."),
                Record::stored("version", long.as_bytes()),
                Record::stored("byteorder", long.as_bytes()),
            ]),
        ),
    ];
    for (name, bytes) in files {
        let file = folder.write(name, &bytes);
        let verbs: &[&[&str]] = if name.ends_with(".py") {
            &[&["ast"], &["script"], &["code"]]
        } else {
            &[
                &["info"],
                &["ls"],
                &["dis"],
                &["trace"],
                &["globals"],
                &["verify"],
                &["scan"],
                &["pickle"],
                &["code"],
            ]
        };
        for verb in verbs {
            let mut args = verb.to_vec();
            args.push(&file);
            let output = folder.text("out.pt");
            if verb[0] == "script" {
                args.extend(["f", "-o", &output]);
            }
            let run = sconce(&args);
            assert!((0..=3).contains(&run.code), "{args:?} {}", run.code);
            assert!(run.err.len() <= 17 << 10, "{args:?}: {} bytes of errors", run.err.len());
        }
    }
}

/// Opening one would wait for who writes to it, or reads it.
#[test]
fn special_files_are_refused_by_what_they_are() {
    let folder = Folder::new();
    let pipe = folder.text("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = folder.text("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let directory = folder.text("");
    let whats = [(&pipe, "named pipe"), (&socket, "socket"), (&directory, "directory")];
    let within = |args: &[&str]| {
        let start = Instant::now();
        let mut command = command(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
                panic!("{args:?} waits");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        support::run(child.wait_with_output().unwrap())
    };
    for (path, what) in whats {
        let readers: [&[&str]; 9] = [
            &["info", path],
            &["dis", path],
            &["verify", path],
            &["extract", path],
            &["ast", path],
            &["diff", path, path],
            &["convert", path, "/dev/null", "--to", "npz"],
            &["run", "2.15/torchscript/scripted.pt", "--input", path],
            &["code", path],
        ];
        for args in readers {
            let run = within(args);
            assert_eq!(run.code, 2, "{args:?}: {}", run.err);
            assert!(
                run.err.contains(&format!("this is a {what}, not a file")),
                "{args:?}: {}",
                run.err
            );
        }
        let file = "2.15/zip/state_dict.pt";
        let writers: [&[&str]; 4] = [
            &["convert", file, path, "--to", "npz", "-f"],
            &["merge", file, "-o", path, "-f"],
            &["edit", file, path, "-f", "--cast", "float64"],
            &["show", file, "heads.0.weight", "-o", path, "--format", "npy", "-f"],
        ];
        for args in writers {
            let run = within(args);
            assert!((2..=3).contains(&run.code), "{args:?}: {}", run.err);
            assert!(run.err.contains(what) || run.code == 3, "{args:?}: {}", run.err);
        }
    }
    // A pipe that somebody reads is written to.
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let run = loop {
        let run = within(&["convert", "2.15/zip/state_dict.pt", &pipe, "--to", "npz", "-f"]);
        if run.code == 0 || start.elapsed() > Duration::from_secs(20) {
            break run;
        }
    };
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(reader.wait_with_output().unwrap().stdout.starts_with(b"PK"));
}

/// The system ends a process that reads a mapped file where it is no more.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_cut_while_it_is_read_is_an_error() {
    let folder = Folder::new();
    let pickle = [b"\x80\x02(", &b"N".repeat(1 << 20)[..], b"l."].concat();
    let file = folder.write("mapped\u{1}.pkl", &pickle);
    let mut command = command(&["dis", &file]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It is at the beginning: the pipe is full, and holds less than all lines.
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    let cut = fs::OpenOptions::new().write(true).open(&file).unwrap();
    cut.set_len(4096).unwrap();
    out.read_to_end(&mut Vec::new()).unwrap();
    let run = support::run(child.wait_with_output().unwrap());
    assert_eq!(run.code, 2, "{}", run.err);
    let said = "error: a file was cut short by another process while it was read\n  --> ";
    assert!(run.err.starts_with(said), "{}", run.err);
    assert!(run.err.contains("mapped\\x01.pkl\n") && run.err.contains("--no-mmap"), "{}", run.err);
}

/// The tensors of a set, or of one file.
fn tensors(folder: &Path) -> String {
    let single = folder.join("pytorch_model.bin");
    let index = folder.join("pytorch_model.bin.index.json");
    let path = if single.exists() { single } else { index };
    sconce(&["ls", "--json", "--sha256", &path.to_string_lossy()]).json()["tensors"].to_string()
}

#[test]
fn a_set_of_files_is_replaced_as_one() {
    let folder = Folder::new();
    let elsewhere = Folder::new();
    let (old, new) = ("2.15/zip/state_dict.pt", elsewhere.text("new.pt"));
    sconce(&["edit", old, &new, "--cast", "float64"]).ok();
    let new = new.as_str();
    let to = folder.text("");
    let shard = |file: &str, size: &str| {
        sconce(&["shard", file, "-C", &to, "--max-size", size, "-f"]).ok();
        tensors(&folder.path(""))
    };
    let (want_old, want_new) = (shard(old, "100"), shard(new, "100"));
    assert_ne!(want_old, want_new);
    assert_eq!(shard(old, "100"), want_old);
    assert_eq!(shard(old, "100"), want_old, "the same names");
    let all = names(&folder.path(""));
    let parts = all.iter().filter(|name| name.contains("-of-")).count();
    assert_eq!(all.len(), parts + 1, "{all:?}");
    assert!(
        all.iter().all(|name| name.split('.').count() < 3 || name.ends_with(".json")),
        "{all:?}"
    );
    // One file is a set, too.
    shard(old, "1G");
    assert_eq!(names(&folder.path("")), ["pytorch_model.bin"]);
    shard(old, "100");
    assert_eq!(names(&folder.path("")), all);

    // Killed anywhere, the one or the other can be read; what is left over goes with the next run.
    for round in 0..12 {
        let file = if round % 2 == 0 { new } else { old };
        let mut command = command(&["shard", file, "-C", &to, "--max-size", "100", "-f"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = tensors(&folder.path(""));
        assert!(found == want_old || found == want_new, "{round}");
    }
    fs::write(folder.path(".sconce-0123456789abcdef.part"), b"half").unwrap();
    assert_eq!(shard(old, "100"), want_old);
    assert_eq!(names(&folder.path("")), all);
}

#[test]
fn what_a_killed_run_left_goes_with_the_next() {
    let folder = Folder::new();
    let mut command = command(&["convert", "2.15/zip/many_storages.pt", &folder.text("a.pt")]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while names(&folder.path("")).is_empty() {
        assert!(child.try_wait().unwrap().is_none() || !names(&folder.path("")).is_empty());
    }
    // Whatever that run came to, one like it may have been killed.
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(folder.path(".sconce-00000000000000aa.part"), b"half").unwrap();
    fs::write(folder.path(".sconce-other"), b"somebody's").unwrap();
    sconce(&["convert", "2.15/zip/state_dict.pt", &folder.text("b.npz")]).ok();
    let left: Vec<String> =
        names(&folder.path("")).into_iter().filter(|name| name != "a.pt").collect();
    assert_eq!(left, [".sconce-other", "b.npz"]);
    assert!(fixtures().join("2.15/zip/state_dict.pt").exists());
}
