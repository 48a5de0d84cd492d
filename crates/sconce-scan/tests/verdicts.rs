//! Verdicts of whole files: the fixtures, files put together here, and the promise behind "clean".

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use sconce_checkpoint::AllowList;
use sconce_pickle::{AllowAll, Machine, Node};
use sconce_scan::{Report, Rule, Verdict, scan};
use sconce_source::{Limits, Source};

fn files() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files")
}

fn scanned(path: &str) -> Report {
    let source = Source::open(files().join(path)).expect("a fixture");
    scan(&source, &Limits::default())
}

fn of(bytes: Vec<u8>) -> Report {
    scan(&Source::from_vec("file", bytes), &Limits::default())
}

#[test]
fn no_hostile_fixture_has_a_better_verdict_than_it_must() {
    let table = fs::read_to_string(files().join("bad/verdicts.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let (path, least) = line.split_once('\t').unwrap();
        let report = scanned(path);
        let order = ["clean", "unknown", "broken", "dangerous"];
        let place = |word: &str| order.iter().position(|known| *known == word).unwrap();
        rows += 1;
        let better = place(report.verdict.name()) < place(least);
        // The controls are there to show that the others are not dangerous for another reason.
        if better || least == "clean" && report.verdict != Verdict::Clean {
            wrong.push(format!("{path}: {} for {least}", report.verdict.name()));
        }
    }
    assert!(rows > 90, "{rows}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_pytorch_writes_is_read_and_runs_nothing() {
    let mut wrong = Vec::new();
    for folder in [
        "2.15/zip",
        "2.15/legacy",
        "2.15/torchscript",
        "1.13/zip",
        "1.13/legacy",
        "1.13/torchscript",
    ] {
        for entry in fs::read_dir(files().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let report = scan(&Source::open(&path).unwrap(), &Limits::default());
            let script = folder.ends_with("torchscript");
            if report.verdict > Verdict::Unknown || script && report.verdict != Verdict::Clean {
                wrong.push(format!("{}: {:?}", path.display(), report.findings.first()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_part_of_a_legacy_stream_is_named() {
    for (part, entry) in [
        ("magic", "magic number"),
        ("protocol", "protocol version"),
        ("system", "system info"),
        ("keys", "storage keys"),
    ] {
        let report = scanned(&format!("bad/trap_legacy_{part}.pt"));
        let finding = &report.findings[0];
        assert_eq!((finding.rule, &*finding.entry), (Rule::DangerousCall, entry));
        assert_eq!(finding.call.as_deref(), Some("os.getcwd()"));
    }
}

#[test]
fn a_shard_is_named() {
    let report = scanned("bad/trap_shard.bin.index.json");
    assert_eq!(report.findings[0].file.as_deref(), Some("trap_shard-00001-of-00001.bin"));
    assert_eq!(report.findings[0].entry, "a/data.pkl");
}

#[test]
fn what_is_nested_says_where() {
    let report = scanned("bad/trap_nested.pt");
    let finding = &report.findings[0];
    assert!(finding.entry.starts_with("a/data.pkl @ 0x"), "{}", finding.entry);
    assert!(finding.entry.ends_with(" → object"), "{}", finding.entry);
    assert_eq!(finding.call.as_deref(), Some("os.getcwd()"));
}

#[test]
fn nesting_is_looked_into_so_far_and_no_further() {
    let mut file = b"\x80\x02}.".to_vec();
    for _ in 0..10 {
        let mut outer = b"\x80\x02c_pickle\nloads\n(B".to_vec();
        outer.extend((file.len() as u32).to_le_bytes());
        outer.extend(&file);
        outer.extend(b"tR.");
        file = outer;
    }
    let report = of(file);
    assert!(report.findings.iter().any(|finding| finding.rule == Rule::NotRead));
    assert!(!report.complete());
}

/// A pickle behind a pickle, in which is one behind a pickle, and so on: nothing overflows the stack.
#[test]
fn trailing_pickles_within_trailing_pickles() {
    let mut file = b"\x80\x02cos\ngetcwd\n)R.".to_vec();
    for _ in 0..2_000 {
        let mut outer = b"\x80\x02N.\x80\x02c_pickle\nloads\n(B".to_vec();
        outer.extend((file.len() as u32).to_le_bytes());
        outer.extend(&file);
        outer.extend(b"tR.");
        file = outer;
    }
    let report = of(file);
    assert_eq!(report.verdict, Verdict::Dangerous);
    assert!(report.findings.iter().any(|finding| finding.rule == Rule::NotRead));
}

#[test]
fn what_the_loader_refuses_is_broken() {
    for (file, rule) in [
        ("bad/zip_version_11.pt", Rule::Unreadable),
        ("bad/zip_cut_half.pt", Rule::Unreadable),
        ("bad/tensor_size_outside.pt", Rule::DamagedValue),
        ("bad/pickle_no_stop.pt", Rule::BrokenPickle),
        ("hand/lookalike/error_page.pt", Rule::NotACheckpoint),
    ] {
        let report = scanned(file);
        assert_eq!(report.verdict, Verdict::Broken, "{file}");
        assert_eq!(report.findings[0].rule, rule, "{file}: {:?}", report.findings);
    }
}

/// Pieces of pickles: each pushes one value.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        Just(("collections", "OrderedDict")),
        Just(("torch", "Size")),
        Just(("torch._utils", "_rebuild_tensor_v2")),
        Just(("os", "getcwd")),
        Just(("builtins", "getattr")),
        Just(("mypackage", "Net")),
        Just(("torch.nn.modules.linear", "Linear")),
        Just(("functools", "partial")),
        Just(("collections", "OrderedDict.__init__")),
    ];
    let global = (name, any::<bool>()).prop_map(|((module, name), stacked)| {
        if stacked {
            let mut out = vec![0x8c, module.len() as u8];
            out.extend(module.as_bytes());
            out.extend([0x8c, name.len() as u8]);
            out.extend(name.as_bytes());
            out.push(0x93);
            out
        } else {
            format!("c{module}\n{name}\n").into_bytes()
        }
    });
    let leaf = prop_oneof![
        4 => Just(b"N".to_vec()),
        4 => any::<u8>().prop_map(|number| vec![b'K', number]),
        4 => Just(b"X\x01\0\0\0a".to_vec()),
        3 => global,
        1 => Just(b"\x82\x07".to_vec()),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let many = proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            many.clone().prop_map(|parts| [b"(".to_vec(), parts.concat(), b"t".to_vec()].concat()),
            many.clone().prop_map(|parts| [b"](".to_vec(), parts.concat(), b"e".to_vec()].concat()),
            // A call; what is no callable breaks the pickle off.
            (inner.clone(), many.clone()).prop_map(|(called, parts)| {
                [called, b"(".to_vec(), parts.concat(), b"tR".to_vec()].concat()
            }),
            (inner.clone(), inner.clone()).prop_map(|(made, state)| {
                [made, b")\x81".to_vec(), state, b"b".to_vec()].concat()
            }),
            // A value that is dropped, and one that comes from the memo.
            (inner.clone(), inner.clone())
                .prop_map(|(gone, kept)| [gone, b"0".to_vec(), kept].concat()),
            inner.clone().prop_map(|value| [value, b"q\x01h\x01\x86".to_vec()].concat()),
            many.prop_map(
                |parts| [b"(".to_vec(), parts.concat(), b"imypackage\nMade\n".to_vec()].concat()
            ),
        ]
    })
}

/// Puts a pickle where a loader, or somebody else, would unpickle it.
fn placed(body: &[u8], place: usize) -> Vec<u8> {
    let pickle = [b"\x80\x04", body, b"."].concat();
    let plain: &[u8] = b"\x80\x02}.";
    let magic: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let protocol: &[u8] = b"\x80\x02M\xe9\x03.";
    let dropped = |plain: &[u8]| [b"\x80\x04", body, b"0", &plain[2..]].concat();
    match place {
        0 => pickle,
        1 => zip(&[("a/data.pkl", &pickle), ("a/version", b"3\n")]),
        2 => zip(&[("a/data.pkl", plain), ("a/notes", &pickle), ("a/version", b"3\n")]),
        3 => [&dropped(magic), protocol, plain, plain, b"\x80\x02]."].concat(),
        4 => [magic, &dropped(protocol), plain, plain, b"\x80\x02]."].concat(),
        5 => [magic, protocol, plain, &pickle, b"\x80\x02]."].concat(),
        6 => [plain, &pickle].concat(),
        7 => {
            let mut out = b"\x80\x04ctorch.storage\n_load_from_bytes\n(B".to_vec();
            out.extend((pickle.len() as u32).to_le_bytes());
            [out, pickle, b"tR.".to_vec()].concat()
        }
        _ => zip(&[("a/data.pkl", plain), ("a/constants.pkl", &pickle), ("a/version", b"3\n")]),
    }
}

/// A zip file of stored members without checksums.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let (at, size) = (out.len() as u32, data.len() as u32);
        let mut header = Vec::new();
        header.extend([0u8; 2]);
        header.extend([0; 2]);
        header.extend([0; 4]);
        header.extend([0; 4]);
        header.extend(size.to_le_bytes());
        header.extend(size.to_le_bytes());
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0; 2]);
        out.extend(b"PK\x03\x04\x14\0");
        out.extend(&header);
        out.extend(name.as_bytes());
        out.extend(*data);
        directory.extend(b"PK\x01\x02\x14\0\x14\0");
        directory.extend(&header);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size, count) = (out.len() as u32, directory.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// Whether an unpickler comes to a name that PyTorch's list does not have, before the pickle breaks off.
fn reaches_outside(pickle: &[u8]) -> bool {
    let mut machine = Machine::new(pickle, &sconce_pickle::Limits::default());
    while let Ok(None) = machine.step(&mut AllowAll) {}
    let arena = machine.arena();
    arena.values().any(|value| match arena.node(value) {
        Node::Extension(_) => true,
        Node::Global(global) => {
            !AllowList::contains_by_default(&format!("{}.{}", global.module, global.name))
        }
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a pickle does and wherever it stands: a file that names what PyTorch's list does not have
    /// is never clean.
    #[test]
    fn nothing_outside_the_list_is_clean(body in value(), place in 0usize..9) {
        let report = of(placed(&body, place));
        if reaches_outside(&[b"\x80\x04", &body[..], b"."].concat()) {
            prop_assert_ne!(report.verdict, Verdict::Clean, "place {}: {:?}", place, report);
        }
    }

    /// No bytes make a scan panic or go on without end.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), place in 0usize..9) {
        of(placed(&bytes, place));
        of(bytes);
    }
}

/// A zip file of one stored member, whose directory and local header have these flags and methods.
fn zip_of_lies(data: &[u8], flags: u16, central: u16, local: u16) -> Vec<u8> {
    let name = b"a/data.pkl";
    let mut out = b"PK\x03\x04\x14\0".to_vec();
    let len = (data.len() as u32).to_le_bytes();
    let names = (name.len() as u16).to_le_bytes();
    let fields = |method: u16| {
        let mut fields = flags.to_le_bytes().to_vec();
        fields.extend(method.to_le_bytes());
        fields.extend([0; 8]);
        fields.extend(len);
        fields.extend(len);
        fields.extend(names);
        fields.extend([0; 2]);
        fields
    };
    out.extend(fields(local));
    out.extend(name);
    out.extend(data);
    let directory = out.len() as u32;
    out.extend(b"PK\x01\x02\x14\0\x14\0");
    out.extend(fields(central));
    out.extend([0; 14]);
    out.extend(name);
    let size = out.len() as u32 - directory;
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(size.to_le_bytes());
    out.extend(directory.to_le_bytes());
    out.extend([0; 2]);
    out
}

#[test]
fn members_behind_bogus_flags_are_judged_all_the_same() {
    let payload = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.";
    for (flags, central, local) in [
        (0x1, 0, 0),
        (0x20, 0, 0),
        (0x40, 0, 0),
        (0x2000, 0, 0),
        (0, 8, 0),
        (0, 0, 8),
        (0, 99, 99),
        (0x8, 0, 0),
    ] {
        let report = of(zip_of_lies(payload, flags, central, local));
        assert_eq!(report.verdict, Verdict::Dangerous, "{flags:#x} {central} {local}");
        let harmless = of(zip_of_lies(b"\x80\x02}.", flags, central, local));
        assert!(harmless.verdict > Verdict::Clean, "{flags:#x} {central} {local}");
        assert!(harmless.verdict < Verdict::Dangerous, "{flags:#x} {central} {local}");
    }
}

#[test]
fn packed_pickles_are_looked_into() {
    let payload = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.";
    // A stored block of deflate.
    let stored = |data: &[u8]| {
        let len = data.len() as u16;
        [&[1][..], &len.to_le_bytes(), &(!len).to_le_bytes(), data].concat()
    };
    let gzip = |data: &[u8], flags: u8, fields: &[u8]| {
        [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 0][..], fields, &stored(data), &[0; 8]].concat()
    };
    for packed in [
        [&[0x78, 0x9c][..], &stored(payload), &[0; 4]].concat(),
        gzip(payload, 0, b""),
        gzip(payload, 8, b"model.pkl\0"),
        gzip(payload, 4 + 2, b"\x02\0ab\0\0"),
    ] {
        let report = of(packed);
        assert_eq!(report.verdict, Verdict::Dangerous);
        assert_eq!(report.findings[0].call.as_deref(), Some("os.system('ls')"));
    }
    let harmless = of(gzip(b"\x80\x02}.", 0, b""));
    assert_eq!(harmless.verdict, Verdict::Unknown);
    let broken = of(gzip(b"\x80\x02}", 0, b""));
    assert_eq!(broken.verdict, Verdict::Broken);
}

#[test]
fn a_value_that_crosses_the_end_of_its_frame_is_dangerous() {
    // A frame of some length, and in it bytes that hold a call: a file-like reader without peek drops what is left
    // of the frame, and finds other opcodes.
    let framed = |length: u64, body: &[u8]| {
        let mut pickle = b"\x80\x04\x95".to_vec();
        pickle.extend(length.to_le_bytes());
        pickle.extend(body);
        pickle
    };
    let bytes = b"B\x04\x00\x00\x00abcd.";
    for length in [1, 2, 5, 8] {
        let report = of(framed(length, bytes));
        assert_eq!(report.verdict, Verdict::Dangerous, "{length}: {:?}", report.findings);
        assert_eq!(report.findings[0].rule, Rule::CrossedFrame);
    }
    // To the end of the value, and of the pickle.
    for length in [0, 9, 10] {
        assert_eq!(of(framed(length, bytes)).verdict, Verdict::Clean, "{length}");
    }
    // A frame within a frame that goes beyond it; two frames in a row.
    let nested = framed(12, &framed(4, b"NN0.")[2..]);
    assert_eq!(of(nested).verdict, Verdict::Dangerous);
    let mut both = framed(2, b"N0");
    both.extend(&framed(2, b"N.")[2..]);
    assert_eq!(of(both).verdict, Verdict::Clean);
}

/// A file by `joblib/generate.py`.
fn joblib(name: &str) -> Report {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/joblib");
    let source = Source::open(folder.join(name).with_extension("joblib")).expect("a file");
    scan(&source, &Limits::default())
}

#[test]
fn arrays_of_joblib_are_read_as_joblib_reads_them() {
    for name in ["numbers", "packed", "fields", "objects"] {
        let report = joblib(name);
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {:?}", report.findings);
        let names = report.findings.iter().filter_map(|finding| finding.global.as_deref());
        assert!(names.clone().any(|name| name.contains("NumpyArrayWrapper")), "{name}");
    }
    for name in ["call_in_objects", "call_behind"] {
        let report = joblib(name);
        assert_eq!(report.verdict, Verdict::Dangerous, "{name}: {:?}", report.findings);
        let call = report.findings.iter().find_map(|finding| finding.call.as_deref());
        assert!(call.is_some_and(|call| call.ends_with("getcwd()")), "{name}: {call:?}");
    }
}

/// An object that describes 32 numbers of a byte, without a word on alignment, and what follows it.
fn described(behind: &[u8]) -> Vec<u8> {
    let head = b"\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}(X\x05\0\0\0shapeK\x20\x85\
        X\x05\0\0\0dtypecnumpy\ndtype\nX\x02\0\0\0u1K\0K\x01\x87Rub";
    [head, behind].concat()
}

#[test]
fn numbers_of_joblib_are_opcodes_to_others() {
    // pickle.load runs the numbers, joblib.load does not.
    let mut numbers = b"cos\ngetcwd\n)R.".to_vec();
    numbers.resize(32, b' ');
    assert_eq!(of(described(&[&numbers[..], b"."].concat())).verdict, Verdict::Dangerous);
    let harmless = [0xff; 32];
    assert_eq!(of(described(&[&harmless[..], b"."].concat())).verdict, Verdict::Unknown);
    // What the numbers hide from pickle.load is run by joblib.load.
    let behind = [&harmless[..], b"0cos\ngetcwd\n)R."].concat();
    assert_eq!(of(described(&behind)).verdict, Verdict::Dangerous);
    // Fewer numbers than the object says.
    assert_eq!(of(described(&harmless[..20])).verdict, Verdict::Broken);
    // A pickle that ends for pickle.load where numbers begin, and goes on for joblib.load.
    let mut ends = vec![b'.'];
    ends.resize(32, b' ');
    let both = [&ends[..], b"0cos\ngetcwd\n)R."].concat();
    assert_eq!(of(described(&both)).verdict, Verdict::Dangerous);
}
