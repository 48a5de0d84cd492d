//! Files on web servers, read in ranges.

mod http_file;
mod range_cache;

use sconce_source::Source;

use crate::hub::Hub;
use crate::url::without_secrets;
use crate::{Error, ErrorKind};

use http_file::HttpFile;
use range_cache::RangeCache;

/// Schemes of addresses that other programs read.
static NOT_READ: [&str; 10] = [
    "s3://", "gs://", "az://", "abfs://", "abfss://", "gcs://", "ftp://", "ftps://", "sftp://",
    "r2://",
];

/// How a file on a server is read.
#[derive(Debug, Clone, Default)]
pub struct RemoteOptions {
    /// Neither uses nor keeps ranges on disk.
    pub no_cache: bool,
}

/// Whether a text is an address rather than the name of a file: one of a scheme that [`open`] reads, or knows that it
/// does not.
pub fn is_address(text: &str) -> bool {
    let known = ["http://", "https://", "hf://"];
    let begins = |scheme: &&str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    known.iter().any(begins) || NOT_READ.iter().any(begins)
}

/// An address as it may be shown: without a password, and without the query, which signs some.
pub fn shown(address: &str) -> String {
    without_secrets(address)
}

/// Opens `https://…`, `http://…` or `hf://[datasets/]owner/name[@revision]/file`. Reads the end of the file, and with it
/// finds out its length; everything else is read when it is asked for.
///
/// Small ranges are kept on disk, by the address and what the server says identifies the file (`ETag`), and used again
/// when the server says that the file is the same.
///
/// ```no_run
/// use sconce_hub::{Hub, remote};
///
/// let hub = Hub::new()?;
/// let address = "hf://openai-community/gpt2/model.safetensors";
/// let source = remote::open(&hub, address, &remote::RemoteOptions::default())?;
/// println!("{} bytes", source.len());
/// # Ok::<(), sconce_hub::Error>(())
/// ```
///
/// # Errors
/// When there is no such file or no connection; when the server sends no parts of files, and it is not small; for
/// addresses of other schemes.
pub fn open(hub: &Hub, address: &str, options: &RemoteOptions) -> Result<Source, Error> {
    let shown = without_secrets(address);
    if let Some(scheme) = NOT_READ.iter().find(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    }) {
        let message = format!("{shown}: addresses of {scheme} are not read");
        return Err(Error::new(ErrorKind::Usage, message).help(
            "use the store's https:// address, one that is signed where the file is not public; a program of your \
             own can bring its store as a sconce_source::ReadAt",
        ));
    }
    hub.need_network(address)?;
    let request = hub.file_request(address)?;
    let cache = if options.no_cache {
        None
    } else {
        RangeCache::open(&hub.environment().sconce_cache().join("ranges"), &request.url)
    };
    let file = HttpFile::open(hub.client(), request, cache)?;
    Ok(Source::from_store(shown, file))
}
