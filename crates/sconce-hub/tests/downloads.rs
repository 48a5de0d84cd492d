//! Downloads from a server of the test's own.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../sconce-cli/tests/support/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "it is shared")]
mod server;

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sconce_hub::{
    DownloadOptions, Environment, ErrorKind, Hub, Patience, Silent, StateDictOptions, Watch,
};
use server::{Reply, Server, file};

fn hub(folder: &Path) -> Hub {
    let patience = Patience { first_wait: Duration::from_millis(1), ..Patience::default() };
    Hub::with(Environment::of([("TORCH_HOME", folder), ("HOME", folder)]), patience).unwrap()
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 253) as u8).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What is said.
#[derive(Default)]
struct Heard(RefCell<Vec<String>>);

impl Watch for Heard {
    fn say(&self, message: &str) {
        self.0.borrow_mut().push(message.to_owned());
    }

    fn warn(&self, message: &str) {
        self.0.borrow_mut().push(format!("warning {message}"));
    }
}

#[test]
fn a_file_comes_whole_and_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let server = Server::of(data(300_000));
    let (heard, options) = (Heard::default(), StateDictOptions::default());
    let url = format!("{}/a/m%20x.pth?signature=secret#top", server.url);
    let path = hub.fetch_state_dict(&url, &options, &heard).unwrap();
    assert_eq!(path, folder.path().join("hub/checkpoints/m%20x.pth"));
    assert!(fs::read(&path).unwrap() == data(300_000));
    let said = format!("Downloading: \"{}/a/m%20x.pth\" to {}", server.url, path.display());
    assert_eq!(*heard.0.borrow(), [said]);
    assert_eq!(names(path.parent().unwrap()), ["m%20x.pth"]);
    let asked = server.asked();
    assert_eq!(asked[0].path, "/a/m%20x.pth?signature=secret");
    let headers = ["accept-encoding", "user-agent"].map(|name| asked[0].header(name).unwrap());
    assert_eq!(headers, ["identity", "torch.hub"]);
    hub.fetch_state_dict(&url, &options, &Silent).unwrap();
    assert_eq!(server.asked().len(), 1, "it was there");
}

#[test]
fn a_broken_download_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let (whole, count) = (data(400_000), AtomicUsize::new(0));
    let server = Server::new(move |asked| {
        let reply = file(asked, &whole, "one");
        if count.fetch_add(1, Ordering::Relaxed) < 2 { reply.cut(150_000) } else { reply }
    });
    let target = folder.path().join("m.pth");
    let options = DownloadOptions { hash: true, ..DownloadOptions::default() };
    let came = hub.download_url_to_file(&server.url, &target, &options, &Silent).unwrap();
    assert!(fs::read(&target).unwrap() == data(400_000));
    let ranges: Vec<_> =
        server.asked().iter().map(|asked| asked.header("range").map(str::to_owned)).collect();
    assert_eq!(ranges, [None, Some("bytes=150000-".into()), Some("bytes=300000-".into())]);
    assert_eq!(came.sha256.unwrap(), sha(&data(400_000)));
    assert_eq!(names(folder.path()), ["m.pth"]);
}

#[test]
fn another_process_goes_on_where_the_first_ended() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("m.pth");
    let whole = data(400_000);
    let version = std::sync::Arc::new(AtomicUsize::new(1));
    let (cutting, shared) =
        (std::sync::Arc::new(AtomicUsize::new(1)), std::sync::Arc::clone(&version));
    let cut = std::sync::Arc::clone(&cutting);
    let server = Server::new(move |asked| {
        let reply = file(asked, &whole, &shared.load(Ordering::Relaxed).to_string());
        if cut.load(Ordering::Relaxed) == 1 { reply.cut(100_000) } else { reply }
    });
    let once = Patience { tries: 1, ..Patience::default() };
    let impatient = Hub::with(Environment::of([("HOME", folder.path())]), once).unwrap();
    let options = DownloadOptions { hash: true, ..DownloadOptions::default() };
    let error =
        impatient.download_url_to_file(&server.url, &target, &options, &Silent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    assert_eq!(names(folder.path()), ["m.pth.sconce-partial", "m.pth.sconce-partial.json"]);
    cutting.store(0, Ordering::Relaxed);
    let came = impatient.download_url_to_file(&server.url, &target, &options, &Silent).unwrap();
    assert_eq!((came.bytes, came.resumed), (400_000, 100_000));
    assert_eq!(came.sha256.unwrap(), sha(&data(400_000)));
    // Another file under the name: nothing of the old one is used.
    cutting.store(1, Ordering::Relaxed);
    impatient.download_url_to_file(&server.url, &target, &options, &Silent).unwrap_err();
    cutting.store(0, Ordering::Relaxed);
    version.store(2, Ordering::Relaxed);
    let came = impatient.download_url_to_file(&server.url, &target, &options, &Silent).unwrap();
    assert_eq!((came.bytes, came.resumed), (400_000, 0));
    assert!(fs::read(&target).unwrap() == data(400_000));
}

