//! `sconce hub`, and addresses in the place of files, against a server of the test's own.
#![cfg(feature = "hub")]
#![allow(clippy::unwrap_used)]

#[path = "support/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs, reason = "it is shared")]
mod server;
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use server::{Reply, Server, file, zip};
use support::{Run, command, fixtures, run, sconce};

/// The binary with a cache of the test's own.
fn with_cache(folder: &Path, args: &[&str]) -> Run {
    let mut command = command(args);
    command.env("TORCH_HOME", folder).env("SCONCE_CACHE_DIR", folder.join("sconce"));
    run(command.output().unwrap())
}

/// A server of the fixtures.
fn fixture_server() -> Server {
    Server::new(|asked| match fs::read(fixtures().join(asked.path.trim_start_matches('/'))) {
        Ok(data) => file(asked, &data, &format!("{:x}", crc32fast::hash(&data))),
        Err(_) => Reply::new(404),
    })
}

/// What a file on a server shows is what it shows on disk, but for its name.
#[test]
fn verbs_read_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let server = fixture_server();
    let cases: &[&[&str]] = &[
        &["info", "2.15/zip/state_dict.pt"],
        &["ls", "2.15/zip/state_dict.pt"],
        &["ls", "--json", "2.15/legacy/state_dict.pt"],
        &["tree", "2.15/zip/objects_containers.pt"],
        &["show", "2.15/zip/state_dict.pt", "body.0.conv.weight"],
        &["show", "2.15/legacy/state_dict.pt", "body.0.conv.weight"],
        &["stat", "2.15/legacy/state_dict.pt"],
        &["stat", "2.15/zip/state_dict.pt"],
        &["globals", "2.15/zip/module_net.pt"],
        &["verify", "2.15/zip/state_dict.pt"],
        &["scan", "2.15/zip/module_net.pt"],
        &["identify", "2.15/legacy/state_dict.pt"],
        &["extract", "--list", "2.15/zip/state_dict.pt"],
        &["code", "2.15/torchscript/scripted.pt"],
        &["graph", "2.15/torchscript/scripted.pt"],
        &["dis", "2.15/legacy/state_dict.pt"],
    ];
    for args in cases {
        let far: Vec<String> = args
            .iter()
            .map(|arg| match arg.starts_with("2.15/") {
                true => format!("{}/{arg}", server.url),
                false => (*arg).to_owned(),
            })
            .collect();
        let far: Vec<&str> = far.iter().map(String::as_str).collect();
        let (near, far) = (sconce(args), with_cache(folder.path(), &far));
        assert_eq!(far.code, near.code, "{args:?}: {}", far.err);
        let named = far.out.replace(&format!("{}/", server.url), "");
        assert_eq!(named, near.out, "{args:?}");
    }
    let other = format!("{}/2.15/zip/shared.pt", server.url);
    let diff = with_cache(folder.path(), &["diff", "2.15/zip/shared.pt", &other]);
    assert_eq!(diff.code, 0, "{}{}", diff.out, diff.err);
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let server = fixture_server();
    let missing = format!("{}/none.pt?secret=1", server.url);
    for (args, code, said) in [
        (&["ls", missing.as_str()][..], 2, "HTTP Error 404: Not Found"),
        (&["ls", "ftp://h/key"], 3, "addresses of ftp:// are not read"),
        (&["ls", "s3://bucket"], 3, "names no file in a bucket"),
        (&["hub", "--offline", "download", &missing], 2, "is not in the cache"),
        (&["hub", "download", "nonsense"], 3, "unknown url type: 'nonsense'"),
        (&["hub", "download", "https://h/x/", "--json"], 3, "the address names no file"),
        (&["hub", "fetch", "https://github.com/a/b"], 3, "is not a repository"),
        (
            &["hub", "download", &missing, "--hash-prefix", "xyz"],
            3,
            "is not the beginning of a SHA-256",
        ),
    ] {
        let run = with_cache(folder.path(), args);
        assert_eq!(run.code, code, "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
        assert!(!run.err.contains("secret"), "{args:?}: {}", run.err);
    }
}

