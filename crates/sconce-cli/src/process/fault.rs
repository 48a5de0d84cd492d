//! A mapped file that another process cuts short: a message and exit code 2, where the system would end
//! the process without a word.
//!
//! Touching a page of a map behind the new end of its file raises SIGBUS. The handler finds the file by
//! the address, in the system's list of maps, says so, and ends the process. It does nothing but what a
//! signal handler may do: system calls, and work in memory of its own. Where the address is in no file's
//! map, the fault is another one, and the system's to report.
//!
//! For Linux: other systems raise the signal for stacks that overflow, too, or have no such list.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// As much of the list of maps is read at a time. A line has a path of up to 4 KiB.
const PART: usize = 8 << 10;

/// Sets the handler. Without it the system's own end of the process remains.
pub fn install() {
    // SAFETY: a zeroed sigaction is a valid one; all fields that matter are set before it
    // is handed on. The handler has the signature that SA_SIGINFO asks for, and is async-signal-safe, as
    // it says.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
        action.sa_sigaction = handler as *const () as usize;
        // A second fault inside the handler is the system's.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
    }
}

extern "C" fn on_bus_error(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system gives a valid siginfo_t to a handler that is set with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    let mut buffer = [0; PART];
    let file = file_at(address, &mut buffer);
    if file.is_empty() {
        // The handler was reset when it was called: the same instruction faults again.
        return;
    }
    write(b"error: a file was cut short by another process while it was read\n  --> ");
    write_escaped(file);
    write(b"\n");
    write(b"help: try again when nothing writes to it, or read it at once with --no-mmap\n");
    // SAFETY: ends the process, and runs no code of it first.
    unsafe { libc::_exit(2) }
}

fn write(text: &[u8]) {
    // SAFETY: the pointer and the length are those of a slice. What cannot be written is lost.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// A path is not trusted to be harmless to a terminal.
fn write_escaped(path: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    for part in path.chunk_by(|a, b| is_plain(a) == is_plain(b)) {
        if part.iter().all(is_plain) {
            write(part);
            continue;
        }
        for byte in part {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
            write(&[b'\\', b'x', digit(byte >> 4), digit(*byte)]);
        }
    }
}

/// The path of the file that is mapped at an address; empty where there is none.
fn file_at(address: usize, buffer: &mut [u8; PART]) -> &[u8] {
    // SAFETY: the path is a C string.
    let maps = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if maps < 0 {
        return &[];
    }
    let mut held = 0;
    loop {
        let room = &mut buffer[held..];
        // SAFETY: the pointer and the length are those of a slice that may be written to.
        let read = unsafe { libc::read(maps, room.as_mut_ptr().cast(), room.len()) };
        let Ok(read @ 1..) = usize::try_from(read) else { return &[] };
        held += read;
        let whole = match buffer[..held].iter().rposition(|&byte| byte == b'\n') {
            Some(end) => end + 1,
            // A line that is longer than the buffer has no end here.
            None => held,
        };
        let mut at = 0;
        let mut found = None;
        for line in buffer[..whole].split_inclusive(|&byte| byte == b'\n') {
            if let Some(path) = path_of(line, address) {
                found = Some(at + path.start..at + path.end);
                break;
            }
            at += line.len();
        }
        if let Some(found) = found {
            return &buffer[found];
        }
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
}

/// Where the path stands in a line of the list of maps (`start-end perms offset device inode path`), if
/// the line is of the map that an address lies in.
fn path_of(line: &[u8], address: usize) -> Option<std::ops::Range<usize>> {
    let dash = line.iter().position(|&byte| byte == b'-')?;
    let blank = line.iter().position(|&byte| byte == b' ')?;
    let range = number(&line[..dash])?..number(line.get(dash + 1..blank)?)?;
    if !range.contains(&address) {
        return None;
    }
    let start = line.iter().position(|&byte| byte == b'/')?;
    let end = line.len() - usize::from(line.last() == Some(&b'\n'));
    Some(start..end)
}

fn number(hexadecimal: &[u8]) -> Option<usize> {
    hexadecimal.iter().try_fold(0usize, |number, &byte| {
        let digit = char::from(byte).to_digit(16)? as usize;
        number.checked_mul(16)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_found_by_address() {
        let line = b"7f00a000-7f00c000 r--p 00000000 08:01 1234    /tmp/a b.pt\n";
        for (address, want) in [
            (0x7f00_a000, Some(&b"/tmp/a b.pt"[..])),
            (0x7f00_bfff, Some(b"/tmp/a b.pt")),
            (0x7f00_c000, None),
            (0, None),
        ] {
            assert_eq!(path_of(line, address).map(|path| &line[path]), want, "{address:#x}");
        }
        for junk in ["", "x", "-", "7f00a000-", "7f00a000-7f00c000", "1-f anonymous"] {
            assert_eq!(path_of(junk.as_bytes(), 2), None, "{junk}");
        }
    }

    #[test]
    fn this_program_is_mapped() {
        let mut buffer = [0; PART];
        let path = file_at(maps_are_found_by_address as *const () as usize, &mut buffer);
        let this = std::env::current_exe().unwrap();
        assert_eq!(String::from_utf8_lossy(path), this.to_string_lossy());
        assert_eq!(file_at(1, &mut buffer), b"");
    }
}
