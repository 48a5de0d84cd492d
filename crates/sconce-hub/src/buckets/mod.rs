//! Files in buckets: `s3://`, `gs://` and `az://` addresses as web addresses whose requests are signed.
//!
//! Each request carries a signature in its query that is made when it is sent, so that none expires, none is shown and
//! none is part of a cache's key. Nothing but `GET` is ever signed.

mod azure;
mod google;
mod profile;
mod s3;
mod signature;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::environment::Environment;
use crate::url::{Origin, Url};
use crate::{Error, ErrorKind};

/// Signs requests to one server.
pub(crate) struct Signer {
    origin: Origin,
    sign: Box<dyn Sign>,
}

/// A way to sign.
trait Sign: Send + Sync {
    /// The query that proves a request for an address at a time.
    fn query(&self, url: &Url, now: SystemTime) -> Result<String, Error>;
}

impl Signer {
    fn new(url: &Url, sign: impl Sign + 'static) -> Arc<Signer> {
        Arc::new(Signer { origin: url.origin(), sign: Box::new(sign) })
    }

    /// The address that is asked for, signed where it is this server's.
    pub(crate) fn signed(&self, url: &Url, now: SystemTime) -> Result<String, Error> {
        if url.origin() != self.origin {
            return Ok(url.request());
        }
        Ok(format!("{}?{}", url.shown(), self.sign.query(url, now)?))
    }
}

impl fmt::Debug for Signer {
    // What it signs with is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Where a file in a bucket is, and who signs requests for it: nobody where there are no credentials, which is right
/// for what is public.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) url: Url,
    pub(crate) signer: Option<Arc<Signer>>,
    /// Whether the server knows what the last bytes of a file are.
    pub(crate) knows_ends: bool,
    /// What would let the server answer that says no.
    pub(crate) advice: &'static str,
}

/// The place of a bucket's address. `region` is what the server said, where it said so.
pub(crate) fn place(
    address: &str,
    environment: &Environment,
    region: Option<&str>,
) -> Result<Place, Error> {
    let (scheme, rest) = address.split_once("://").unwrap_or((address, ""));
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() || key.is_empty() {
        let message =
            format!("'{}' names no file in a bucket", crate::url::without_secrets(address));
        return Err(
            Error::new(ErrorKind::Usage, message).with_help(format!("{scheme}://BUCKET/FILE"))
        );
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_$".contains(c);
    if !bucket.chars().all(is_name) {
        let message = format!("'{}' is not a name of a bucket", bucket.escape_debug());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "s3" => s3::place(bucket, key, environment, region),
        "az" => azure::place(bucket, key, environment),
        _ => google::place(bucket, key, environment),
    }
}

/// A secret that cannot be what it should be.
fn bad_credentials(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("{name} is not a key: {why}"))
}
