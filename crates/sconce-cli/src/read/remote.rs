//! Files that lie on a web server: addresses in the place of names of files.

use std::ffi::OsStr;
#[cfg(feature = "hub")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sconce::source::Source;

use crate::error::Failure;

/// `--no-cache`, which counts for every file that a run opens.
static NO_CACHE: AtomicBool = AtomicBool::new(false);

/// Notes the global flag.
pub fn set_no_cache(no_cache: bool) {
    NO_CACHE.store(no_cache, Ordering::Relaxed);
}

/// Whether ranges are neither kept on disk nor taken from there.
pub fn no_cache() -> bool {
    NO_CACHE.load(Ordering::Relaxed)
}

/// Whether a word of the command line is an address rather than the name of a file.
#[cfg(feature = "hub")]
pub fn is_address(file: &OsStr) -> bool {
    file.to_str().is_some_and(sconce::hub::remote::is_address)
}

/// Whether a word of the command line is an address, which this build does not read.
#[cfg(not(feature = "hub"))]
pub fn is_address(file: &OsStr) -> bool {
    let known = ["http://", "https://", "hf://"];
    file.to_str().is_some_and(|text| known.iter().any(|scheme| text.starts_with(scheme)))
}

/// An address as it is printed: without a password, and without what signs it.
pub fn shown(file: &OsStr) -> Option<String> {
    let text = file.to_str().filter(|_| is_address(file))?;
    #[cfg(feature = "hub")]
    return Some(sconce::hub::remote::shown(text));
    #[cfg(not(feature = "hub"))]
    return Some(text.to_owned());
}

/// The connection to servers, one for a run.
#[cfg(feature = "hub")]
pub fn hub() -> Result<&'static sconce::hub::Hub, Failure> {
    static HUB: OnceLock<sconce::hub::Hub> = OnceLock::new();
    if let Some(hub) = HUB.get() {
        return Ok(hub);
    }
    let hub = sconce::hub::Hub::new()?;
    Ok(HUB.get_or_init(|| hub))
}

/// Opens an address.
#[cfg(feature = "hub")]
pub fn open(file: &OsStr) -> Result<Source, Failure> {
    let address = file.to_string_lossy();
    let options = sconce::hub::remote::RemoteOptions { no_cache: no_cache() };
    Ok(sconce::hub::remote::open(hub()?, &address, &options)?)
}

/// Opens an address.
#[cfg(not(feature = "hub"))]
pub fn open(file: &OsStr) -> Result<Source, Failure> {
    let message = "this build opens no addresses: the feature `hub` is off";
    Err(Failure::usage(message).in_file(file.to_string_lossy()))
}
