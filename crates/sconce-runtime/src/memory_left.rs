//! How much memory a process may still ask for: what the machine has available, what its control groups
//! have left, and what the limits of the process leave.
//!
//! Who asks for more is ended by the system, or makes it end others. So this is what programs may hold
//! where nobody says how much, less a reserve for everybody else.

use std::fs;
use std::path::{Path, PathBuf};

/// The part of what is left that programs are not given: a tenth.
const RESERVED_PART: usize = 10;
/// At least so many bytes are not given, where there are twice as many.
const RESERVE: usize = 256 << 20;

/// Bytes that may still be held, less a reserve; `None` where the system does not say.
pub fn memory_left() -> Option<usize> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    less_reserve(memory_left_by(&read)?)
}

fn less_reserve(left: usize) -> Option<usize> {
    let reserve = (left / RESERVED_PART).max(RESERVE.min(left / 2));
    Some(left - reserve)
}

/// [`memory_left`] without a reserve, by files as they are in `/proc` and `/sys`.
fn memory_left_by(read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| available(&text));
    let groups = read(Path::new("/proc/self/cgroup")).map(|text| groups(&text)).unwrap_or_default();
    let groups = groups.iter().filter_map(|group| group.left(read));
    let process = process_left(read);
    machine.into_iter().chain(groups).chain(process).min()
}

/// `MemAvailable` of `/proc/meminfo`: what can be had without swapping.
fn available(meminfo: &str) -> Option<usize> {
    kilobytes(meminfo, "MemAvailable:").or_else(|| kilobytes(meminfo, "MemFree:"))
}

fn kilobytes(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: usize = line.trim_end_matches("kB").trim().parse().ok()?;
    Some(number.saturating_mul(1024))
}

/// What `ulimit -v` leaves.
fn process_left(read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let limits = read(Path::new("/proc/self/limits"))?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: usize = line.split_whitespace().next()?.parse().ok()?;
    let status = read(Path::new("/proc/self/status"))?;
    Some(limit.saturating_sub(kilobytes(&status, "VmSize:")?))
}

/// A control group of the process: its folder, and what its files are called.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    names: &'static Names,
}

/// What the files of a version of control groups are called.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: files in memory that nobody has looked at of late, which the system gives up first.
    cached: &'static str,
}

const SECOND: Names =
    Names { limit: "memory.max", usage: "memory.current", cached: "inactive_file " };
const FIRST: Names = Names {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

/// The groups that bind a process, by its `/proc/self/cgroup`: each with all that it is in. In a container
/// the path may be one of the host's, which is not there: the top of what is there binds it then.
fn groups(cgroup: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", &SECOND),
            named if named.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", &FIRST)
            }
            _ => continue,
        };
        let root = Path::new(root);
        let inner = root.join(path.trim_start_matches('/'));
        let folders = inner.ancestors().take_while(|folder| folder.starts_with(root));
        groups.extend(folders.map(|folder| Group { folder: folder.to_owned(), names }));
    }
    groups
}

impl Group {
    /// What its limit leaves; `None` where it has none.
    fn left(&self, read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
        let number = |name| read(&self.folder.join(name))?.trim().parse::<usize>().ok();
        let limit = number(self.names.limit)?;
        let usage = number(self.names.usage)?;
        let cached = read(&self.folder.join("memory.stat")).and_then(|text| {
            text.lines().find_map(|line| line.strip_prefix(self.names.cached))?.trim().parse().ok()
        });
        Some(limit.saturating_sub(usage.saturating_sub(cached.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn left(files: &[(&str, &str)]) -> Option<usize> {
        memory_left_by(&|path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    const MEMINFO: (&str, &str) = (
        "/proc/meminfo",
        "MemTotal:       16384 kB\nMemFree:         2048 kB\nMemAvailable:    8192 kB\n\
         SwapTotal:     99999 kB\n",
    );

    #[test]
    fn swap_space_and_what_others_hold_is_not_left() {
        assert_eq!(left(&[MEMINFO]), Some(8 * MIB));
        assert_eq!(left(&[]), None);
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let own = ("/proc/self/cgroup", "0::/a/b\n");
        let limit = |text| ("/sys/fs/cgroup/a/memory.max", text);
        let usage = ("/sys/fs/cgroup/a/memory.current", "3145728\n");
        let inner = ("/sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(left(&[MEMINFO, own, inner, usage, limit("4194304\n")]), Some(MIB));
        assert_eq!(left(&[MEMINFO, own, inner, usage, limit("max\n")]), Some(8 * MIB));
        let stat = ("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 1048576\n");
        assert_eq!(left(&[MEMINFO, own, usage, limit("4194304\n"), stat]), Some(2 * MIB));
        // Within a container, whose path is the host's.
        let top = ("/sys/fs/cgroup/memory.max", "2097152\n");
        let used = ("/sys/fs/cgroup/memory.current", "0\n");
        assert_eq!(left(&[MEMINFO, own, top, used]), Some(2 * MIB));
    }

    #[test]
    fn the_first_version_of_control_groups_is_known() {
        let own = ("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n");
        let limit = ("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "4194304\n");
        let usage = ("/sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "1048576\n");
        assert_eq!(left(&[MEMINFO, own, limit, usage]), Some(3 * MIB));
    }

    #[test]
    fn the_limit_of_the_process_counts() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\n\
                      Max address space         5242880              unlimited            bytes\n";
        let size = ("/proc/self/status", "Name:\tx\nVmSize:\t    4096 kB\n");
        assert_eq!(left(&[MEMINFO, ("/proc/self/limits", limits), size]), Some(MIB));
        let none = limits.replace("5242880", "unlimited");
        assert_eq!(left(&[MEMINFO, ("/proc/self/limits", &none), size]), Some(8 * MIB));
    }

    #[test]
    fn some_is_left_to_everybody_else() {
        assert_eq!(less_reserve(10_000 * MIB), Some(9000 * MIB));
        assert_eq!(less_reserve(1000 * MIB), Some(744 * MIB));
        assert_eq!(less_reserve(100 * MIB), Some(50 * MIB));
        assert_eq!(less_reserve(0), Some(0));
    }
}