/// Of a long file little is read: the checkpoint of the issue, made smaller.
#[test]
fn a_long_checkpoint_is_listed_in_two_requests() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = sconce::StateDict::new();
    let values: Vec<f32> = (0..50_000).map(|at| at as f32).collect();
    for at in 0..300 {
        let tensor = sconce::Tensor::from_vec(values.clone(), &[500, 100]).unwrap();
        state.insert(format!("layers.{at}.weight"), tensor);
    }
    let path = folder.path().join("long.pt");
    sconce::save(state, &path).unwrap();
    let server = Server::of(fs::read(&path).unwrap());
    let url = format!("{}/long.pt", server.url);
    let ls = with_cache(folder.path(), &["ls", &url, "--json"]);
    assert_eq!(ls.code, 0, "{}", ls.err);
    let near =
        run(command(&["ls", "--json", "long.pt"]).current_dir(folder.path()).output().unwrap());
    assert_eq!(ls.out.replace(&url, "long.pt"), near.out, "offsets too");
    let (requests, bytes) = server.taken();
    assert!(requests <= 3 && bytes <= 400_000, "{requests} requests, {bytes} bytes");
    for verb in ["info", "tree", "globals"] {
        let far = with_cache(folder.path(), &[verb, &url, "--no-cache"]);
        let near = run(command(&[verb, "long.pt"]).current_dir(folder.path()).output().unwrap());
        assert_eq!(far.out.replace(&url, "long.pt"), near.out, "{verb}: {}", far.err);
        let (requests, bytes) = server.taken();
        assert!(requests <= 3 && bytes <= 400_000, "{verb}: {requests} requests, {bytes} bytes");
    }
    // A scan leaves nothing out.
    let scan = with_cache(folder.path(), &["scan", &url, "--no-cache"]);
    assert_eq!((scan.code, server.taken().0 > 300), (0, true), "{}", scan.err);
    let again = with_cache(folder.path(), &["ls", &url, "--json"]);
    assert_eq!((again.out, server.taken()), (ls.out, (1, 0)));
    let show = with_cache(folder.path(), &["show", &url, "layers.200.weight", "--no-cache"]);
    assert_eq!(show.code, 0, "{}", show.err);
    let (requests, bytes) = server.taken();
    assert!(requests <= 4 && bytes <= 200_000 + 400_000, "{requests} requests, {bytes} bytes");
    let to = folder.path().join("one.safetensors");
    let args = ["convert", &url, to.to_str().unwrap(), "--include", "layers.7.weight"];
    let convert = with_cache(folder.path(), &args);
    assert_eq!(convert.code, 0, "{}", convert.err);
    let one = sconce::load(&to).unwrap();
    assert_eq!(one.tensor("layers.7.weight").unwrap().to_vec::<f32>().unwrap(), values);
}

