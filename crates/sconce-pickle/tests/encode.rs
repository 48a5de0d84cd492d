//! Pickles written beside CPython's, which `golden/encode.py` wrote down; and whatever the values
//! are, they come back.

use sconce_pickle::{EncodeOptions, Limits, encode, encode_into, load};

const GOLDEN: &str = include_str!("golden/encode.txt");

struct Case {
    name: &'static str,
    /// Whether one pickle says all of the others.
    same: bool,
    pickles: Vec<(u8, Vec<u8>)>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in GOLDEN.lines() {
        let (word, rest) = line.split_once(' ').expect("two words");
        if let Ok(protocol) = word.parse() {
            let case = cases.last_mut().expect("a name first");
            case.pickles.push((protocol, from_short_hex(rest)));
        } else {
            cases.push(Case { name: rest, same: word == "same", pickles: Vec::new() });
        }
    }
    cases
}

fn from_short_hex(text: &str) -> Vec<u8> {
    let byte = |text| u8::from_str_radix(text, 16).expect("hex");
    let mut bytes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(run) = rest.strip_prefix('(') {
            let (run, after) = run.split_once(')').expect("the end of a run");
            let (what, count) = run.split_once('*').expect("a run");
            bytes.resize(bytes.len() + count.parse::<usize>().expect("a count"), byte(what));
            rest = after;
        } else {
            bytes.push(byte(&rest[..2]));
            rest = &rest[2..];
        }
    }
    bytes
}

fn with_protocol(protocol: u8) -> EncodeOptions {
    EncodeOptions::default().with_protocol(protocol)
}

/// What a pickle reads as, written again.
fn again(bytes: &[u8], protocol: u8) -> Result<Vec<u8>, String> {
    let loaded = load(bytes, &Limits::default()).map_err(|error| error.to_string())?;
    let options = with_protocol(protocol);
    let written = encode(&loaded.arena, loaded.root, &options).map_err(|e| e.to_string())?;
    let mut streamed = Vec::new();
    encode_into(&mut streamed, &loaded.arena, loaded.root, &options).map_err(|e| e.to_string())?;
    assert_eq!(written, streamed);
    Ok(written)
}

/// Where two pickles part, shortly.
fn difference(found: &Result<Vec<u8>, String>, expected: &[u8]) -> String {
    match found {
        Err(error) => error.clone(),
        Ok(found) => {
            let place = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
            let part = |bytes: &[u8]| {
                let from = place.saturating_sub(30);
                bytes[from..(place + 30).min(bytes.len())].escape_ascii().to_string()
            };
            format!("at {place}: {}\n      not: {}", part(found), part(expected))
        }
    }
}

#[test]
fn pickles_of_cpython_come_out_as_they_were() {
    let cases = cases();
    assert!(cases.len() > 100, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        for (protocol, bytes) in &case.pickles {
            // Before protocol 4, a set makes a list of its items each time that it is met; the
            // pickle says which lists only where they are kept.
            if *protocol < 4 && ["set in itself", "frozenset in itself"].contains(&case.name) {
                continue;
            }
            let found = again(bytes, *protocol);
            if found.as_ref() != Ok(bytes) {
                let how = difference(&found, bytes);
                wrong.push(format!("{}, protocol {protocol}: {how}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn other_protocols_are_as_cpython_writes_them() {
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| case.same) {
        let (_, newest) = case.pickles.last().expect("protocol 5");
        for (protocol, bytes) in &case.pickles {
            let found = again(newest, *protocol);
            if found.as_ref() != Ok(bytes) {
                let how = difference(&found, bytes);
                wrong.push(format!("{}, protocol {protocol}: {how}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
