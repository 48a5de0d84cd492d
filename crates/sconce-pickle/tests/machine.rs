//! What each opcode does, beside what CPython's C unpickler does with the same bytes.

use sconce_pickle::{
    Arena, CallKind, Error, ErrorKind, Limits, Loaded, Machine, Node, OpcodeInfo, Policy, Refusal,
    Value, load, load_with, opcode, repr,
};

/// Writes a value as Python would its `repr`; opaque ones in a notation of this test.
fn show(arena: &Arena<'_>, value: Value) -> String {
    let mut out = String::new();
    write(&mut out, arena, value);
    out
}

fn write_all(out: &mut String, arena: &Arena<'_>, values: &[Value]) {
    for (place, &value) in values.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        write(out, arena, value);
    }
}

fn write(out: &mut String, arena: &Arena<'_>, value: Value) {
    let mut around = |open: &str, values: &[Value], close: &str| {
        out.push_str(open);
        write_all(out, arena, values);
        out.push_str(close);
    };
    match arena.node(value) {
        Node::None => out.push_str("None"),
        Node::Bool(true) => out.push_str("True"),
        Node::Bool(false) => out.push_str("False"),
        Node::Int(number) => out.push_str(&number.to_string()),
        Node::BigInt(number) => out.push_str(&number.to_string()),
        Node::Float(number) => repr::write_float(out, *number),
        Node::Str(text) => repr::write_str(out, text),
        Node::SurrogateStr(bytes) => repr::write_wtf8(out, bytes),
        Node::ByteStr(bytes) => {
            out.push_str("py2");
            repr::write_bytes(out, bytes);
        }
        Node::Bytes(bytes) => repr::write_bytes(out, bytes),
        Node::ByteArray(bytes) => repr::write_bytearray(out, bytes),
        Node::Tuple(items) => around("(", arena.items(*items), ")"),
        Node::List(items) => around("[", items, "]"),
        Node::Set(items) => around("set(", items, ")"),
        Node::FrozenSet(items) => around("frozenset(", arena.items(*items), ")"),
        Node::Dict(entries) => {
            let flat: Vec<_> = entries.iter().flat_map(|&(key, value)| [key, value]).collect();
            around("{", &flat, "}");
        }
        Node::Global(global) => out.push_str(&format!("{}.{}", global.module, global.name)),
        Node::Extension(code) => out.push_str(&format!("ext{code}")),
        Node::PersistentId(pid) => around("pid(", &[*pid], ")"),
        Node::Buffer { index, readonly } => out.push_str(&format!("buffer{index} {readonly}")),
        Node::Call(call) => {
            around(&format!("{:?}(", call.kind), &[call.callable, call.args], ")");
            if let Some(kwargs) = call.kwargs {
                write(out, arena, kwargs);
            }
        }
        _ => out.push('?'),
    }
    if let Some(updates) = arena.updates(value) {
        out.push_str("{states ");
        write_all(out, arena, &updates.states);
        out.push_str("; items ");
        write_all(out, arena, &updates.items);
        out.push_str("; entries ");
        let flat: Vec<_> = updates.entries.iter().flat_map(|&(key, value)| [key, value]).collect();
        write_all(out, arena, &flat);
        out.push('}');
    }
}

fn outcome(bytes: &[u8]) -> Result<String, String> {
    match load(bytes, &Limits::default()) {
        Ok(loaded) => Ok(show(&loaded.arena, loaded.root)),
        Err(error) => Err(error.to_string()),
    }
}

type Case = (&'static [u8], &'static str);

