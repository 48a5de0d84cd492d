//! Files that are read in ranges from a server of the test's own.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../sconce-cli/tests/support/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "it is shared")]
mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sconce_hub::remote::{self, RemoteOptions};
use sconce_hub::{Environment, Error, ErrorKind, Hub, Patience};
use sconce_source::Source;
use server::{Asked, Reply, Server, file};

const LEN: usize = 3 << 20;

fn data() -> Vec<u8> {
    (0..LEN).map(|at| (at * 31 + at / 253) as u8).collect()
}

fn hub(folder: &Path, more: &[(&str, &str)]) -> Hub {
    let patience = Patience { first_wait: Duration::from_millis(1), ..Patience::default() };
    let home = [("HOME", folder.to_str().unwrap())];
    Hub::with(Environment::of(home.into_iter().chain(more.iter().copied())), patience).unwrap()
}

fn open(folder: &Path, url: &str) -> Result<Source, Error> {
    remote::open(&hub(folder, &[]), url, &RemoteOptions::default())
}

fn read(source: &Source, start: usize, len: usize) -> Result<Vec<u8>, String> {
    let slice =
        source.slice(start as u64..(start + len) as u64).map_err(|error| error.to_string())?;
    Ok(slice.unwrap().to_vec())
}

#[test]
fn ranges_are_read_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let whole = data();
    let server = Server::of(whole.clone());
    let url = format!("{}/m.pt?X-Amz-Signature=secret", server.url);
    let source = open(folder.path(), &url).unwrap();
    assert_eq!((source.len(), source.name()), (LEN as u64, &*format!("{}/m.pt", server.url)));
    assert_eq!(server.taken(), (1, 128 << 10));
    // The end is there already, the beginning comes with a little more.
    assert!(read(&source, LEN - 1000, 1000).unwrap() == whole[LEN - 1000..]);
    assert!(read(&source, 0, 100).unwrap() == whole[..100]);
    assert!(read(&source, 60_000, 1000).unwrap() == whole[60_000..61_000]);
    assert_eq!(server.taken(), (1, 64 << 10));
    assert!(read(&source, 1000, 2 << 20).unwrap() == whole[1000..1000 + (2 << 20)]);
    server.taken();
    // Another run asks whether the file is the same.
    let again = open(folder.path(), &url.replace("secret", "another")).unwrap();
    assert!(read(&again, 0, 100).unwrap() == whole[..100]);
    assert!(read(&again, LEN - 1000, 1000).unwrap() == whole[LEN - 1000..]);
    assert!(read(&again, 1000, 2 << 20).unwrap() == whole[1000..1000 + (2 << 20)]);
    assert_eq!(server.taken(), (1, 0));
    // Or keeps and uses nothing.
    let options = RemoteOptions { no_cache: true };
    remote::open(&hub(folder.path(), &[]), &url, &options).unwrap();
    assert_eq!(server.taken(), (1, 128 << 10));
    // What is kept holds no secrets.
    let kept = folder.path().join(".cache/sconce/ranges");
    for entry in std::fs::read_dir(kept).unwrap() {
        let about = std::fs::read_to_string(entry.unwrap().path().join("about.json")).unwrap();
        assert!(!about.contains("secret") && !about.contains("http"), "{about}");
    }
}

#[test]
fn damaged_ranges_are_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::of(data());
    read(&open(folder.path(), &server.url).unwrap(), 0, 100).unwrap();
    let kept = folder.path().join(".cache/sconce/ranges");
    for entry in
        std::fs::read_dir(std::fs::read_dir(kept).unwrap().next().unwrap().unwrap().path()).unwrap()
    {
        let path = entry.unwrap().path();
        if !path.ends_with("about.json") {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[50] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }
    }
    let source = open(folder.path(), &server.url).unwrap();
    assert!(read(&source, 0, 100).unwrap() == data()[..100]);
    assert!(read(&source, LEN - 100, 100).unwrap() == data()[LEN - 100..]);
}

#[test]
fn long_ranges_come_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let whole: Vec<u8> = (0..30usize << 20).map(|at| (at * 7 + at / 4093) as u8).collect();
    let server = Server::of(whole.clone());
    let source = open(folder.path(), &server.url).unwrap();
    server.taken();
    assert!(read(&source, 5, 29 << 20).unwrap() == whole[5..5 + (29 << 20)]);
    assert_eq!(server.taken(), (4, 29 << 20));
}

