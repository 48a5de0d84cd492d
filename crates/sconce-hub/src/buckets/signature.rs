//! Signatures in queries: Amazon's Signature Version 4, and Google's V4, which is the same with other names.

use std::time::SystemTime;

use ring::{digest, hmac};

use crate::Error;
use crate::http_date;
use crate::url::{Url, escaped_part};

/// How long a signature counts, in seconds. It is made for one request.
const EXPIRES: u32 = 3600;

/// What differs between the two.
pub(super) struct Names {
    pub(super) algorithm: &'static str,
    /// What the names of parameters begin with.
    pub(super) prefix: &'static str,
    pub(super) service: &'static str,
    pub(super) end: &'static str,
}

/// The query of a signed request: `sign` makes the signature of a text, for a date.
pub(super) fn query(
    names: &Names,
    account: &str,
    region: &str,
    token: Option<&str>,
    url: &Url,
    now: SystemTime,
    sign: impl FnOnce(&str, &str) -> Result<String, Error>,
) -> Result<String, Error> {
    let time = http_date::compact(now);
    let date = &time[..8];
    let scope = format!("{date}/{region}/{}/{}", names.service, names.end);
    let prefix = names.prefix;
    let mut parameters: Vec<(String, String)> = url
        .query()
        .into_iter()
        .flat_map(|query| query.split('&'))
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect();
    let mut add = |name: &str, value: &str| {
        parameters.push((format!("{prefix}{name}"), escaped_part(value, "")));
    };
    add("Algorithm", names.algorithm);
    add("Credential", &format!("{account}/{scope}"));
    add("Date", &time);
    add("Expires", &EXPIRES.to_string());
    if let Some(token) = token {
        add("Security-Token", token);
    }
    add("SignedHeaders", "host");
    parameters.sort();
    let pairs: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let query = pairs.join("&");
    let request =
        format!("GET\n{}\n{query}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD", url.path(), url.authority());
    let hash = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
    let text = format!("{}\n{time}\n{scope}\n{hash}", names.algorithm);
    let signature = sign(date, &text)?;
    Ok(format!("{query}&{prefix}Signature={signature}"))
}

/// The signature of a text by a secret, which a key for the day, region and service is made of.
pub(super) fn by_secret(first: &str, secret: &str, parts: [&str; 4], text: &str) -> String {
    let begin = format!("{first}{secret}").into_bytes();
    let key = parts.iter().fold(begin, |key, part| mac(&key, part.as_bytes()));
    hex(&mac(&key, text.as_bytes()))
}

/// HMAC with SHA-256.
pub(super) fn mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