fn check_values(cases: &[Case]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|&(bytes, want)| {
            let got = outcome(bytes);
            (got.as_deref() != Ok(want)).then(|| format!("{bytes:?}: {got:?}, not {want:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check_errors(cases: &[Case]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|&(bytes, want)| {
            let got = outcome(bytes);
            (got.as_ref().err().map(String::as_str) != Some(want))
                .then(|| format!("{bytes:?}: {got:?}, not {want:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn numbers() {
    check_values(&[
        (b"N.", "None"),
        (b"\x88.", "True"),
        (b"\x89.", "False"),
        (b"K\xff.", "255"),
        (b"M\xff\xff.", "65535"),
        (b"J\xff\xff\xff\xff.", "-1"),
        (b"\x8a\x00.", "0"),
        (b"\x8a\x01\xff.", "-1"),
        (b"\x8a\x02\xff\x00.", "255"),
        (b"\x8a\x09\0\0\0\0\0\0\0\x80\0.", "9223372036854775808"),
        (b"\x8b\x02\0\0\0\x00\x80.", "-32768"),
        (b"I00\n.", "False"),
        (b"I01\n.", "True"),
        (b"I1\n.", "1"),
        (b"I000\n.", "0"),
        (b"I010\n.", "8"),
        (b"I0x10\n.", "16"),
        (b"I0b11\n.", "3"),
        (b"I1_000\n.", "1000"),
        (b"I 12 \n.", "12"),
        (b"I12\r\n.", "12"),
        (b"I1\x002\n.", "1"),
        (b"I99999999999999999999\n.", "99999999999999999999"),
        (b"L0L\n.", "0"),
        (b"L1_0L\n.", "10"),
        (b"L 10 L\n.", "10"),
        (b"L0o17\n.", "15"),
        (b"F1.5\n.", "1.5"),
        (b"F-Infinity\n.", "-inf"),
        (b"F+nan\n.", "nan"),
        (b"G\x3f\xf8\0\0\0\0\0\0.", "1.5"),
    ]);
    check_errors(&[
        (b"I12abc\n.", "could not convert string to int"),
        (b"I01 \n.", "could not convert string to int"),
        (b"I\n.", "pickle data was truncated"),
        (b"L007L\n.", "invalid literal for int() with base 0: '007'"),
        (b"F 1.5\n.", "could not convert string to float"),
        (b"F1_0.0\n.", "could not convert string to float"),
        (b"F1e400\n.", "value too large to convert to float: '1e400'"),
        (b"F\n.", "pickle data was truncated"),
        (b"\x8b\xff\xff\xff\xff.", "LONG pickle has negative byte count"),
        (b"\x8b\xff\xff\xff\x7f.", "pickle data was truncated"),
        (b"\x8a\x05a.", "pickle data was truncated"),
    ]);
    let long = [b"L".as_slice(), &[b'1'; 4301], b"L\n."].concat();
    assert!(outcome(&long).expect_err("long").starts_with("Exceeds the limit (4300 digits)"));
    assert!(outcome(&[b"L".as_slice(), &[b'1'; 4300], b"L\n."].concat()).is_ok());
}

#[test]
fn texts_and_bytes() {
    check_values(&[
        (b"X\x03\0\0\0\xe2\x82\xac.", "'€'"),
        (b"\x8c\x01a.", "'a'"),
        (b"\x8d\x01\0\0\0\0\0\0\0a.", "'a'"),
        (b"X\x03\0\0\0\xed\xa0\x80.", "'\\ud800'"),
        (b"X\x06\0\0\0\xed\xa0\xbd\xed\xb8\x80.", "'\\ud83d\\ude00'"),
        (b"Va\\u00e9\\n\n.", "'aé\\\\n'"),
        (b"V\\ud800\n.", "'\\ud800'"),
        (b"V\n.", "''"),
        (b"S'it's'\n.", "py2b\"it's\""),
        (b"S\"a\\x41\\n\"\n.", "py2b'aA\\n'"),
        (b"U\x01\xff.", "py2b'\\xff'"),
        (b"T\x01\0\0\0\xff.", "py2b'\\xff'"),
        (b"C\x01\xff.", "b'\\xff'"),
        (b"B\x01\0\0\0\xff.", "b'\\xff'"),
        (b"\x8e\x01\0\0\0\0\0\0\0\xff.", "b'\\xff'"),
        (b"\x96\x01\0\0\0\0\0\0\0\xff.", "bytearray(b'\\xff')"),
        (b"\x97\x97\x98.", "buffer1 true"),
    ]);
    check_errors(&[
        (
            b"X\x01\0\0\0\xff.",
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b"X\x05\0\0\0ab", "pickle data was truncated"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.", "pickle data was truncated"),
        (b"T\xff\xff\xff\xff.", "pickle data was truncated"),
        (b"Sabc\n.", "the STRING opcode argument must be quoted"),
        (b"S'\n.", "the STRING opcode argument must be quoted"),
        (b"S'a'\r\n.", "the STRING opcode argument must be quoted"),
        (b"S'\\x4'\n.", "invalid \\x escape at position 0"),
        (b"S'a\\'\n.", "Trailing \\ in string"),
        (
            b"V\\u12\n.",
            "'rawunicodeescape' codec can't decode bytes in position 0-3: truncated \\uXXXX escape",
        ),
        (b"\x98.", "unpickling stack underflow"),
        (b"N\x98.", "READONLY_BUFFER needs an out-of-band buffer, not 'NoneType'"),
    ]);
}

#[test]
fn containers() {
    check_values(&[
        (b").", "()"),
        (b"K\x01\x85.", "(1)"),
        (b"K\x01K\x02\x86.", "(1, 2)"),
        (b"K\x01K\x02K\x03\x87.", "(1, 2, 3)"),
        (b"(K\x01K\x02t.", "(1, 2)"),
        (b"(t.", "()"),
        (b"].", "[]"),
        (b"(K\x01l.", "[1]"),
        (b"]K\x01a.", "[1]"),
        (b"](K\x01K\x02e.", "[1, 2]"),
        (b"](e.", "[]"),
        (b"}.", "{}"),
        (b"(K\x01K\x02d.", "{1, 2}"),
        (b"}K\x01K\x02s.", "{1, 2}"),
        (b"}(K\x01K\x02K\x01K\x03u.", "{1, 2, 1, 3}"),
        (b"\x8f.", "set()"),
        (b"\x8f(K\x01K\x02\x90.", "set(1, 2)"),
        (b"(K\x01\x91.", "frozenset(1)"),
        (b"\x96\x01\0\0\0\0\0\0\0aK\x62a.", "bytearray(b'ab')"),
        (b"\x96\x01\0\0\0\0\0\0\0a(K\x62\x88e.", "bytearray(b'ab\\x01')"),
        (b"\x96\x01\0\0\0\0\0\0\0aK\0K\x62s.", "bytearray(b'b')"),
        (b"]NaK\0K\x05s.", "[5]"),
        (b"](K\x01K\x02eJ\xff\xff\xff\xffK\x05s.", "[1, 5]"),
        // Nothing added to anything is nothing wrong.
        (b"N(e.", "None"),
        (b"N(u.", "None"),
        (b"N(\x90.", "None"),
    ]);
    check_errors(&[
        (b"\x85.", "unpickling stack underflow"),
        (b"N\x86.", "unpickling stack underflow"),
        (b"N(\x85.", "unexpected MARK found"),
        (b"N(N\x86.", "unexpected MARK found"),
        (b"t.", "could not find MARK"),
        (b"l.", "could not find MARK"),
        (b"d.", "could not find MARK"),
        (b"]Ne.", "could not find MARK"),
        (b"(Ne.", "unpickling stack underflow"),
        (b"Na.", "unpickling stack underflow"),
        (b"](Na.", "unexpected MARK found"),
        (b"K\x01K\x02a.", "'int' object has no attribute 'append'"),
        (b")Na.", "'tuple' object has no attribute 'append'"),
        (b"}Na.", "'dict' object has no attribute 'append'"),
        (b"\x8fNa.", "'set' object has no attribute 'append'"),
        (b"\x96\x01\0\0\0\0\0\0\0aNa.", "'NoneType' object cannot be interpreted as an integer"),
        (b"\x96\x01\0\0\0\0\0\0\0aM\0\x01a.", "byte must be in range(0, 256)"),
        (b"](N\x90.", "'list' object has no attribute 'add'"),
        (b"(\x91(N\x90.", "'frozenset' object has no attribute 'add'"),
        (b"(Nd.", "odd number of items for DICT"),
        (b"}(NNNu.", "odd number of items for SETITEMS"),
        (b"}Ns.", "unpickling stack underflow"),
        (b"}(NNs.", "unexpected MARK found"),
        (b"}]Ns.", "unhashable type: 'list'"),
        (b"(]Nd.", "unhashable type: 'list'"),
        (b"\x8f(]\x90.", "unhashable type: 'list'"),
        (b")K\0Ns.", "'tuple' object does not support item assignment"),
        (b"C\x01aK\0K\x05s.", "'bytes' object does not support item assignment"),
        (b"]K\0Ns.", "list assignment index out of range"),
        (b"]NaNK\0s.", "list indices must be integers or slices, not NoneType"),
    ]);
}

#[test]
fn stack_and_memo() {
    check_values(&[
        (b"NN.", "None"),
        (b"K\x01K\x000.", "1"),
        (b"N(0.", "None"),
        (b"N(NN1.", "None"),
        (b"(N00N.", "None"),
        (b"K\x01q\0K\x02h\0.", "1"),
        (b"K\x01r\xff\xff\xff\xffK\x02j\xff\xff\xff\xff.", "1"),
        (b"K\x01p7\nK\x02g7\n.", "1"),
        (b"Np1_0\ng10\n.", "None"),
        (b"K\x01\x94K\x02\x94h\x01.", "2"),
        // MEMOIZE numbers by how many slots are in use.
        (b"Nq\x05K\x07\x94h\x01.", "7"),
        (b"K\x01q\x01K\x07\x94h\x01.", "7"),
        (b"Nq\0K\x01q\0h\0.", "1"),
    ]);
    check_errors(&[
        (b".", "unpickling stack underflow"),
        (b"(.", "unexpected MARK found"),
        (b"N(.", "unexpected MARK found"),
        (b"0.", "unpickling stack underflow"),
        (b"2.", "unpickling stack underflow"),
        (b"N(2.", "unexpected MARK found"),
        (b"N1.", "could not find MARK"),
        (b"h\x05.", "Memo value not found at index 5"),
        (b"j\x05\0\0\0.", "Memo value not found at index 5"),
        (b"g-1\n.", "Memo value not found at index -1"),
        (b"Np-1\n.", "negative PUT argument"),
        (b"gx\n.", "invalid literal for int() with base 10: 'x'"),
        (b"Np99999999999999999999\n.", "Python int too large to convert to C ssize_t"),
        (b"q\0.", "unpickling stack underflow"),
        (b"(q\0.", "unexpected MARK found"),
        (b"\x94.", "unpickling stack underflow"),
    ]);
}

#[test]
fn names_and_calls() {
    check_values(&[
        (b"cos\nsystem\n.", "os.system"),
        (b"\x8c\x01m\x8c\x03a.b\x93.", "m.a.b"),
        (b"U\x01mU\x01n\x93.", "m.n"),
        (b"Vm\\u0041\nVn\n\x93.", "mA.n"),
        (b"\x82\x01.", "ext1"),
        (b"\x83\0\x01.", "ext256"),
        (b"\x84\0\0\x01\0.", "ext65536"),
        (b"cm\nf\nK\x01\x85R.", "Reduce(m.f, (1))"),
        // TorchScript's pickler does not wrap the argument of an enum.
        (b"cm\nf\nK\x01R.", "Reduce(m.f, 1)"),
        (b"cm\nf\n)\x81.", "NewObj(m.f, ())"),
        (b"cm\nf\n)}\x92.", "NewObjEx(m.f, ()){}"),
        (b"(K\x01im\nf\n.", "Inst(m.f, (1))"),
        (b"(cm\nf\nK\x01o.", "Obj(m.f, (1))"),
        (b"N(K\x01im\nf\n\x86.", "(None, Inst(m.f, (1)))"),
        (b"Pabc\n.", "pid('abc')"),
        (b"P\n.", "pid('')"),
        (b"K\x01Q.", "pid(1)"),
    ]);
    check_errors(&[
        (b"c\n\n.", "pickle data was truncated"),
        (b"cm\nf", "pickle data was truncated"),
        (b"c\xff\nY\n.", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"K\x01\x8c\x01Y\x93.", "STACK_GLOBAL requires str"),
        (b"\x8c\x01x\x93.", "unpickling stack underflow"),
        (b"V\\ud800\n\x8c\x01Y\x93.", "STACK_GLOBAL requires str"),
        (b"\x82\0.", "EXT specifies code <= 0"),
        (b"\x84\xff\xff\xff\xff.", "EXT specifies code <= 0"),
        (b"K\x01)R.", "'int' object is not callable"),
        (b")R.", "unpickling stack underflow"),
        (b"cx\nY\n()R.", "unexpected MARK found"),
        (b"K\x01)\x81.", "NEWOBJ class argument must be a type, not int"),
        (b"cx\nY\nN\x81.", "NEWOBJ args argument must be a tuple, not NoneType"),
        (b"K\x01)}\x92.", "NEWOBJ_EX class argument must be a type, not int"),
        (b"cx\nY\n]}\x92.", "NEWOBJ_EX args argument must be a tuple, not list"),
        (b"cx\nY\n)N\x92.", "NEWOBJ_EX kwargs argument must be a dict, not NoneType"),
        (b"ix\nY\n.", "could not find MARK"),
        (b"o.", "could not find MARK"),
        (b"(o.", "unpickling stack underflow"),
        (b"((o.", "unexpected MARK found"),
        (b"(K\x01o.", "'int' object is not callable"),
        (b"P\xe9\n.", "persistent IDs in protocol 0 must be ASCII strings"),
        (b"Q.", "unpickling stack underflow"),
    ]);
}

#[test]
fn updates_are_kept_wherever_they_land() {
    check_values(&[
        (b"cm\nf\n)R}b.", "Reduce(m.f, ()){states {}; items ; entries }"),
        (b"cm\nf\n)RK\x01bK\x02b.", "Reduce(m.f, ()){states 1, 2; items ; entries }"),
        (b"cm\nf\n)RK\x01a(K\x02e(K\x03\x90.", "Reduce(m.f, ()){states ; items 1, 2, 3; entries }"),
        (b"cm\nf\n)RK\x01K\x02s(]K\x03u.", "Reduce(m.f, ()){states ; items ; entries 1, 2, [], 3}"),
        (b"cm\nf\nK\x01b.", "m.f{states 1; items ; entries }"),
        (b"NQK\x01a.", "pid(None){states ; items 1; entries }"),
        (b"\x82\x01K\x01K\x02s.", "ext1{states ; items ; entries 1, 2}"),
        (b"}K\x01b.", "{}{states 1; items ; entries }"),
        (b"]K\x01b.", "[]{states 1; items ; entries }"),
        // CPython has nothing to do for the state None.
        (b"K\x01Nb.", "1"),
    ]);
    check_errors(&[
        (b"Nb.", "unpickling stack underflow"),
        (b"(}b.", "unexpected MARK found"),
        (b"K\x01}b.", "'int' object has no attribute '__dict__'"),
        (b"NK\x01b.", "state is not a dictionary"),
    ]);
}

#[test]
fn the_pickle_itself() {
    check_values(&[
        (b"\x80\x05N.", "None"),
        (b"N0\x80\x03N.", "None"),
        (b"\x95\0\0\0\0\0\0\0\0N.", "None"),
        (b"\x95\x03\0\0\0\0\0\0\0N.xx", "None"),
    ]);
    check_errors(&[
        (b"", "Ran out of input"),
        (b"N", "Ran out of input"),
        (b"K", "pickle data was truncated"),
        (b"\x80\x06N.", "unsupported pickle protocol: 6"),
        (b"\x95\x03\0\0\0\0\0\0\0N.", "pickle data was truncated"),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "pickle data was truncated"),
        (b"z", "invalid load key, 'z'."),
        (b"\xff", "invalid load key, '\\xff'."),
    ]);
    let loaded = load(b"\x80\x02\x80\x04\x80\x03N.tail", &Limits::default()).expect("valid");
    assert_eq!((loaded.consumed, loaded.protocol), (8, 4));
}

#[test]
fn identity_and_cycles() {
    // l = [1]; (l, l, l) and l.append(l)
    let Loaded { arena, root, .. } =
        load(b"]q\0K\x01ah\0a2h\0\x87.", &Limits::default()).expect("valid");
    let items = arena.tuple(root).expect("a tuple");
    assert!(items.iter().all(|&item| item == items[0]));
    let Node::List(list) = arena.node(items[0]) else { panic!("a list") };
    assert_eq!(list[1], items[0]);
    assert_eq!(arena.offset(items[0]), 0);
    assert_eq!(arena.offset(list[0]), 3);
    assert_eq!(arena.offset(root), 12);
}

#[test]
fn offsets_of_errors() {
    let cases: &[(&[u8], u64, ErrorKind)] = &[
        (b"N\xff", 1, ErrorKind::UnknownOpcode),
        (b"NX\x05\0\0\0ab", 1, ErrorKind::Truncated),
        (b"N", 1, ErrorKind::Exhausted),
        (b"Nt", 1, ErrorKind::NoMark),
        (b"N\x86", 1, ErrorKind::Underflow),
        (b"Nh\0", 1, ErrorKind::MemoMissing),
        (b"NIx\n", 1, ErrorKind::BadText),
        (b"N\x80\x09", 1, ErrorKind::BadArgument),
        (b"NNa", 2, ErrorKind::NotApplicable),
    ];
    for &(bytes, at, kind) in cases {
        let error = load(bytes, &Limits::default()).expect_err("broken");
        assert_eq!((error.offset(), error.kind()), (at, kind), "{bytes:?}");
    }
    assert_eq!(
        load(b"NX\x05\0\0\0ab", &Limits::default()).expect_err("cut"),
        Error::Truncated { at: 1, needed: 5, left: 2 }
    );
}

#[test]
fn limits_hold() {
    let limits = Limits::default().with_max_values(3).with_max_memo(2);
    assert!(load(b"NNN.", &limits).is_ok());
    assert_eq!(
        load(b"NNNN.", &limits).expect_err("too many"),
        Error::Limit { at: 3, what: "values", limit: 3 }
    );
    assert!(load(b"Nq\0q\x01q\x01q\0.", &limits).is_ok());
    assert_eq!(
        load(b"Nq\0q\x01q\x02.", &limits).expect_err("too many"),
        Error::Limit { at: 5, what: "memo slots", limit: 2 }
    );
}

#[test]
fn hostile_pickles_stay_cheap() {
    let bytes = 1 << 20;
    let repeat = |unit: &[u8]| unit.repeat(bytes / unit.len());
    let mut deep = repeat(b"\x85");
    deep.insert(0, b')');
    deep.push(b'.');
    let Loaded { arena, root, .. } = load(&deep, &Limits::default()).expect("deep, but fine");
    assert_eq!(arena.offset(root), bytes as u64);
    drop(arena);

    assert_eq!(
        load(&repeat(b"("), &Limits::default()).expect_err("cut").kind(),
        ErrorKind::Exhausted
    );
    let mut spam = repeat(b"2");
    spam.insert(0, b'N');
    assert_eq!(load(&spam, &Limits::default()).expect_err("cut").kind(), ErrorKind::Exhausted);

    // One long name with an escape, named again and again.
    let mut names = [b"V\\u0041".as_slice(), &[b'a'; 100_000], b"\nq\0"].concat();
    names.extend(b"h\0h\0\x93".repeat(100_000));
    let error = load(&names, &Limits::default()).expect_err("too much copied");
    assert_eq!(error.kind(), ErrorKind::Limit);

    // Far memo slots, as many as fit.
    let mut far = vec![b'N'];
    for slot in 0..100_000u32 {
        far.push(b'r');
        far.extend((u32::MAX - slot * 7).to_le_bytes());
    }
    far.push(b'.');
    assert!(load(&far, &Limits::default()).is_ok());
}

/// Notes what it is asked, and refuses what it is told to.
#[derive(Default)]
struct Log {
    asked: Vec<String>,
    refuse: &'static str,
}

impl Log {
    fn ask(&mut self, what: String) -> Result<(), Refusal> {
        let refused = !self.refuse.is_empty() && what.starts_with(self.refuse);
        self.asked.push(what);
        if refused { Err(Refusal("not here".into())) } else { Ok(()) }
    }
}

impl Policy for Log {
    fn opcode(&mut self, info: &'static OpcodeInfo, at: u64) -> Result<(), Refusal> {
        if info.byte == opcode::byte::DICT {
            return Err(Refusal(format!("Unsupported operand {} at {at}", info.byte)));
        }
        Ok(())
    }
    fn protocol(&mut self, version: u8, at: u64) -> Result<(), Refusal> {
        self.ask(format!("protocol {version} {at}"))
    }
    fn global(&mut self, module: &str, name: &str, at: u64) -> Result<(), Refusal> {
        self.ask(format!("global {module} {name} {at}"))
    }
    fn call(
        &mut self,
        arena: &Arena<'_>,
        kind: CallKind,
        callable: Value,
        args: Value,
        at: u64,
    ) -> Result<(), Refusal> {
        self.ask(format!("call {kind:?} {} {} {at}", show(arena, callable), show(arena, args)))
    }
    fn build(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        state: Value,
        at: u64,
    ) -> Result<(), Refusal> {
        self.ask(format!("build {} {} {at}", show(arena, target), show(arena, state)))
    }
    fn append(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        many: bool,
        at: u64,
    ) -> Result<(), Refusal> {
        self.ask(format!("append {} {many} {at}", show(arena, target)))
    }
    fn set_items(&mut self, arena: &Arena<'_>, target: Value, at: u64) -> Result<(), Refusal> {
        self.ask(format!("set {} {at}", show(arena, target)))
    }
    fn persistent_id(&mut self, arena: &Arena<'_>, pid: Value, at: u64) -> Result<(), Refusal> {
        self.ask(format!("pid {} {at}", show(arena, pid)))
    }
}

#[test]
fn policies_are_asked_before_each_step() {
    let bytes = b"\x80\x02cm\nf\nK\x01\x85RNb]K\x01a(e}K\x01K\x02s(u\x8f(\x90NQPx\n(im\ng\n.";
    let mut log = Log::default();
    load_with(bytes, &Limits::default(), &mut log).expect("allowed");
    assert_eq!(
        log.asked,
        [
            "protocol 2 0",
            "global m f 2",
            "call Reduce m.f (1) 10",
            "build Reduce(m.f, (1)) None 12",
            "append [] false 16",
            "append [1] true 18",
            "set {} 24",
            "set {1, 2} 26",
            "append set() true 29",
            "pid None 31",
            "pid 'x' 32",
            "global m g 36",
            "call Inst m.g () 36",
        ]
    );
    for refuse in ["protocol", "global", "call", "build", "append", "set", "pid"] {
        let mut log = Log { refuse, ..Log::default() };
        let error = load_with(bytes, &Limits::default(), &mut log).expect_err("refused");
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Refused, "not here"));
        assert!(log.asked.last().is_some_and(|last| last.starts_with(refuse)));
    }
    let error = load_with(b"(d.", &Limits::default(), &mut Log::default()).expect_err("refused");
    assert_eq!((error.to_string().as_str(), error.offset()), ("Unsupported operand 100 at 1", 1));
}

#[test]
fn the_machine_keeps_what_it_made_before_an_error() {
    let mut machine = Machine::new(b"cos\nsystem\nK\x01\x85R(K\x02\xff", &Limits::default());
    let error = loop {
        match machine.step(&mut sconce_pickle::AllowAll) {
            Ok(done) => assert_eq!(done, None),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::UnknownOpcode);
    let names: Vec<_> = machine.arena().values().map(|v| show(machine.arena(), v)).collect();
    assert_eq!(names, ["os.system", "1", "(1)", "Reduce(os.system, (1))", "2"]);
    assert_eq!((machine.stack().len(), machine.marks()), (2, [1].as_slice()));
    assert!(machine.finish().is_none());
}