fn sha(data: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers that must not reach the cache: what the server does, and the error.
#[test]
fn bad_answers_leave_nothing() {
    type Answer = fn(&server::Asked) -> Reply;
    let cases: &[(&str, Answer, &str)] = &[
        ("missing", |_| Reply::new(404), "HTTP Error 404: Not Found"),
        ("gone", |_| Reply::new(410), "HTTP Error 410: Gone"),
        ("busy", |_| Reply::new(503), "HTTP Error 503: Service Unavailable"),
        ("nothing", |_| Reply::new(204), "the server sent no file: status 204"),
        (
            "part",
            |_| Reply::body(206, "abc").header("Content-Range", "bytes 0-2/9"),
            "the server sent a part of the file, which was not asked for",
        ),
        (
            "page",
            |_| Reply::body(200, " <!DOCTYPE html><title>Sign in</title>"),
            "the server sent a web page, not a file",
        ),
        (
            "page by type",
            |_| Reply::body(200, "hello").header("Content-Type", "text/html; charset=utf-8"),
            "the server sent a web page, not a file",
        ),
        (
            "packed",
            |_| Reply::body(200, "abc").header("Content-Encoding", "gzip"),
            "the server packed the file (gzip), which was not asked for",
        ),
        (
            "loop",
            |_| Reply::new(302).header("Location", "/m.pth"),
            "HTTP Error 302: The HTTP server returned a redirect error that would lead to an infinite loop.",
        ),
        (
            "other scheme",
            |_| Reply::new(302).header("Location", "file:///etc/passwd"),
            "HTTP Error 302: Found - Redirection to url 'file:///etc/passwd' is not allowed",
        ),
        ("short", |_| Reply { claimed: Some(10), ..Reply::body(200, "abc") }.cut(3), ""),
        ("cut chunks", |_| Reply { chunked: true, ..Reply::body(200, "abcdef") }.cut(3), ""),
    ];
    for (name, answer, message) in cases {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(folder.path());
        let server = Server::new(answer);
        let url = format!("{}/m.pth", server.url);
        let error = hub.fetch_state_dict(&url, &StateDictOptions::default(), &Silent).unwrap_err();
        if message.is_empty() {
            assert_eq!(error.kind(), ErrorKind::Network, "{name}: {error}");
        } else {
            assert_eq!(error.message(), *message, "{name}: {error}");
        }
        assert_eq!(names(&folder.path().join("hub/checkpoints")), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_passes_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let count = AtomicUsize::new(0);
    let server = Server::new(move |asked| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(429).header("Retry-After", "0"),
        1 => Reply::new(503),
        2 => Reply::new(302).header("Location", "elsewhere/file"),
        _ => file(asked, b"abc", "one"),
    });
    let target = folder.path().join("m.pth");
    let url = format!("{}/x/m.pth", server.url);
    hub(folder.path()).download_url_to_file(&url, &target, &Default::default(), &Silent).unwrap();
    let paths: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths, ["/x/m.pth", "/x/m.pth", "/x/m.pth", "/x/elsewhere/file"]);
    assert_eq!(fs::read(target).unwrap(), b"abc");
}

#[test]
fn hashes() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let server = Server::of(b"abc".to_vec());
    let good = StateDictOptions { check_hash: true, ..StateDictOptions::default() };
    for (name, error) in [
        ("m-ba7816bf.pth", None),
        ("m-.pth", None),
        ("m-BA78.pth", None),
        (
            "m-face.pth",
            Some(
                "invalid hash value (expected \"face\", got \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\")",
            ),
        ),
    ] {
        let came = hub.fetch_state_dict(&format!("{}/{name}", server.url), &good, &Silent);
        assert_eq!(came.as_ref().err().map(|error| error.message()), error, "{name}");
        assert_eq!(came.is_ok(), folder.path().join("hub/checkpoints").join(name).exists());
    }
    // What was there stays.
    let target = folder.path().join("old.pth");
    fs::write(&target, "old").unwrap();
    let options = DownloadOptions { hash_prefix: Some("00".into()), ..DownloadOptions::default() };
    hub.download_url_to_file(&server.url, &target, &options, &Silent).unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert!(!names(folder.path()).iter().any(|name| name.contains("partial")));
}