#[test]
fn a_broken_range_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, count) = (data(), AtomicUsize::new(0));
    let server = Server::new(move |asked| {
        let reply = file(asked, &whole, "one");
        if count.fetch_add(1, Ordering::Relaxed) == 1 { reply.cut(100_000) } else { reply }
    });
    let source = open(folder.path(), &server.url).unwrap();
    assert!(read(&source, 0, 2 << 20).unwrap() == data()[..2 << 20]);
    let last = server.asked().pop().unwrap();
    assert_eq!(last.header("range"), Some("bytes=100000-2097151"));
}

/// What a server does when a range is read, and what is said of it.
#[test]
fn bad_ranges_are_errors() {
    type Answer = fn(&Asked, &[u8]) -> Reply;
    let cases: &[(&str, Answer, &str)] = &[
        (
            "changed",
            |asked, data| file(asked, data, "two"),
            "the file on the server changed while it was being read",
        ),
        (
            "longer",
            |asked, data| file(asked, &[data, b"x"].concat(), "one"),
            "the file on the server changed",
        ),
        ("gone", |_, _| Reply::new(404), "HTTP Error 404: Not Found"),
        ("precondition", |_, _| Reply::new(412), "the file on the server changed"),
        (
            "whole",
            |_, data| Reply::body(200, data).header("ETag", "\"one\""),
            "the server sent the whole file where a part was asked for",
        ),
        (
            "other part",
            |_, _| {
                Reply::body(206, "abc")
                    .header("ETag", "\"one\"")
                    .header("Content-Range", format!("bytes 1-3/{LEN}"))
            },
            "the server sent another part of the file than was asked for",
        ),
        (
            "no range",
            |_, _| Reply::body(206, "abc").header("ETag", "\"one\""),
            "the server does not say which part of the file it sent",
        ),
        (
            "packed",
            |asked, data| file(asked, data, "one").header("Content-Encoding", "gzip"),
            "the server sent a part of a packed file",
        ),
        (
            "short",
            |_, _| {
                Reply::body(206, vec![0; 65_535])
                    .header("ETag", "\"one\"")
                    .header("Content-Range", format!("bytes 0-65535/{LEN}"))
            },
            "the server sent another part of the file than was asked for",
        ),
    ];
    for (name, answer, message) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (whole, count, answer) = (data(), AtomicUsize::new(0), *answer);
        let server = Server::new(move |asked| match count.fetch_add(1, Ordering::Relaxed) {
            0 => file(asked, &whole, "one"),
            _ => answer(asked, &whole),
        });
        let source = open(folder.path(), &server.url).unwrap();
        let error = read(&source, 0, 100).unwrap_err();
        assert!(error.contains(message), "{name}: {error}");
    }
}

/// What a server does when a file is opened.
#[test]
fn servers_that_know_no_ranges() {
    type Answer = fn(&Asked, &[u8]) -> Reply;
    let cases: &[(&str, Answer, &str)] = &[
        (
            "whole only",
            |_, data| Reply::body(200, data),
            "the server sends no parts of this file of 3145728 bytes, only all of it",
        ),
        (
            "page",
            |_, _| Reply::body(200, "<html>Sign in").header("Content-Type", "text/html"),
            "the server sent a web page, not a file",
        ),
        ("missing", |_, _| Reply::new(404), "HTTP Error 404: Not Found"),
        (
            "packed",
            |asked, data| file(asked, data, "one").header("Content-Encoding", "br"),
            "the server sent the file packed (br), which was not asked for",
        ),
        (
            "wrong end",
            |_, _| Reply::body(206, "abc").header("Content-Range", "bytes 0-2/100"),
            "the server sent another part of the file than was asked for",
        ),
        (
            "no total",
            |_, _| Reply::body(206, "abc").header("Content-Range", "bytes 0-2/*"),
            "the server does not say how long the file is",
        ),
        (
            "endless",
            |_, _| Reply::new(302).header("Location", "/again"),
            "HTTP Error 302: The HTTP server returned a redirect error that would lead to an infinite loop.",
        ),
        (
            "no repository",
            |_, _| Reply::new(401).header("X-Error-Code", "RepoNotFound"),
            "HTTP Error 401: Unauthorized",
        ),
    ];
    for (name, answer, message) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (whole, answer) = (data(), *answer);
        let server = Server::new(move |asked| answer(asked, &whole));
        let error = open(folder.path(), &server.url).unwrap_err();
        assert_eq!(error.message(), *message, "{name}: {error}");
    }
    // The end is not sent, parts are: as Azure does.
    let folder = tempfile::tempdir().unwrap();
    let whole = data();
    let server = Server::new(move |asked| match asked.header("range") {
        Some(range) if range.starts_with("bytes=-") => {
            Reply::body(200, &whole[..]).header("ETag", "\"one\"")
        }
        _ => file(asked, &whole, "one"),
    });
    let source = open(folder.path(), &server.url).unwrap();
    assert!(read(&source, LEN - 10, 10).unwrap() == data()[LEN - 10..]);
    // A small file is taken as it comes; an empty one has no parts.
    let server = Server::new(|_| Reply::body(200, "hello"));
    assert_eq!(read(&open(folder.path(), &server.url).unwrap(), 0, 5).unwrap(), b"hello");
    let server = Server::new(|_| Reply::new(416).header("Content-Range", "bytes */0"));
    assert!(open(folder.path(), &server.url).unwrap().is_empty());
}

