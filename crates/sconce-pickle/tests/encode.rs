//! Pickles written beside CPython's, which `golden/encode.py` wrote down; and whatever the values
//! are, they come back.

use std::path::{Path, PathBuf};

use num_bigint::BigInt;
use proptest::prelude::*;
use sconce_archive::Archive;
use sconce_pickle::{
    ArenaBuilder, CallKind, EncodeError, EncodeOptions, Limits, Value, encode, encode_into, load,
};
use sconce_source::Source;

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

// ---- PyTorch's files ----

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of fixtures")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The pickles that Python wrote into a file: none for other files, and TorchScript, which C++ wrote.
fn pickles_of(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).expect("a fixture");
    if bytes.starts_with(b"PK") {
        let source = Source::open(path).expect("a fixture");
        let Ok(archive) = Archive::open(source, &sconce_source::Limits::default()) else {
            return Vec::new();
        };
        if archive.contains("constants.pkl") || !archive.contains("data.pkl") {
            return Vec::new();
        }
        return vec![archive.read("data.pkl").expect("a record").to_vec()];
    }
    let mut rest = bytes.as_slice();
    let mut pickles = Vec::new();
    // A legacy file is five pickles and then storages.
    while rest.starts_with(b"\x80") && pickles.len() < 5 {
        let Ok(loaded) = load(rest, &Limits::default()) else { break };
        let (pickle, after) = rest.split_at(loaded.consumed);
        pickles.push(pickle.to_vec());
        rest = after;
    }
    pickles
}

#[test]
fn files_of_torch_come_out_as_they_were() {
    // Written by hand, with opcodes that no pickler chooses.
    const BY_HAND: &[&str] = &["exotic.pkl", "long4.pkl"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let mut paths = Vec::new();
    for folder in ["1.13", "2.15", "hand"] {
        files_below(&root.join(folder), &mut paths);
    }
    let (mut pickles, mut wrong) = (0, Vec::new());
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if BY_HAND.contains(&name) {
            continue;
        }
        for bytes in pickles_of(&path) {
            pickles += 1;
            let protocol = match bytes[..] {
                [0x80, protocol, ..] => protocol,
                _ => 1,
            };
            let found = again(&bytes, protocol);
            if found.as_ref() != Ok(&bytes) {
                wrong.push(format!("{}: {}", path.display(), difference(&found, &bytes)));
            }
        }
    }
    assert!(pickles > 150, "{pickles}");
    assert!(wrong.is_empty(), "{} of {pickles} wrong\n{}", wrong.len(), wrong.join("\n"));
}

// ---- values from nothing ----