#[test]
fn an_index_names_shards_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let made = sconce(&["shard", "2.15/zip/state_dict.pt", "-C", path, "--max-size", "200"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let index = walk(folder.path()).into_iter().find(|name| name.ends_with(".index.json")).unwrap();
    let root = folder.path().to_owned();
    let server =
        Server::new(move |asked| match fs::read(root.join(asked.path.trim_start_matches('/'))) {
            Ok(data) => file(asked, &data, &format!("{:x}", crc32fast::hash(&data))),
            Err(_) => Reply::new(404),
        });
    let far = with_cache(folder.path(), &["ls", &format!("{}/{index}", server.url)]);
    let near = run(command(&["ls", &index]).current_dir(folder.path()).output().unwrap());
    assert_eq!((far.code, far.out), (0, near.out), "{}", far.err);
}

/// The files below a folder.
fn walk(folder: &Path) -> Vec<String> {
    let (mut out, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => out.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    out
}

#[test]
fn files_and_repositories_lie_where_pytorch_looks() {
    let folder = tempfile::tempdir().unwrap();
    let archive = zip(&[("o-r-1/", b""), ("o-r-1/hubconf.py", b"dependencies = []\n")]);
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/o/r/zipball/main" => Reply::body(200, archive.clone()),
        "/o/r/tree/main/" => Reply::body(200, "<html>"),
        "/m-ba7816bf.pth" => file(asked, b"abc", "one"),
        _ => Reply::new(404),
    });
    let hub = |args: &[&str]| {
        let mut command = command(&[&["hub"], args].concat());
        command.env("TORCH_HOME", folder.path()).env("SCONCE_GITHUB_URL", &server.url);
        command.env("SCONCE_GITHUB_API_URL", &server.url).env_remove("GITHUB_TOKEN");
        run(command.output().unwrap())
    };
    let home = folder.path().to_str().unwrap();
    assert_eq!(hub(&["dir"]).ok(), format!("{home}/hub\n"));
    let url = format!("{}/m-ba7816bf.pth", server.url);
    let came = hub(&["download", &url, "--check-hash", "--json"]).ok();
    let came: serde_json::Value = serde_json::from_str(&came).unwrap();
    assert_eq!(came["path"], format!("{home}/hub/checkpoints/m-ba7816bf.pth"));
    assert_eq!((came["cached"].as_bool(), came["bytes"].as_u64()), (Some(false), Some(3)));
    assert!(came["sha256"].as_str().unwrap().starts_with("ba7816bf"));
    assert!(hub(&["download", &url]).ok().contains("it was there"));
    assert_eq!(hub(&["fetch", "o/r", "--skip-validation"]).ok(), format!("{home}/hub/o_r_main\n"));
    let cached = hub(&["--offline", "fetch", "o/r"]);
    assert_eq!(cached.out, format!("{home}/hub/o_r_main\n"));
    assert_eq!(cached.err, format!("Using cache found in {home}/hub/o_r_main\n"));
    assert!(hub(&["trust", "o/r"]).ok().contains("trusted"));
    assert_eq!(hub(&["trust"]).ok(), "o_r\n");
    assert_eq!(hub(&["trust", "--remove", "x/y"]).code, 1);
    fs::write(
        folder.path().join("hub/checkpoints/x.pth.0123456789abcdef0123456789abcdef.partial"),
        "x",
    )
    .unwrap();
    let listed = hub(&["cache"]).ok();
    for word in ["repository", "checkpoint", "partial", "trusted list", "4 items"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    assert!(hub(&["cache", "--clear", "partial"]).ok().contains("1 item"));
    assert!(hub(&["cache", "--clear"]).ok().contains("2 items"));
    assert_eq!(walk(folder.path()), ["hub/trusted_list"]);
}

/// A download that is killed leaves what the next one goes on with.
#[cfg(unix)]
#[test]
fn a_killed_download_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..3usize << 20).map(|at| (at * 7 + at / 251) as u8).collect();
    let whole = data.clone();
    // The rest never comes the first time.
    let server = Server::new(move |asked| match asked.header("range") {
        None => Reply { claimed: Some(whole.len()), ..Reply::body(200, &whole[..2 << 20]) }
            .header("ETag", "\"one\""),
        Some(_) => file(asked, &whole, "one"),
    });
    let url = format!("{}/m.pth", server.url);
    let partial = folder.path().join("hub/checkpoints/m.pth.sconce-partial");
    let mut child =
        command(&["-q", "hub", "download", &url]).env("TORCH_HOME", folder.path()).spawn().unwrap();
    let there = || fs::metadata(&partial).map_or(0, |metadata| metadata.len());
    for _ in 0..600 {
        if there() == 2 << 20 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(there(), 2 << 20);
    let again = with_cache(folder.path(), &["hub", "download", &url, "--json"]);
    let came: serde_json::Value = serde_json::from_str(&again.ok()).unwrap();
    assert_eq!(came["resumed"].as_u64(), Some(2 << 20));
    assert!(fs::read(folder.path().join("hub/checkpoints/m.pth")).unwrap() == data);
    assert_eq!(walk(folder.path()), ["hub/checkpoints/m.pth"]);
}