#[test]
fn where_files_may_go() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let server = Server::of(b"abc".to_vec());
    for name in ["../m.pth", "/tmp/m.pth", "a/b.pth", "..", ""] {
        let options =
            StateDictOptions { file_name: Some(name.into()), ..StateDictOptions::default() };
        let error = hub.fetch_state_dict(&server.url, &options, &Silent).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{name}");
    }
    let slash = format!("{}/a/", server.url);
    assert!(hub.fetch_state_dict(&slash, &StateDictOptions::default(), &Silent).is_err());
    assert!(server.asked().is_empty());
    let into = hub.download_url_to_file(&server.url, folder.path(), &Default::default(), &Silent);
    assert!(into.unwrap_err().message().starts_with("[Errno 21] Is a directory"));
    let missing = folder.path().join("no/m.pth");
    let into = hub.download_url_to_file(&server.url, missing, &Default::default(), &Silent);
    assert!(into.unwrap_err().message().starts_with("[Errno 2] No such file or directory"));
}

#[test]
fn two_at_once_download_once() {
    let folder = tempfile::tempdir().unwrap();
    let whole = data(200_000);
    let server = Server::slow(Duration::from_millis(300), move |asked| file(asked, &whole, "one"));
    let url = format!("{}/m.pth", server.url);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let options = StateDictOptions::default();
                let path = hub(folder.path()).fetch_state_dict(&url, &options, &Silent).unwrap();
                assert_eq!(fs::read(path).unwrap().len(), 200_000);
            });
        }
    });
    assert_eq!(server.asked().len(), 1);
    assert_eq!(names(&folder.path().join("hub/checkpoints")), ["m.pth"]);
}

#[test]
fn passwords_go_to_their_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = Server::of(b"abc".to_vec());
    let there = format!("{}/x", other.url);
    let first = Server::new(move |_| Reply::new(302).header("Location", there.clone()));
    let url = first.url.replace("http://", "http://me:secret@");
    let target = folder.path().join("m.pth");
    hub(folder.path()).download_url_to_file(&url, &target, &Default::default(), &Silent).unwrap();
    assert_eq!(first.asked()[0].header("authorization"), Some("Basic bWU6c2VjcmV0"));
    assert_eq!(other.asked()[0].header("authorization"), None);
    drop(other);
    let error =
        hub(folder.path()).download_url_to_file(&url, &target, &Default::default(), &Silent);
    assert!(!error.unwrap_err().to_string().contains("secret"));
}

#[test]
fn offline_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub(folder.path());
    hub.set_offline(true);
    let server = Server::of(b"abc".to_vec());
    let url = format!("{}/m.pth", server.url);
    let error = hub.fetch_state_dict(&url, &StateDictOptions::default(), &Silent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Offline);
    assert!(server.asked().is_empty());
}

/// What PyTorch before 1.6 put on its servers: a zip file with one file in it.
#[test]
fn a_zip_file_of_one_file_is_unpacked_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files/2.15/legacy");
    let inner = fs::read(root.join("state_dict.pt")).unwrap();
    let server = Server::of(server::zip(&[("weights.pt", &inner)]));
    let heard = Heard::default();
    let url = format!("{}/m.zip", server.url);
    let options = StateDictOptions::default();
    let loaded = hub.load_state_dict_from_url(&url, &options, &Default::default(), &heard).unwrap();
    assert!(loaded.tensors().len() > 3);
    assert!(heard.0.borrow()[1].starts_with("warning Falling back to the old format < 1.6."));
    assert_eq!(names(&folder.path().join("hub/checkpoints")), ["m.zip"]);
}