#[test]
fn signed_addresses_are_used_until_they_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, uses) = (data(), Arc::new(AtomicUsize::new(0)));
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/m.pt" => {
            let signature = uses.load(Ordering::Relaxed) / 3;
            Reply::new(302).header("Location", format!("/signed?sig={signature}"))
        }
        path => {
            let now = uses.fetch_add(1, Ordering::Relaxed);
            let valid = path == format!("/signed?sig={}", now / 3);
            if valid { file(asked, &whole, "one") } else { Reply::new(403) }
        }
    });
    let source = open(folder.path(), &format!("{}/m.pt", server.url)).unwrap();
    for at in 0..8 {
        let start = at * 200_000;
        assert!(read(&source, start, 10).unwrap() == data()[start..start + 10], "{at}");
    }
    let asked = server.asked();
    let named = asked.iter().filter(|asked| asked.path == "/m.pt").count();
    assert!((3..=4).contains(&named), "{named} of {}", asked.len());
}

#[test]
fn hugging_face() {
    let folder = tempfile::tempdir().unwrap();
    let whole = data();
    let elsewhere = Server::new(move |asked| file(asked, &whole, "xet"));
    let there = format!("{}/blob?Expires=1", elsewhere.url);
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/o/n/resolve/refs%2Fpr%2F1/a/m.pt" => Reply::new(302).header("Location", there.clone()),
        "/datasets/o/n/resolve/main/small" => {
            Reply::new(307).header("Location", "/api/resolve-cache/x")
        }
        "/api/resolve-cache/x" => Reply::body(200, "small"),
        _ => Reply::new(404).header("X-Error-Code", "EntryNotFound"),
    });
    let hub = hub(folder.path(), &[("HF_ENDPOINT", &server.url), ("HF_TOKEN", "t")]);
    let open = |address: &str| remote::open(&hub, address, &RemoteOptions::default());
    let source = open("hf://o/n@refs/pr/1/a/m.pt").unwrap();
    assert_eq!((source.len(), source.name()), (LEN as u64, "hf://o/n@refs/pr/1/a/m.pt"));
    assert_eq!(read(&open("hf://datasets/o/n/small").unwrap(), 0, 5).unwrap(), b"small");
    let error = open("hf://o/n/none").unwrap_err();
    assert_eq!(error.note(), Some("the repository has no such file"));
    assert!(server.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer t")));
    assert!(elsewhere.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[test]
fn stores_that_are_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["ftp://b/k", "abfs://b/k", "r2://b/k"] {
        assert!(remote::is_address(address));
        let error = open(folder.path(), address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains("are not read"), "{error}");
    }
    assert!(!remote::is_address("m.pt") && !remote::is_address("C://m.pt"));
}

/// Where no server is to be asked, or none answers, the cache of Hugging Face's own library has to do.
#[test]
fn the_cache_of_hugging_faces_library() {
    let folder = tempfile::tempdir().unwrap();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let repository = folder.path().join("hf/hub/models--o--n");
    let snapshot = repository.join("snapshots").join(commit);
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(repository.join("refs")).unwrap();
    std::fs::write(repository.join("refs/main"), commit).unwrap();
    std::fs::write(snapshot.join("m.pt"), "cached").unwrap();
    let server = Server::new(|_| Reply::body(200, "served"));
    let home = folder.path().join("hf");
    let home = ("HF_HOME", home.to_str().unwrap());
    let read = |variables: &[(&str, &str)], address: &str| {
        let hub = hub(folder.path(), variables);
        remote::open(&hub, address, &RemoteOptions::default())
            .map(|source| String::from_utf8(source.bytes().unwrap().to_vec()).unwrap())
    };
    let there = ("HF_ENDPOINT", server.url.as_str());
    assert_eq!(read(&[home, there], "hf://o/n/m.pt").unwrap(), "served");
    assert_eq!(server.taken().0, 1);
    let exact = format!("hf://o/n@{commit}/m.pt");
    assert_eq!(read(&[home, there], &exact).unwrap(), "cached", "a commit never changes");
    let offline = ("HF_HUB_OFFLINE", "1");
    assert_eq!(read(&[home, there, offline], "hf://o/n/m.pt").unwrap(), "cached");
    let error = read(&[home, there, ("TRANSFORMERS_OFFLINE", "yes")], "hf://o/n/x.pt").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Offline);
    assert!(error.note().unwrap().contains("offline mode is enabled"), "{error}");
    assert_eq!(server.taken().0, 0, "no server was asked");
    let nobody = ("HF_ENDPOINT", "http://127.0.0.1:1");
    assert_eq!(read(&[home, nobody], "hf://o/n/m.pt").unwrap(), "cached");
    assert_eq!(read(&[home, nobody], "hf://o/n/x.pt").unwrap_err().kind(), ErrorKind::Network);
}

