//! File systems whose files another machine can cut short at any time.

use std::fs::File;

/// Magic numbers of `statfs` with the file systems' names: `linux/magic.h`, and the systems' own headers.
/// FUSE is here whatever is behind it: sshfs and the clients of object stores cannot be told apart.
#[cfg(target_os = "linux")]
const NETWORK: [(u64, &str); 13] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "kAFS"),
    (0x7375_7245, "Coda"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
];

/// The name of the network file system that a file is on; `None` where it is on none, or where the
/// system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn file_system(file: &File) -> Option<&'static str> {
    let magic = rustix::fs::fstatfs(file).ok()?.f_type;
    name(magic as u64)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn file_system(_: &File) -> Option<&'static str> {
    None
}

/// By a magic number, of which some processors' `f_type` has only the low half, with its sign.
#[cfg(target_os = "linux")]
fn name(magic: u64) -> Option<&'static str> {
    let low = magic & 0xFFFF_FFFF;
    NETWORK.iter().find(|(known, _)| *known == low).map(|(_, name)| *name)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_have_their_names() {
        let cases = [
            (0x6969, Some("NFS")),
            (0xFFFF_FFFF_FF53_4D42, Some("CIFS")),
            (0x6573_5546, Some("FUSE")),
            // ext4, tmpfs, overlay.
            (0xEF53, None),
            (0x0102_1994, None),
            (0x794C_7630, None),
        ];
        for (magic, want) in cases {
            assert_eq!(name(magic), want, "{magic:#x}");
        }
    }

    #[test]
    fn procfs_is_here() {
        assert_eq!(file_system(&File::open("/proc/self/status").unwrap()), None);
    }
}
