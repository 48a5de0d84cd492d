//! Repositories from a server that looks like GitHub.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../sconce-cli/tests/support/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "it is shared")]
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use sconce_hub::{
    Environment, Error, ErrorKind, FetchOptions, Fetched, Hub, Patience, Silent, Watch,
};
use server::{Reply, Server, zip};

const HUBCONF: &[u8] = b"dependencies = []\n";

/// One repository `o/r` with the branch `main` and the tag `v1`.
fn github(zipball: Vec<u8>) -> Server {
    Server::new(move |asked| {
        let path = asked.path.as_str();
        let answer = |json: &str| Reply::body(200, json);
        match path {
            "/o/r/tree/main/" => answer("<html>"),
            "/repos/o/r/branches?per_page=100&page=1" => {
                answer(r#"[{"name": "main", "commit": {"sha": "abcdef0123"}}]"#)
            }
            "/repos/o/r/tags?per_page=100&page=1" => {
                answer(r#"[{"name": "v1", "commit": {"sha": "123456"}}, {"name": "feat/x"}]"#)
            }
            _ if path.contains("&page=2") => answer("[]"),
            "/o/r/zipball/twice" => Reply::new(300),
            _ if path.starts_with("/o/r/zipball/") => {
                Reply::new(302).header("Location", "/codeload")
            }
            "/codeload" => Reply { chunked: true, ..Reply::body(200, zipball.clone()) },
            _ => Reply::new(404),
        }
    })
}

fn good() -> Vec<u8> {
    zip(&[
        ("o-r-abcdef0/", b""),
        ("o-r-abcdef0/hubconf.py", HUBCONF),
        ("o-r-abcdef0/a/b.py", b"x = 1\n"),
    ])
}

struct Place {
    folder: tempfile::TempDir,
    hub: Hub,
}

impl Place {
    fn new(server: &Server) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let patience = Patience { first_wait: Duration::from_millis(1), ..Patience::default() };
        let home = folder.path().to_str().unwrap().to_owned();
        let variables = [
            ("TORCH_HOME", home.as_str()),
            ("SCONCE_GITHUB_URL", &server.url),
            ("SCONCE_GITHUB_API_URL", &server.url),
            ("GITHUB_TOKEN", "t"),
        ];
        let hub = Hub::with(Environment::of(variables), patience).unwrap();
        Place { folder, hub }
    }

    fn fetch(&self, repository: &str, options: FetchOptions) -> Result<Fetched, Error> {
        self.hub.fetch(&repository.parse().unwrap(), options, &Silent)
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("hub")
    }

    /// Every file below the hub's folder, with what is in it.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let (mut out, mut folders) = (Vec::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name =
                    path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    out.push((format!("{name}/"), Vec::new()));
                    folders.push(path);
                } else {
                    out.push((name, fs::read(&path).unwrap()));
                }
            }
        }
        out.sort();
        out
    }
}

const SKIP: FetchOptions = FetchOptions { force_reload: false, skip_validation: true };

#[test]
fn a_repository_comes_once() {
    let server = github(good());
    let place = Place::new(&server);
    let fetched = place.fetch("o/r", FetchOptions::default()).unwrap();
    assert_eq!(
        (fetched.path, fetched.reference, fetched.cached),
        (place.dir().join("o_r_main"), "main".into(), false)
    );
    let names: Vec<String> = place.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "hub/",
            "hub/o_r_main/",
            "hub/o_r_main/a/",
            "hub/o_r_main/a/b.py",
            "hub/o_r_main/hubconf.py"
        ]
    );
    let paths: Vec<String> = server.asked().iter().map(|asked| asked.path.clone()).collect();
    assert_eq!(
        paths,
        [
            "/o/r/tree/main/",
            "/repos/o/r/branches?per_page=100&page=1",
            "/o/r/zipball/main",
            "/codeload"
        ]
    );
    // A reference that is named and there needs no request.
    server.taken();
    assert!(place.fetch("o/r:main", FetchOptions::default()).unwrap().cached);
    assert!(server.asked().is_empty());
    // What was there is replaced.
    fs::write(place.dir().join("o_r_main/old.py"), "").unwrap();
    let again = FetchOptions { force_reload: true, ..FetchOptions::default() };
    assert!(!place.fetch("o/r:main", again).unwrap().cached);
    assert!(!place.dir().join("o_r_main/old.py").exists());
    assert_eq!(fs::read_dir(place.dir()).unwrap().count(), 1);
}

