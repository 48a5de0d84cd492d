//! Amazon S3, and what speaks its protocol.

use std::time::SystemTime;

use super::profile::{self, Profile};
use super::signature::{self, Names};
use super::{Place, Sign, Signer};
use crate::Error;
use crate::environment::Environment;
use crate::url::{Url, escaped_part};

const NAMES: Names =
    Names { algorithm: "AWS4-HMAC-SHA256", prefix: "X-Amz-", service: "s3", end: "aws4_request" };
/// Where buckets lie unless somebody says otherwise.
const REGION: &str = "us-east-1";

/// Credentials for one region.
struct Credentials {
    key: String,
    secret: String,
    token: Option<String>,
    region: String,
}

impl Sign for Credentials {
    fn query(&self, url: &Url, now: SystemTime) -> Result<String, Error> {
        let (region, token) = (&self.region, self.token.as_deref());
        signature::query(&NAMES, &self.key, region, token, url, now, |date, text| {
            let parts = [date, region, NAMES.service, NAMES.end];
            Ok(signature::by_secret("AWS4", &self.secret, parts, text))
        })
    }
}

pub(super) fn place(
    bucket: &str,
    key: &str,
    environment: &Environment,
    region: Option<&str>,
) -> Result<Place, Error> {
    let profile = profile::read(environment);
    let region = match region {
        Some(said) => said.to_owned(),
        None => ["AWS_REGION", "AWS_DEFAULT_REGION"]
            .iter()
            .find_map(|name| environment.text(name))
            .or_else(|| profile.region.clone())
            .unwrap_or_else(|| REGION.to_owned()),
    };
    let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
        .iter()
        .find_map(|name| environment.text(name))
        .or_else(|| profile.endpoint.clone());
    let path = escaped_part(key, "/");
    // Names with dots are in no certificate, and those with capitals in no name of a server.
    let is_host = bucket.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let url = match endpoint {
        Some(endpoint) => format!("{}/{bucket}/{path}", endpoint.trim_end_matches('/')),
        None if is_host => format!("https://{bucket}.s3.{region}.amazonaws.com/{path}"),
        None => format!("https://s3.{region}.amazonaws.com/{bucket}/{path}"),
    };
    let url = Url::parse(&url)?;
    let is_public = environment.text("AWS_SKIP_SIGNATURE").is_some_and(|value| {
        ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str())
    });
    let credentials = if is_public { None } else { credentials(environment, profile, region) };
    let signer = credentials.map(|credentials| Signer::new(&url, credentials));
    let advice = match signer {
        None => {
            "no credentials were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile that AWS_PROFILE names"
        }
        Some(_) => {
            "a file that is not there looks the same where the credentials may not list the bucket"
        }
    };
    Ok(Place { url, signer, knows_ends: true, advice })
}

fn credentials(environment: &Environment, profile: Profile, region: String) -> Option<Credentials> {
    let given =
        environment.text("AWS_ACCESS_KEY_ID").zip(environment.text("AWS_SECRET_ACCESS_KEY"));
    let (key, secret, token) = match given {
        Some((key, secret)) => (key, secret, environment.text("AWS_SESSION_TOKEN")),
        None => {
            let (key, secret) = profile.key.zip(profile.secret)?;
            (key, secret, profile.token)
        }
    };
    Some(Credentials { key, secret, token, region })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn signed(variables: &[(&str, &str)], bucket: &str, key: &str, seconds: u64) -> String {
        let environment = Environment::of(variables.iter().copied());
        let place = place(bucket, key, &environment, None).unwrap();
        let now = UNIX_EPOCH + Duration::from_secs(seconds);
        match place.signer {
            Some(signer) => signer.signed(&place.url, now).unwrap(),
            None => place.url.request(),
        }
    }

    /// What botocore's `S3SigV4QueryAuth` makes of the same, at the same time.
    #[test]
    fn signatures_are_amazons() {
        let keys = [
            ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ];
        let cases = [
            (
                None,
                "https://examplebucket.s3.us-east-1.amazonaws.com/a%20b/m%2B1.pt",
                "3490895e37dd88abf2e1c349c80078ba3c81f266aa278bfd36bfd6e5b050ebc4",
            ),
            (
                Some("to/ken+="),
                "http://127.0.0.1:9000/my.bucket/m.pt",
                "d7827ddeb868787d98ec4da360ac4315098b81dfb1201bf3ea609de2095081d4",
            ),
        ];
        for (token, address, signature) in cases {
            let mut variables = keys.to_vec();
            let (bucket, key) = match token {
                None => ("examplebucket", "a b/m+1.pt"),
                Some(token) => {
                    variables.push(("AWS_SESSION_TOKEN", token));
                    variables.push(("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000"));
                    variables.push(("AWS_DEFAULT_REGION", "eu-west-1"));
                    ("my.bucket", "m.pt")
                }
            };
            let found = signed(&variables, bucket, key, 1_369_353_600);
            let (place, query) = found.split_once('?').unwrap();
            assert_eq!(place, address);
            assert!(query.ends_with(&format!("&X-Amz-Signature={signature}")), "{query}");
        }
    }

    #[test]
    fn places_of_buckets() {
        let at = |variables: &[(&str, &str)], bucket| signed(variables, bucket, "a b/m+1.pt", 0);
        assert_eq!(at(&[], "bucket"), "https://bucket.s3.us-east-1.amazonaws.com/a%20b/m%2B1.pt");
        assert_eq!(
            at(&[], "my.bucket"),
            "https://s3.us-east-1.amazonaws.com/my.bucket/a%20b/m%2B1.pt"
        );
        let own = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"), ("AWS_REGION", "eu-west-1")];
        assert_eq!(at(&own, "bucket"), "http://127.0.0.1:9000/bucket/a%20b/m%2B1.pt");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        let credentials = "[default]\naws_access_key_id = A\naws_secret_access_key=B\n[other]\n\
             aws_access_key_id = C\naws_secret_access_key = D\naws_session_token = E\n";
        std::fs::write(folder.path().join(".aws/credentials"), credentials).unwrap();
        let config = "[default]\nregion = eu-north-1\n[profile other]\nregion=us-west-2\n";
        std::fs::write(folder.path().join(".aws/config"), config).unwrap();
        let home = ("HOME", folder.path().to_str().unwrap());
        let found = at(&[home], "bucket");
        assert!(found.starts_with("https://bucket.s3.eu-north-1.amazonaws.com/"), "{found}");
        assert!(found.contains("X-Amz-Credential=A%2F19700101%2Feu-north-1%2Fs3"), "{found}");
        let found = at(&[home, ("AWS_PROFILE", "other")], "bucket");
        assert!(
            found.contains("=C%2F19700101%2Fus-west-2") && found.contains("Token=E"),
            "{found}"
        );
        let none = at(&[home, ("AWS_SKIP_SIGNATURE", "true")], "bucket");
        assert!(!none.contains('?'), "{none}");
    }
}