/// Requests for buckets are signed, each anew, and the signature is shown nowhere.
#[cfg(feature = "buckets")]
#[test]
fn buckets_are_read_with_signed_requests() {
    let folder = tempfile::tempdir().unwrap();
    let whole = data();
    let server = Server::new(move |asked| {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let is_signed = query.contains("X-Amz-Signature=") || query.contains("sig=");
        match path {
            "/bucket/a%20b/m.pt" | "/models/m.pt" if is_signed => {
                // Azure knows no ends.
                let ends = asked.header("range").is_some_and(|range| range.starts_with("bytes=-"));
                match ends && path.starts_with("/models") {
                    true => Reply::body(200, whole.clone()),
                    false => file(asked, &whole, "one"),
                }
            }
            "/elsewhere/m.pt" if query.contains("us-east-1") => {
                Reply::new(400).header("x-amz-bucket-region", "eu-west-3")
            }
            "/elsewhere/m.pt" if query.contains("eu-west-3") => file(asked, &whole, "two"),
            "/bucket/none" => Reply::body(
                403,
                "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>",
            ),
            _ => Reply::new(404),
        }
    });
    let endpoint = format!("BlobEndpoint={};AccountName=a;AccountKey=a2V5", server.url);
    let hub = hub(
        folder.path(),
        &[
            ("AWS_ENDPOINT_URL", &server.url),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "verysecret"),
            ("AZURE_STORAGE_CONNECTION_STRING", &endpoint),
        ],
    );
    for address in ["s3://bucket/a b/m.pt", "az://models/m.pt", "s3://elsewhere/m.pt"] {
        let source = remote::open(&hub, address, &RemoteOptions { no_cache: true }).unwrap();
        assert_eq!((source.len(), source.name()), (LEN as u64, address));
        for start in [0, 700_000, LEN - 10] {
            assert!(read(&source, start, 10).unwrap() == data()[start..start + 10], "{address}");
        }
    }
    let asked = server.asked();
    assert!(asked.iter().all(|asked| !asked.path.contains("verysecret")));
    assert!(!asked.iter().any(|asked| asked.header("authorization").is_some()));
    let error = remote::open(&hub, "s3://bucket/none", &RemoteOptions::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.note()),
        (ErrorKind::Http(403), Some("AccessDenied: Access Denied"))
    );
    assert!(!error.to_string().contains("Signature"), "{error}");
    for bad in ["s3://bucket", "s3:///m.pt", "az://b{/m.pt"] {
        let error = remote::open(&hub, bad, &RemoteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{bad}");
    }
}