#[test]
fn what_no_pickle_says() {
    let read = |bytes: &'static [u8]| {
        let loaded = load(bytes, &Limits::default()).expect("a pickle");
        move |protocol| {
            encode(&loaded.arena, loaded.root, &with_protocol(protocol))
                .err()
                .map(|error| error.to_string())
        }
    };
    let cases: &[(&'static [u8], u8, Option<&str>)] = &[
        (b"N.", 6, Some("pickle protocol must be <= 5, not 6")),
        (
            b"]U\x01aa.",
            2,
            Some(
                "a Python 2 str (value 1) cannot be written: decode it to str or bytes first, with the \
             encoding that the pickle was to be read with",
            ),
        ),
        (
            b"\x82\x05.",
            2,
            Some("extension code 5 cannot be written: put its module and name in its place"),
        ),
        (b"\x97.", 5, Some("out-of-band buffer 0 cannot be written: put its bytes in its place")),
        (
            b"(im\nC\n.",
            2,
            Some("an instance made by INST or OBJ (value 2) cannot be written by Python 3"),
        ),
        (b"]Nb.", 2, Some("APPEND, SETITEM or BUILD on value 0 (type list) cannot be written")),
        (
            b"cm\nC\nNb.",
            2,
            Some("APPEND, SETITEM or BUILD on value 0 (type object) cannot be written"),
        ),
        (
            b"cm\nC\n)}\x92.",
            3,
            Some(
                "an object made with keyword arguments (value 3) needs pickle protocol 4 or higher",
            ),
        ),
        (b"cm\nC\n)}\x92.", 1, None),
        (
            b"cm\n\xc3\xa9\n.",
            2,
            Some("can't pickle global identifier \"\u{e9}\" using pickle protocol 2"),
        ),
        (b"cm\n\xc3\xa9\n.", 3, None),
        (
            b"\x8c\x02a\n\x8c\x01b\x93.",
            3,
            Some("can't pickle module identifier \"a\\n\" using pickle protocol 3"),
        ),
        (
            b")Q.",
            0,
            Some(
                "the persistent id of value 1 cannot be written: protocol 0 has only strs and ints",
            ),
        ),
        (b")Q.", 1, None),
        (
            b"NQQ.",
            2,
            Some(
                "the persistent id of value 2 cannot be written: it is a persistent object itself",
            ),
        ),
    ];
    for &(bytes, protocol, expected) in cases {
        assert_eq!(read(bytes)(protocol).as_deref(), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn values_made_of_themselves() {
    let mut values = ArenaBuilder::new();
    let endless = values.reserve_call();
    let found = encode(values.arena(), endless, &with_protocol(2));
    assert!(matches!(found, Err(EncodeError::Endless(value)) if value == endless));

    // Through a tuple and a set, too, whose lists before protocol 4 are new each time.
    let class = values.global("m", "C");
    let set = values.set(vec![endless]).expect("a set");
    let args = values.tuple(&[set]);
    values.fill_call(endless, CallKind::Reduce, class, args, None).expect("a call");
    assert!(matches!(encode(values.arena(), set, &with_protocol(2)), Err(EncodeError::Endless(_))));
    encode(values.arena(), set, &with_protocol(4)).expect("a set is memoized at once there");
}

#[test]
fn cycles_that_would_grow_with_the_square() {
    for (count, fits) in [(1000, true), (1002, false)] {
        let mut values = ArenaBuilder::new();
        let lists: Vec<Value> = (0..count).map(|_| values.list(vec![])).collect();
        let knot = values.tuple(&lists);
        for &list in &lists {
            values.append(list, &[knot]).expect("a list");
        }
        let found = encode(values.arena(), knot, &with_protocol(2));
        match found {
            Ok(bytes) => {
                assert!(fits, "{count}");
                assert_eq!(again(&bytes, 2).as_ref(), Ok(&bytes));
            }
            Err(error) => {
                assert!(!fits && matches!(error, EncodeError::Recursion(_)), "{count}: {error}");
            }
        }
    }
}

#[test]
fn no_depth_is_too_much() {
    let mut values = ArenaBuilder::new();
    let mut list = values.list(vec![]);
    let mut tuple = values.tuple(&[list]);
    let class = values.global("m", "C");
    for _ in 0..200_000 {
        let args = values.tuple(&[tuple]);
        let call = values.new_obj(class, args).expect("a call");
        values.build(call, list).expect("a call");
        list = values.list(vec![call]);
        tuple = values.tuple(&[list]);
    }
    for protocol in 0..=5 {
        let bytes = encode(values.arena(), tuple, &with_protocol(protocol)).expect("a pickle");
        assert_eq!(again(&bytes, protocol), Ok(bytes), "{protocol}");
    }
}

/// One step in making values; the numbers pick among those made before.
#[derive(Clone, Debug)]
enum Make {
    None,
    Bool(bool),
    Int(i64),
    BigInt(Vec<u8>),
    Float(f64),
    Str(String),
    Lone(u16, String),
    Bytes(Vec<u8>),
    ByteArray(Vec<u8>),
    Global(usize),
    Tuple(Vec<usize>),
    List(Vec<usize>),
    Dict(Vec<usize>),
    Set(Vec<usize>, bool),
    PersistentId(usize),
    Call(u8, usize, Vec<usize>),
    Append(usize, Vec<usize>),
    SetItems(usize, Vec<usize>),
    Build(usize, usize),
}

const GLOBALS: &[(&str, &str)] = &[
    ("builtins", "set"),
    ("builtins", "bytearray"),
    ("_codecs", "encode"),
    ("collections", "OrderedDict"),
    ("torch", "Size"),
    ("m", "A"),
    ("m", "A.B"),
    ("m", "A.B.C"),
    ("other", "A"),
];

fn make() -> impl Strategy<Value = Make> {
    let some = || prop::collection::vec(any::<usize>(), 0..6);
    prop_oneof![
        1 => Just(Make::None),
        1 => any::<bool>().prop_map(Make::Bool),
        1 => any::<i64>().prop_map(Make::Int),
        1 => any::<i16>().prop_map(|number| Make::Int(number.into())),
        1 => prop::collection::vec(any::<u8>(), 8..300).prop_map(Make::BigInt),
        1 => any::<f64>().prop_map(Make::Float),
        1 => any::<String>().prop_map(Make::Str),
        1 => (0xd800u16..0xe000, any::<String>()).prop_map(|(lone, text)| Make::Lone(lone, text)),
        1 => prop::collection::vec(any::<u8>(), 0..4).prop_map(Make::Bytes),
        1 => prop::collection::vec(any::<u8>(), 250..260).prop_map(Make::Bytes),
        1 => prop::collection::vec(any::<u8>(), 0..4).prop_map(Make::ByteArray),
        1 => (0..GLOBALS.len()).prop_map(Make::Global),
        2 => some().prop_map(Make::Tuple),
        2 => some().prop_map(Make::List),
        2 => some().prop_map(Make::Dict),
        1 => (some(), any::<bool>()).prop_map(|(items, frozen)| Make::Set(items, frozen)),
        1 => any::<usize>().prop_map(Make::PersistentId),
        2 => (0u8..3, any::<usize>(), some()).prop_map(|(kind, at, args)| Make::Call(kind, at, args)),
        4 => (any::<usize>(), some()).prop_map(|(at, items)| Make::Append(at, items)),
        4 => (any::<usize>(), some()).prop_map(|(at, items)| Make::SetItems(at, items)),
        4 => (any::<usize>(), any::<usize>()).prop_map(|(at, state)| Make::Build(at, state)),
    ]
}

/// Makes the values. What cannot be is left out: a list as a key, a state for a number.
fn made(steps: &[Make]) -> (ArenaBuilder<'static>, Value) {
    let mut values = ArenaBuilder::new();
    let mut all = vec![values.none()];
    // Before protocol 4, sets in cycles have new lists each time; so they hold only these.
    let mut plain = vec![all[0]];
    let mut lists = Vec::new();
    let mut dicts = Vec::new();
    let mut calls = Vec::new();
    for step in steps {
        let pick = |from: &[Value], at: usize| from[at % from.len()];
        let picked = |at: &[usize]| at.iter().map(|&at| pick(&all, at)).collect::<Vec<Value>>();
        let pairs = |at: &[usize]| {
            let keys = at.iter().map(|&at| (pick(&plain, at), pick(&all, at / 7)));
            keys.collect::<Vec<_>>()
        };
        let before = values.arena().len();
        let new = match step {
            Make::None => values.none(),
            Make::Bool(truth) => values.bool(*truth),
            Make::Int(number) => values.int(*number),
            Make::BigInt(bytes) => values.big_int(BigInt::from_signed_bytes_le(bytes)),
            Make::Float(number) => values.float(*number),
            Make::Str(text) => values.str(text.clone()),
            Make::Lone(lone, text) => {
                let lone = [0xed, 0x80 | (lone >> 6 & 0x3f) as u8, 0x80 | (lone & 0x3f) as u8];
                let bytes = [text.as_bytes(), &lone, text.as_bytes()].concat();
                values.surrogate_str(Box::leak(bytes.into_boxed_slice())).expect("a surrogate")
            }
            Make::Bytes(bytes) => values.bytes(bytes.clone()),
            Make::ByteArray(bytes) => values.bytearray(bytes.clone()),
            Make::Global(at) => values.global(GLOBALS[*at].0, GLOBALS[*at].1),
            Make::Tuple(items) => values.tuple(&picked(items)),
            Make::List(items) => values.list(picked(items)),
            Make::Dict(entries) => values.dict(pairs(entries)).expect("plain keys"),
            Make::Set(items, frozen) => {
                let items: Vec<Value> = items.iter().map(|&at| pick(&plain, at)).collect();
                match frozen {
                    true => values.frozenset(&items).expect("plain items"),
                    false => values.set(items).expect("plain items"),
                }
            }
            Make::PersistentId(key) => {
                let key = values.str(format!("{key}"));
                values.persistent_id(key)
            }
            Make::Call(kind, at, args) => {
                let args = values.tuple(&picked(args));
                let (module, name) = GLOBALS[at % GLOBALS.len()];
                let class = values.global(module, name);
                match kind {
                    0 => values.reduce(class, args),
                    _ => values.new_obj(class, args),
                }
                .expect("a call")
            }
            Make::Append(at, items) => {
                if let Some(target) = [&lists[..], &calls[..]].concat().get(at % 8) {
                    values.append(*target, &picked(items)).expect("a list or call");
                }
                continue;
            }
            Make::SetItems(at, entries) => {
                if let Some(target) = [&dicts[..], &calls[..]].concat().get(at % 8) {
                    values.set_items(*target, &pairs(entries)).expect("a dict or call");
                }
                continue;
            }
            Make::Build(at, state) => {
                if let Some(target) = calls.get(at % 8) {
                    values.build(*target, pick(&all, *state)).expect("a call");
                }
                continue;
            }
        };
        match step {
            Make::List(_) => lists.push(new),
            Make::Dict(_) => dicts.push(new),
            Make::Call(..) => calls.push(new),
            Make::Tuple(_) | Make::Set(..) | Make::ByteArray(_) | Make::PersistentId(_) => {}
            _ => plain.push(new),
        }
        assert!(values.arena().len() > before || matches!(step, Make::Global(_)));
        all.push(new);
    }
    let everything = values.list(all);
    (values, everything)
}

proptest! {
    #[test]
    fn random_values_come_back(steps in prop::collection::vec(make(), 0..40)) {
        let (values, root) = made(&steps);
        let newest = encode(values.arena(), root, &with_protocol(5)).expect("a pickle");
        for protocol in 0..=5 {
            let bytes = encode(values.arena(), root, &with_protocol(protocol)).expect("a pickle");
            prop_assert_eq!(again(&bytes, protocol), Ok(bytes.clone()), "{}", protocol);
            // Protocol 5 says all.
            prop_assert_eq!(again(&newest, protocol), Ok(bytes), "5 to {}", protocol);
        }
    }
}
