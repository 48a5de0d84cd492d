//! Azure Blob Storage.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::signature::mac;
use super::{Place, Sign, Signer, bad_credentials};
use crate::environment::Environment;
use crate::url::{Url, escaped_part, unescaped};
use crate::{Error, ErrorKind, http_date};

/// The version of the protocol that signatures are of.
const VERSION: &str = "2022-11-02";
/// How long a signature counts. It is made for one request.
const EXPIRES: Duration = Duration::from_secs(3600);

/// An account's key: signs for one file at a time, to be read.
struct Key {
    account: String,
    key: Vec<u8>,
    /// What stands before the container in the path of addresses: the account, of an emulator.
    base: String,
}

/// A signature that somebody else made.
struct Shared(String);

impl Sign for Shared {
    fn query(&self, _: &Url, _: SystemTime) -> Result<String, Error> {
        Ok(self.0.clone())
    }
}

impl Sign for Key {
    fn query(&self, url: &Url, now: SystemTime) -> Result<String, Error> {
        let expires = http_date::iso(now + EXPIRES);
        let path = url.path().strip_prefix(&self.base).unwrap_or_else(|| url.path());
        let path = String::from_utf8_lossy(&unescaped(path)).into_owned();
        let resource = format!("/blob/{}{path}", self.account);
        // Permissions, start, end, what; then identifier, address and protocol; version, kind, snapshot, encryption;
        // and five headers of the answer.
        let text = format!("r\n\n{expires}\n{resource}\n\n\n\n{VERSION}\nb\n\n\n\n\n\n\n");
        let signature = STANDARD.encode(mac(&self.key, text.as_bytes()));
        Ok(format!(
            "sv={VERSION}&sp=r&sr=b&se={}&sig={}",
            escaped_part(&expires, ""),
            escaped_part(&signature, "")
        ))
    }
}

pub(super) fn place(container: &str, key: &str, environment: &Environment) -> Result<Place, Error> {
    let connection = environment.text("AZURE_STORAGE_CONNECTION_STRING").unwrap_or_default();
    let said = |name: &str| {
        let mut parts = connection.split(';').filter_map(|part| part.split_once('='));
        parts.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let any = |names: &[&str]| names.iter().find_map(|name| environment.text(name));
    let account = any(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"])
        .or_else(|| said("AccountName"));
    let endpoint = any(&["AZURE_STORAGE_ENDPOINT"]).or_else(|| said("BlobEndpoint"));
    let endpoint = match (endpoint, &account) {
        (Some(endpoint), _) => endpoint,
        (None, Some(account)) => {
            let suffix = said("EndpointSuffix").unwrap_or_else(|| "core.windows.net".to_owned());
            format!("https://{account}.blob.{suffix}")
        }
        (None, None) => {
            let message = "no storage account is named, which az:// addresses need";
            return Err(Error::new(ErrorKind::Usage, message)
                .with_help("AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING"));
        }
    };
    let endpoint = endpoint.trim_end_matches('/');
    let url = Url::parse(&format!("{endpoint}/{container}/{}", escaped_part(key, "/")))?;
    let shared = any(&["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"])
        .or_else(|| said("SharedAccessSignature"));
    let secret =
        any(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]).or_else(|| said("AccountKey"));
    let signer = match (shared, secret, account) {
        (Some(shared), ..) => {
            Some(Signer::new(&url, Shared(shared.trim_start_matches('?').to_owned())))
        }
        (None, Some(secret), Some(account)) => {
            let key = STANDARD
                .decode(secret.trim())
                .map_err(|_| bad_credentials("AZURE_STORAGE_KEY", "it is not in base64"))?;
            let base = Url::parse(&format!("{endpoint}/"))?.path().trim_end_matches('/').to_owned();
            Some(Signer::new(&url, Key { account, key, base }))
        }
        _ => None,
    };
    let advice = match signer {
        None => {
            "no credentials were found: AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING"
        }
        Some(_) => "the credentials may not read this file",
    };
    Ok(Place { url, signer, knows_ends: false, advice })
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn signed(variables: &[(&str, &str)]) -> String {
        let environment = Environment::of(variables.iter().copied());
        let place = place("models", "a b/m.pt", &environment).unwrap();
        match place.signer {
            Some(signer) => {
                signer.signed(&place.url, UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap()
            }
            None => place.url.request(),
        }
    }

    /// What `azure.storage.blob.generate_blob_sas` makes of the same.
    #[test]
    fn signatures_are_azures() {
        let key = [("AZURE_STORAGE_ACCOUNT", "acc"), ("AZURE_STORAGE_KEY", "a2V5a2V5a2V5a2V5")];
        assert_eq!(
            signed(&key),
            "https://acc.blob.core.windows.net/models/a%20b/m.pt?sv=2022-11-02&sp=r&sr=b\
             &se=2023-11-14T23%3A13%3A20Z&sig=kzJ%2B5WA%2FoPHqTpwm6WD2%2FpARavfERId3F37YIUIFWUc%3D"
        );
    }

    #[test]
    fn places_of_containers() {
        let account = ("AZURE_STORAGE_ACCOUNT", "acc");
        let plain = "https://acc.blob.core.windows.net/models/a%20b/m.pt";
        assert_eq!(signed(&[account]), plain);
        let shared = signed(&[account, ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=x%3D")]);
        assert_eq!(shared, format!("{plain}?sv=1&sig=x%3D"));
        let connection = "BlobEndpoint=http://127.0.0.1:10000/dev;SharedAccessSignature=sig=x";
        let found = signed(&[("AZURE_STORAGE_CONNECTION_STRING", connection)]);
        assert_eq!(found, "http://127.0.0.1:10000/dev/models/a%20b/m.pt?sig=x");
        let nobody = place("models", "m.pt", &Environment::of([("A", "b")])).unwrap_err();
        assert!(nobody.help().unwrap().contains("AZURE_STORAGE_ACCOUNT"));
    }
}