const HUBCONF: &str = r#"
dependencies = ["torch", "yaml_of_nowhere"]
from collections import OrderedDict
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.fc = nn.Linear(2, width)

    def forward(self, x):
        return self.fc(x)


def net(pretrained=False, **kwargs):
    """Makes a network.

    pretrained (bool): whether numbers are loaded
    """
    model = Net(**kwargs)
    if pretrained:
        model.load_state_dict(torch.hub.load_state_dict_from_url("SERVER/weights.pth"))
    return model
"#;

/// From a repository on a server to a state dict, without Python.
#[test]
fn a_repository_is_listed_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("weights.pth");
    let mut state = sconce::StateDict::new();
    state
        .insert("fc.weight", sconce::Tensor::from_vec(vec![1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap());
    state.insert("fc.bias", sconce::Tensor::from_vec(vec![5f32, 6.0], &[2]).unwrap());
    sconce::save(state, &weights).unwrap();
    let weights = fs::read(weights).unwrap();
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/o/r/zipball/main" => {
            let host = format!("http://{}", asked.header("host").unwrap());
            let hubconf = HUBCONF.replace("SERVER", &host);
            Reply::body(200, zip(&[("o-r-1/", b""), ("o-r-1/hubconf.py", hubconf.as_bytes())]))
        }
        "/weights.pth" => file(asked, &weights, "one"),
        _ => Reply::new(404),
    });
    let hub = |args: &[&str]| {
        let mut command = command(&[&["hub"], args].concat());
        command.env("TORCH_HOME", folder.path()).env("SCONCE_GITHUB_URL", &server.url);
        command.current_dir(folder.path());
        run(command.output().unwrap())
    };
    let list = hub(&["list", "o/r:main", "--skip-validation"]);
    assert_eq!((list.code, list.out.as_str()), (0, "Net\nOrderedDict\nnet\n"), "{}", list.err);
    assert!(list.err.contains("Missing dependencies: yaml_of_nowhere"), "{}", list.err);
    assert_eq!(hub(&["list", "o/r:main", "--own"]).ok(), "Net\nnet\n");
    let help = hub(&["--offline", "help", "o/r:main", "net"]).ok();
    assert!(help.starts_with("net(pretrained=False, **kwargs)\nMakes a network.\n"), "{help}");
    let load = hub(&["load", "o/r:main", "net", "pretrained=True", "-o", "net.pth"]);
    assert_eq!(load.code, 0, "{}", load.err);
    let loaded = sconce::load(folder.path().join("net.pth")).unwrap();
    assert_eq!(loaded.tensor("fc.bias").unwrap().to_vec::<f32>().unwrap(), [5.0, 6.0]);
    assert!(folder.path().join("hub/checkpoints/weights.pth").exists());
    let local = folder.path().join("hub/o_r_main");
    let local = local.to_str().unwrap();
    let load = hub(&["--offline", "load", local, "net", "True", "-o", "net.pt", "--json"]);
    assert_eq!(load.json()["class"], "hubconf.py.Net", "{}", load.err);
    assert_eq!(sconce(&["code", folder.path().join("net.pt").to_str().unwrap()]).code, 0);
    // Numbers that PyTorch makes up are not made up here.
    let random = hub(&["load", local, "net", "-o", "random.pth"]);
    assert_eq!(random.code, 2);
    assert!(random.err.contains("would be random numbers"), "{}", random.err);
    let none = hub(&["help", local, "nope"]);
    assert!(none.err.contains("Cannot find callable nope in hubconf"), "{}", none.err);
    assert_eq!(hub(&["list", "./nowhere"]).code, 3);
}