#[test]
fn references_are_those_of_the_repository() {
    let server = github(good());
    let place = Place::new(&server);
    for (reference, there) in [
        ("v1", true),
        ("abcde", true),
        ("1234", true),
        ("feat/x", true),
        ("nope", false),
        ("refs/heads/main", false),
    ] {
        let fetched = place.fetch(&format!("o/r:{reference}"), FetchOptions::default());
        assert_eq!(fetched.is_ok(), there, "{reference}");
        if let Err(error) = fetched {
            let expected = format!(
                "Cannot find {reference} in {}/o/r. If it's a commit from a forked repo",
                server.url
            );
            assert!(error.message().starts_with(&expected), "{error}");
        }
    }
    assert!(place.dir().join("o_r_feat_x").is_dir());
    place.fetch("o/r:refs/heads/main", SKIP).unwrap();
}

#[test]
fn the_token_is_for_the_api() {
    let web = github(good());
    let api = Server::new(|asked| match asked.header("authorization") {
        Some("token t") => Reply::new(401),
        Some(_) => Reply::new(500),
        None => Reply::body(200, r#"[{"name": "main", "commit": {"sha": "a"}}]"#),
    });
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let variables = [
        ("TORCH_HOME", home.as_str()),
        ("SCONCE_GITHUB_URL", &web.url),
        ("SCONCE_GITHUB_API_URL", &api.url),
        ("GITHUB_TOKEN", "t"),
    ];
    let hub = Hub::with(Environment::of(variables), Patience::default()).unwrap();
    hub.fetch(&"o/r".parse().unwrap(), FetchOptions::default(), &Silent).unwrap();
    assert_eq!(api.asked().len(), 2, "a token that is refused is not used again");
    assert!(web.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[test]
fn a_spent_limit_is_said() {
    let server = Server::new(|asked| match asked.path.starts_with("/repos/") {
        true => Reply::new(403).header("X-RateLimit-Remaining", "0"),
        false => Reply::body(200, ""),
    });
    let place = Place::new(&server);
    let error = place.fetch("o/r:main", FetchOptions::default()).unwrap_err();
    assert_eq!(error.message(), "HTTP Error 403: Forbidden");
    assert!(
        error.help().unwrap().contains("GITHUB_TOKEN")
            && error.help().unwrap().contains("--skip-validation")
    );
}

#[test]
fn without_a_network_the_cache_has_to_do() {
    let server = github(good());
    let mut place = Place::new(&server);
    place.fetch("o/r", FetchOptions::default()).unwrap();
    server.taken();
    place.hub.set_offline(true);
    assert!(place.fetch("o/r", FetchOptions::default()).unwrap().cached);
    assert!(place.fetch("o/r:main", FetchOptions::default()).unwrap().cached);
    assert_eq!(
        place.fetch("o/other", FetchOptions::default()).unwrap_err().kind(),
        ErrorKind::Offline
    );
    assert_eq!(
        place.fetch("o/r:v1", FetchOptions::default()).unwrap_err().kind(),
        ErrorKind::Offline
    );
    assert!(server.asked().is_empty());
}

#[test]
fn an_ambiguous_reference_is_a_branch() {
    struct Warned(Mutex<Vec<String>>);
    impl Watch for Warned {
        fn warn(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }
    let server = github(good());
    let place = Place::new(&server);
    let warned = Warned(Mutex::default());
    place.hub.fetch(&"o/r:twice".parse().unwrap(), SKIP, &warned).unwrap();
    assert!(warned.0.lock().unwrap()[0].starts_with("The ref twice is ambiguous."));
    assert!(server.asked().iter().any(|asked| asked.path == "/o/r/zipball/refs/heads/twice"));
}

/// Archives that would write where they should not, or are none. Nothing is touched.
#[test]
fn hostile_archives_touch_nothing() {
    let deep = format!("t/{}x", "a/".repeat(100));
    let long = format!("t/{}", "n".repeat(300));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "traversal",
            zip(&[("../victim/", b""), ("../victim/hubconf.py", HUBCONF)]),
            "Archive entry contains directory traversal: ../victim/",
        ),
        (
            "traversal inside",
            zip(&[("t/hubconf.py", HUBCONF), ("t/../../x", b"")]),
            "Archive entry contains directory traversal: t/../../x",
        ),
        (
            "traversal by backslash",
            zip(&[("t/hubconf.py", HUBCONF), ("t\\..\\..\\x", b"")]),
            "Archive entry contains directory traversal",
        ),
        (
            "absolute",
            zip(&[("/abs/hubconf.py", HUBCONF)]),
            "Archive entry has absolute path: /abs/hubconf.py",
        ),
        ("absolute by backslash", zip(&[("\\abs", b"")]), "Archive entry has absolute path"),
        (
            "drive",
            zip(&[("C:/hubconf.py", HUBCONF)]),
            "Archive entry has absolute path: C:/hubconf.py",
        ),
        (
            "checkpoints",
            zip(&[("checkpoints/hubconf.py", HUBCONF)]),
            "the archive's folder 'checkpoints' has a name that stands for something else",
        ),
        (
            "trusted list",
            zip(&[("trusted_list/hubconf.py", HUBCONF)]),
            "the archive's folder 'trusted_list' has a name",
        ),
        (
            "another repository",
            zip(&[("a_b_main/hubconf.py", b"evil")]),
            "the archive's folder 'a_b_main' has a name",
        ),
        (
            "second folder",
            zip(&[("t/hubconf.py", HUBCONF), ("a_b_main/hubconf.py", b"evil")]),
            "the archive has more than one folder",
        ),
        (
            "file beside",
            zip(&[("t/hubconf.py", HUBCONF), ("trusted_list", b"evil")]),
            "the archive has more than one folder",
        ),
        (
            "only a file",
            zip(&[("hubconf.py", HUBCONF)]),
            "the archive has a file beside its folder: hubconf.py",
        ),
        (
            "case",
            zip(&[("t/hubconf.py", HUBCONF), ("t/HubConf.py", b"evil")]),
            "two names in the archive clash",
        ),
        (
            "twice",
            zip(&[("t/hubconf.py", HUBCONF), ("t/hubconf.py", b"evil")]),
            "two names in the archive clash",
        ),
        (
            "file and folder",
            zip(&[("t/hubconf.py", HUBCONF), ("t/a", b"x"), ("t/a/b", b"x")]),
            "two names in the archive clash",
        ),
        ("deep", zip(&[("t/hubconf.py", HUBCONF), (&deep, b"")]), "a name in the archive is none"),
        ("long", zip(&[("t/hubconf.py", HUBCONF), (&long, b"")]), "a name in the archive is none"),
        (
            "control",
            zip(&[("t/hubconf.py", HUBCONF), ("t/a\0b", b"")]),
            "a name in the archive is none",
        ),
        ("no parts", zip(&[("t//hubconf.py", HUBCONF)]), "a name in the archive is none"),
        ("empty", zip(&[]), "the archive of the repository is empty"),
        ("no zip", b"not a zip file".to_vec(), "File is not a zip file"),
        ("no hubconf", zip(&[("t/other.py", b"")]), "o/r:main has no hubconf.py at main"),
        (
            "cut",
            {
                let mut cut = good();
                cut.truncate(cut.len() - 30);
                cut
            },
            "File is not a zip file",
        ),
        (
            "damaged",
            {
                let mut bad = good();
                let at = bad.windows(5).position(|part| part == b"x = 1").unwrap();
                bad[at] = b'y';
                bad
            },
            "the checksum of 'o-r-abcdef0/a/b.py' in the archive does not fit",
        ),
    ];
    for (name, archive, message) in cases {
        let server = github(archive);
        let place = Place::new(&server);
        for (path, text) in [
            ("a_b_main/hubconf.py", "a"),
            ("o_r_main/hubconf.py", "old"),
            ("checkpoints/m.pth", "m"),
            ("trusted_list", "a_b\n"),
        ] {
            let path = place.dir().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(place.folder.path().join("victim")).unwrap();
        let before = place.files();
        let options = FetchOptions { force_reload: true, skip_validation: true };
        let error = place.fetch("o/r:main", options).unwrap_err();
        assert!(error.message().starts_with(message), "{name}: {error}");
        assert!(place.files() == before, "{name}: {:?}", place.files());
    }
}

#[test]
fn bombs_are_not_unpacked() {
    // A name of the directory says that a few bytes are many.
    let mut archive = zip(&[("t/hubconf.py", HUBCONF), ("t/big", b"x")]);
    let at = archive.windows(4).rposition(|part| part == b"PK\x01\x02").unwrap();
    archive[at + 10] = 8;
    archive[at + 24..at + 28].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    let server = github(archive);
    let place = Place::new(&server);
    let error = place.fetch("o/r:main", SKIP).unwrap_err();
    assert!(error.message().contains("unpacks to more than"), "{error}");
    assert_eq!(fs::read_dir(place.dir()).unwrap().count(), 0);
}

#[test]
fn what_was_killed_is_cleared_away() {
    let server = github(good());
    let place = Place::new(&server);
    let left = place.dir().join(".sconce-hub-0123456789abcdef");
    fs::create_dir_all(left.join("fresh")).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    let kept = place.dir().join(".sconce-hub-fedcba9876543210");
    fs::create_dir_all(&kept).unwrap();
    let lock = fs::File::create(kept.join("lock")).unwrap();
    lock.lock().unwrap();
    place.fetch("o/r:main", SKIP).unwrap();
    assert!(!left.exists() && kept.exists(), "one is in use");
    let busy: Vec<(PathBuf, bool)> =
        place.hub.cache().unwrap().into_iter().map(|item| (item.path, item.busy)).collect();
    assert!(busy.contains(&(kept, true)), "{busy:?}");
    assert!(busy.iter().any(|(path, busy)| path.ends_with(Path::new("o_r_main")) && !busy));
}
