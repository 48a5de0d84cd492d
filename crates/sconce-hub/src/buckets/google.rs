//! Google Cloud Storage.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;

use super::signature::{self, Names};
use super::{Place, Sign, Signer, bad_credentials};
use crate::environment::Environment;
use crate::url::{Url, escaped_part};
use crate::{Error, ErrorKind};

const HOME: &str = "https://storage.googleapis.com";
/// Google's signatures are of no region.
const REGION: &str = "auto";
const BY_KEY: Names = Names {
    algorithm: "GOOG4-RSA-SHA256",
    prefix: "X-Goog-",
    service: "storage",
    end: "goog4_request",
};
const BY_SECRET: Names = Names { algorithm: "GOOG4-HMAC-SHA256", ..BY_KEY };

/// A service account, as Google hands its key out.
#[derive(Deserialize)]
struct Account {
    client_email: String,
    private_key: String,
}

/// An account's key.
struct Key {
    email: String,
    key: RsaKeyPair,
}

/// A secret for programs that speak Amazon's protocol.
struct Secret {
    id: String,
    secret: String,
}

impl Sign for Key {
    fn query(&self, url: &Url, now: SystemTime) -> Result<String, Error> {
        signature::query(&BY_KEY, &self.email, REGION, None, url, now, |_, text| {
            let mut signature = vec![0; self.key.public().modulus_len()];
            let random = SystemRandom::new();
            let signed = self.key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature);
            signed.map_err(|_| bad_credentials("the service account's key", "it does not sign"))?;
            Ok(signature::hex(&signature))
        })
    }
}

impl Sign for Secret {
    fn query(&self, url: &Url, now: SystemTime) -> Result<String, Error> {
        signature::query(&BY_SECRET, &self.id, REGION, None, url, now, |date, text| {
            let parts = [date, REGION, BY_SECRET.service, BY_SECRET.end];
            Ok(signature::by_secret("GOOG4", &self.secret, parts, text))
        })
    }
}

pub(super) fn place(bucket: &str, key: &str, environment: &Environment) -> Result<Place, Error> {
    let emulator = environment.text("STORAGE_EMULATOR_HOST");
    let endpoint = emulator.clone().unwrap_or_else(|| HOME.to_owned());
    let endpoint = match endpoint.contains("://") {
        true => endpoint,
        false => format!("http://{endpoint}"),
    };
    let url = format!("{}/{bucket}/{}", endpoint.trim_end_matches('/'), escaped_part(key, "/"));
    let url = Url::parse(&url)?;
    let signer = match emulator {
        // It knows no accounts.
        Some(_) => None,
        None => match account(environment)? {
            Some(key) => Some(Signer::new(&url, key)),
            None => secret(environment).map(|secret| Signer::new(&url, secret)),
        },
    };
    let advice = match signer {
        None => {
            "no credentials were found: GOOGLE_APPLICATION_CREDENTIALS names the file of a service account, or \
             GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY hold an HMAC key"
        }
        Some(_) => "the account may not read this file, or it is not there",
    };
    Ok(Place { url, signer, knows_ends: true, advice })
}

fn secret(environment: &Environment) -> Option<Secret> {
    let (id, secret) =
        environment.text("GS_ACCESS_KEY_ID").zip(environment.text("GS_SECRET_ACCESS_KEY"))?;
    Some(Secret { id, secret })
}

/// The service account that the environment names.
fn account(environment: &Environment) -> Result<Option<Key>, Error> {
    const NAME: &str = "GOOGLE_APPLICATION_CREDENTIALS";
    let Some(path) = environment.text(NAME) else { return Ok(None) };
    let path = environment.expand_user(Path::new(&path));
    let text = fs::read(&path)
        .map_err(|error| Error::io(&path, &error).with_note(format!("{NAME} names it")))?;
    let account: Account = serde_json::from_slice(&text).map_err(|_| {
        let message = format!("{}: this is not a key of a service account", path.display());
        let error = Error::new(ErrorKind::Usage, message).with_note(format!("{NAME} names it"));
        error.with_help("accounts of users do not sign; a service account or an HMAC key does")
    })?;
    Ok(Some(Key { key: key(&account.private_key)?, email: account.client_email }))
}

/// A key in PEM's form of PKCS #8.
fn key(pem: &str) -> Result<RsaKeyPair, Error> {
    let bad = |why: &str| bad_credentials("the service account's private_key", why);
    let lines = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
    let text: String = lines.collect();
    let der = STANDARD.decode(text).map_err(|_| bad("it is not in base64"))?;
    RsaKeyPair::from_pkcs8(&der).map_err(|error| bad(&error.to_string()))
}
