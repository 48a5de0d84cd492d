//! Files on web servers, read in ranges.

mod http_file;
mod range_cache;

use std::path::Path;

use sconce_source::Source;

use crate::hub::Hub;
use crate::hugging_face::HubFile;
use crate::url::without_secrets;
use crate::{Error, ErrorKind};

use http_file::HttpFile;
use range_cache::RangeCache;

/// Schemes of addresses that other programs read.
static NOT_READ: [&str; 6] = ["abfs://", "abfss://", "ftp://", "ftps://", "sftp://", "r2://"];

/// Schemes of buckets.
static BUCKETS: [&str; 4] = ["s3://", "gs://", "gcs://", "az://"];

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
    known.iter().any(begins) || BUCKETS.iter().any(begins) || NOT_READ.iter().any(begins)
}

fn scheme_of<'s>(address: &str, schemes: &[&'s str]) -> Option<&'s str> {
    let begins = |scheme: &&&str| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    schemes.iter().find(begins).copied()
}

/// An address as it may be shown: without a password, and without the query, which signs some.
pub fn shown(address: &str) -> String {
    without_secrets(address)
}

/// Opens `https://…`, `http://…` or `hf://[datasets/]owner/name[@revision]/file`; with the feature `buckets` also
/// `s3://…`, `gs://…` and `az://…`, by the credentials of the environment. Reads the end of the file, and with it
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
    if scheme_of(address, &BUCKETS).is_some() {
        return bucket_file(hub, address, shown, options);
    }
    if let Some(scheme) = scheme_of(address, &NOT_READ) {
        let message = format!("{shown}: addresses of {scheme} are not read");
        return Err(Error::new(ErrorKind::Usage, message).with_help(
            "use the store's https:// address, one that is signed where the file is not public; a program of your \
             own can bring its store as a sconce_source::ReadAt",
        ));
    }
    if address.starts_with("hf://") {
        return hugging_face_file(hub, address, shown, options);
    }
    hub.need_network(address)?;
    http_file(hub, address, shown, options)
}

/// A file in a bucket. Where the server names another region than was asked, that one is asked.
#[cfg(feature = "buckets")]
fn bucket_file(
    hub: &Hub,
    address: &str,
    shown: String,
    options: &RemoteOptions,
) -> Result<Source, Error> {
    hub.need_network(address)?;
    let mut region: Option<String> = None;
    loop {
        let place = crate::buckets::place(address, hub.environment(), region.as_deref())?;
        let mut request = crate::client::Request::new(place.url);
        request.signer = place.signer;
        let cache = range_cache(hub, &request, options);
        let opened = HttpFile::open_at(hub.client(), request, cache, place.knows_ends);
        match opened {
            Ok(file) => return Ok(Source::from_store(shown, file)),
            Err(error) => match error.region() {
                Some(other) if region.is_none() => region = Some(other.to_owned()),
                _ if matches!(error.kind(), ErrorKind::Http(401 | 403)) => {
                    return Err(error.with_help(place.advice));
                }
                _ => return Err(error),
            },
        }
    }
}

#[cfg(not(feature = "buckets"))]
fn bucket_file(_: &Hub, _: &str, shown: String, _: &RemoteOptions) -> Result<Source, Error> {
    let message = format!("{shown}: this build reads no buckets: the feature `buckets` is off");
    Err(Error::new(ErrorKind::Usage, message).with_help(
        "use the https:// address of the file, one that is signed where it is not public",
    ))
}

fn range_cache(
    hub: &Hub,
    request: &crate::client::Request,
    options: &RemoteOptions,
) -> Option<RangeCache> {
    if options.no_cache {
        return None;
    }
    RangeCache::open(&hub.environment().sconce_cache().join("ranges"), &request.url)
}

/// A file on Hugging Face. What its own library has in its cache is read from there where that is the same file: one
/// of a commit. It has to do where no server is to be asked, or none answers.
fn hugging_face_file(
    hub: &Hub,
    address: &str,
    shown: String,
    options: &RemoteOptions,
) -> Result<Source, Error> {
    let file = HubFile::parse(address)?;
    let cached = file.cached(hub.environment());
    let open = |path: &Path| {
        Source::open(path).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    };
    match cached {
        Some(path) if file.is_commit() => open(&path),
        Some(path) if hub.is_offline_for(address) => open(&path),
        Some(path) => match http_file(hub, address, shown, options) {
            Err(error) if error.kind() == ErrorKind::Network => open(&path),
            other => other,
        },
        None => {
            hub.need_network(address)?;
            http_file(hub, address, shown, options)
        }
    }
}

fn http_file(
    hub: &Hub,
    address: &str,
    shown: String,
    options: &RemoteOptions,
) -> Result<Source, Error> {
    let request = hub.file_request(address)?;
    let cache = range_cache(hub, &request, options);
    let file = HttpFile::open(hub.client(), request, cache)?;
    Ok(Source::from_store(shown, file))
}
