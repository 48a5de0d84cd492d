//! The profiles that Amazon's own tools keep in the home folder.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::environment::Environment;

/// No such file is longer.
const LONGEST: u64 = 1 << 20;

/// What a profile says.
#[derive(Default)]
pub(super) struct Profile {
    pub(super) key: Option<String>,
    pub(super) secret: Option<String>,
    pub(super) token: Option<String>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
}

/// The profile that `AWS_PROFILE` names, or the default one, of `~/.aws/credentials` and `~/.aws/config`.
pub(super) fn read(environment: &Environment) -> Profile {
    let named = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];
    let name = named.iter().find_map(|name| environment.text(name));
    let name = name.unwrap_or_else(|| "default".to_owned());
    let mut profile = Profile::default();
    for (variable, path) in [
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        ("AWS_CONFIG_FILE", "~/.aws/config"),
    ] {
        let path = environment.text(variable).unwrap_or_else(|| path.to_owned());
        let mut text = String::new();
        let file = File::open(environment.expand_user(Path::new(&path)));
        let read = file.and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        if read.is_ok() {
            profile.take(&text, &name);
        }
    }
    profile
}

impl Profile {
    fn take(&mut self, text: &str, wanted: &str) {
        let mut is_in = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[') {
                let name = name.split(']').next().unwrap_or_default().trim();
                is_in = name.strip_prefix("profile").map_or(name, str::trim) == wanted
                    || name == wanted;
                continue;
            }
            // Settings of one service are indented.
            let Some((name, value)) = line.split_once('=').filter(|_| is_in) else { continue };
            if line.starts_with(char::is_whitespace) || line.starts_with(['#', ';']) {
                continue;
            }
            let slot = match name.trim() {
                "aws_access_key_id" => &mut self.key,
                "aws_secret_access_key" => &mut self.secret,
                "aws_session_token" => &mut self.token,
                "region" => &mut self.region,
                "endpoint_url" => &mut self.endpoint,
                _ => continue,
            };
            slot.get_or_insert_with(|| value.trim().to_owned());
        }
    }
}
