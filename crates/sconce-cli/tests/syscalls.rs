//! Reading verbs read: under a filter that ends the process at any system call that starts a program, opens
//! a connection, or changes a file, every one of them does its work, whatever the file holds.
//!
//! The filter is Linux's own (seccomp). Elsewhere there is nothing to test with.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(unsafe_code, reason = "a filter is set between fork and exec")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Output;

use support::{command, fixtures};

/// System calls that end the process. Threads are made by `clone`, which is looked at more closely.
const DENIED: &[i64] = &[
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_utimensat,
    libc::SYS_mount,
    libc::SYS_chroot,
    libc::SYS_openat2,
    libc::SYS_memfd_create,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_kexec_load,
];

/// Those that newer machines' Linux does without.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mknod,
    libc::SYS_creat,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(target_arch = "aarch64")]
const OLD: &[i64] = &[libc::SYS_renameat];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// `open`'s flags that write to or make a file.
const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

/// Where in `seccomp_data` things lie.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn answer(verdict: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, verdict)
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt, jf, k }
}

/// The filter. `program` is the address of the path of the one program that may be started.
fn filter(program: u64) -> Vec<libc::sock_filter> {
    const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    let equal = libc::BPF_JEQ;
    let mut out = vec![load(ARCH), jump(equal, ARCHITECTURE, 1, 0), answer(KILL), load(NUMBER)];
    for number in DENIED.iter().chain(OLD) {
        out.extend([jump(equal, *number as u32, 0, 1), answer(KILL)]);
    }
    // No flags can be seen in memory: the library goes back to `clone`.
    let no_such_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    out.extend([jump(equal, libc::SYS_clone3 as u32, 0, 1), answer(no_such_call)]);
    // A thread, not a process.
    let thread = jump(libc::BPF_JSET, libc::CLONE_THREAD as u32, 1, 0);
    out.extend([jump(equal, libc::SYS_clone as u32, 0, 4), load(ARGS), thread]);
    out.extend([answer(KILL), answer(ALLOW)]);
    // To read, not to write.
    let mut opens = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    opens.push((libc::SYS_open, 1));
    for (number, argument) in opens {
        let writes = jump(libc::BPF_JSET, WRITES, 0, 1);
        out.extend([jump(equal, number as u32, 0, 4), load(ARGS + 8 * argument), writes]);
        out.extend([answer(KILL), answer(ALLOW)]);
    }
    let (low, high) = (program as u32, (program >> 32) as u32);
    out.extend([
        jump(equal, libc::SYS_execve as u32, 0, 6),
        load(ARGS),
        jump(equal, low, 0, 3),
        load(ARGS + 4),
        jump(equal, high, 0, 1),
        answer(ALLOW),
        answer(KILL),
        answer(ALLOW),
    ]);
    out
}

/// Runs the binary under the filter.
fn filtered(args: &[&str]) -> Output {
    let mut command = command(args);
    let text = |text: &std::ffi::OsStr| CString::new(text.as_encoded_bytes()).unwrap();
    let program = text(command.get_program());
    let all: Vec<CString> =
        std::iter::once(program.clone()).chain(command.get_args().map(text)).collect();
    let code = filter(program.as_ptr() as u64);
    // SAFETY: between fork and exec, only system calls, over memory that was made before the fork. The
    // program is started here, since the filter lets nobody else start one: by the address of its path.
    unsafe {
        command.pre_exec(move || {
            let mut argv: [*const libc::c_char; 16] = [std::ptr::null(); 16];
            for (slot, arg) in argv.iter_mut().take(15).zip(&all) {
                *slot = arg.as_ptr();
            }
            let filter =
                libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
            let mode = libc::SECCOMP_MODE_FILTER;
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) != 0
            {
                return Err(io::Error::last_os_error());
            }
            let environment = [c"RAYON_NUM_THREADS=2".as_ptr(), std::ptr::null()];
            libc::execve(program.as_ptr(), argv.as_ptr(), environment.as_ptr());
            Err(io::Error::last_os_error())
        });
    }
    command.output().unwrap()
}

/// A kernel without the filter, or a sandbox that keeps it, makes the test say nothing.
fn is_possible() -> bool {
    let known = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    known.is_ok_and(|actions| actions.contains("kill_process"))
}

const VERBS: [&[&str]; 20] = [
    &["info", "FILE"],
    &["identify", "FILE"],
    &["ls", "FILE", "-l", "--sha256"],
    &["tree", "FILE", "--all"],
    &["show", "FILE", "--stats"],
    &["stat", "FILE"],
    &["globals", "FILE"],
    &["globals", "FILE", "--python"],
    &["verify", "FILE"],
    &["scan", "FILE"],
    &["scan", "FILE", "--sarif"],
    &["pickle", "FILE"],
    &["dis", "FILE"],
    &["trace", "FILE", "--limit", "50"],
    &["code", "FILE"],
    &["graph", "FILE"],
    &["ops", "FILE"],
    &["diff", "FILE", "FILE"],
    &["extract", "--list", "FILE"],
    &["ast", "FILE"],
];

fn run(verb: &[&str], file: &str) {
    let args: Vec<&str> = verb.iter().map(|&arg| if arg == "FILE" { file } else { arg }).collect();
    let output = filtered(&args);
    let signal = output.status.signal();
    assert_eq!(signal, None, "{args:?} {}", String::from_utf8_lossy(&output.stderr));
    assert!(matches!(output.status.code(), Some(0..=3)), "{args:?} {:?}", output.status);
}

#[test]
fn reading_verbs_only_read() {
    if !is_possible() {
        eprintln!("skipped: this kernel has no seccomp filters that end a process");
        return;
    }
    // The filter does what it is for.
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.npz").to_string_lossy().into_owned();
    let written = filtered(&["convert", "2.15/zip/state_dict.pt", &to]);
    assert_eq!(written.status.signal(), Some(libc::SIGSYS), "{:?}", written.status);

    for file in [
        "2.15/zip/module_net.pt",
        "2.15/legacy/shared.pt",
        "2.15/torchscript/scripted.pt",
        "bad/hostile_then_broken.pt",
        "hand/lookalike/array.npy",
    ] {
        for verb in VERBS {
            run(verb, file);
        }
    }
    // Of the others, each gets a few verbs, in turn.
    let mut folders: Vec<PathBuf> =
        vec![fixtures().join("bad"), fixtures().join("2.15/torchscript")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    assert!(files.len() > 100, "{}", files.len());
    for (at, file) in files.iter().enumerate() {
        for verb in [at, at + 5, at + 11] {
            run(VERBS[verb % VERBS.len()], &file.to_string_lossy());
        }
    }
}
