//! The shared library exports what `symbols.txt` lists, which is what the header declares, and nothing else.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn listed() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/symbols.txt");
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let name = format!("{}sconce_c_api{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    [deps.join(&name), deps.parent().unwrap().join(&name)]
        .into_iter()
        .find(|path| path.exists())
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn the_library_exports_the_list() {
    let nm = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let nm = nm.expect("nm, of binutils, which linkers come with");
    let out = String::from_utf8(nm.stdout).unwrap();
    let mut found: Vec<&str> =
        out.lines().filter_map(|line| line.split_whitespace().last()).collect();
    found.sort_unstable();
    assert_eq!(found, listed());
}

#[test]
fn versions_agree() {
    use sconce_c_api::{SCONCE_VERSION_MAJOR, SCONCE_VERSION_MINOR, SCONCE_VERSION_PATCH};
    let version = format!("{SCONCE_VERSION_MAJOR}.{SCONCE_VERSION_MINOR}.{SCONCE_VERSION_PATCH}");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let said = unsafe { std::ffi::CStr::from_ptr(sconce_c_api::sconce_version()) };
    assert_eq!(said.to_str(), Ok(version.as_str()));
    assert_eq!(sconce_c_api::sconce_abi_version(), 0);
}

#[test]
fn the_header_declares_the_list() {
    let header =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/include/sconce.h")).unwrap();
    let mut declared = Vec::new();
    for line in header.lines().filter(|line| !line.starts_with([' ', '/', '#', '}'])) {
        if let Some((before, _)) = line.split_once('(')
            && !line.starts_with("typedef")
        {
            let name = before.rsplit([' ', '*']).next().unwrap_or_default();
            declared.push(name.to_owned());
        }
    }
    declared.sort();
    assert_eq!(declared, listed());
}
