//! Files made to do harm: each opens or fails, on a stack of one mebibyte, and neither what is held
//! at one time nor all that is ever allocated goes beyond what its size allows.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

#[path = "tar/archive.rs"]
mod archive;
#[path = "hostile/meter.rs"]
mod meter;
#[path = "hostile/pickles.rs"]
mod pickles;

use std::fmt::Write;

use archive::tar;
use meter::Meter;
use pickles::{Pickle, zip};
use sconce_checkpoint::{Checkpoint, ErrorKind, LoadOptions, Module, Policy};
use sconce_source::Source;
use sconce_tensor::PrintOptions;

/// What may be held at one time, beside [`PEAK_PER_BYTE`] for each byte of the file.
const PEAK: usize = 64 << 20;
const PEAK_PER_BYTE: usize = 160;
/// What may be allocated in all, and how often, for all the ways in which a file is looked at.
const TAKEN: usize = 1 << 30;
const TAKEN_PER_BYTE: usize = 2000;
const CALLS: usize = 5_000_000;
const CALLS_PER_BYTE: usize = 20;

/// How a file must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It opens.
    Opens,
    /// It is refused for this reason.
    Fails(ErrorKind),
}

use End::{Fails, Opens};

const MALFORMED: End = Fails(ErrorKind::Malformed);
const TRUNCATED: End = Fails(ErrorKind::Truncated);
const LIMIT: End = Fails(ErrorKind::Limit);

/// Opens and looks at everything, and gives how opening with the default options ended.
fn look(bytes: Vec<u8>) -> Result<(), ErrorKind> {
    let source = Source::from_vec("hostile", bytes);
    let options = LoadOptions::new();
    let lenient = options.clone().keep_going(true);
    let strict = options.clone().policy(Policy::WeightsOnly);
    for options in [lenient, strict] {
        match options.open_source(source.clone()) {
            Ok(checkpoint) => print(&checkpoint),
            Err(error) => assert!(!error.message().is_empty() && !error.to_string().is_empty()),
        }
    }
    let checkpoint = options.open_source(source).map_err(|error| error.kind())?;
    print(&checkpoint);
    Ok(())
}

/// Every way to name or show what a checkpoint holds.
fn print(checkpoint: &Checkpoint) {
    let mut out = String::new();
    let mut show = |text: std::fmt::Arguments<'_>| {
        out.clear();
        out.write_fmt(text).unwrap();
        assert!(out.len() < 1 << 20, "{} bytes", out.len());
    };
    let root = checkpoint.root();
    show(format_args!("{} {root:?} {}", root.repr(200), root.class_name()));
    assert!(root.get("no such attribute").is_none() && root.at(usize::MAX).is_none());
    assert!(checkpoint.tensor("no such tensor").is_none());
    let mut visited = 0;
    checkpoint.visit(|_, object| {
        visited += 1;
        if visited <= 10_000 {
            show(format_args!("{} {}", object.repr(60), object.class_name()));
        }
    });
    for named in checkpoint.tensors().into_iter().take(100) {
        let tensor = named.tensor;
        show(format_args!("{tensor:?} {} {:?}", tensor.nbytes(), tensor.storage_range()));
        match tensor.to_text(&PrintOptions::default()) {
            Ok(text) => show(format_args!("{text}")),
            Err(error) => show(format_args!("{error}")),
        }
        let _ = tensor.contiguous_bytes_with_limit(1 << 20);
    }
    for named in checkpoint.arrays().into_iter().take(100) {
        show(format_args!("{}", named.array.dtype.name()));
    }
    if let Some(module) = root.as_module() {
        modules(module);
    }
    for problem in checkpoint.problems() {
        show(format_args!("{problem}"));
    }
    assert!(checkpoint.globals().iter().all(|global| !global.full_name().is_empty()));
}

fn modules(module: Module<'_>) {
    assert!(!module.named_modules().is_empty());
    let _ = (module.named_parameters(), module.named_buffers(), module.state_dict());
}

/// Runs one file on a small stack and holds it to its budget; gives what is wrong.
fn check(name: &str, bytes: Vec<u8>, end: End) -> Option<String> {
    let len = bytes.len();
    let thread = std::thread::Builder::new().stack_size(1 << 20).name(name.to_owned());
    let joined = thread.spawn(move || (look(bytes), Meter::read())).unwrap().join();
    let Ok((found, meter)) = joined else { return Some(format!("{name}: panicked")) };
    let found = found.map_or_else(Fails, |()| Opens);
    if found != end {
        return Some(format!("{name}: {found:?}, not {end:?}"));
    }
    let most = |base: usize, each: usize| (base + len * each) as i64;
    let fits = meter.peak < most(PEAK, PEAK_PER_BYTE)
        && meter.taken < most(TAKEN, TAKEN_PER_BYTE)
        && meter.calls < most(CALLS, CALLS_PER_BYTE) as u64;
    (!fits).then(|| format!("{name}, {len} bytes: {meter:?}"))
}

fn check_all(cases: Vec<(&str, Vec<u8>, End)>) {
    let wrong: Vec<String> =
        cases.into_iter().filter_map(|(name, bytes, end)| check(name, bytes, end)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn sharing_that_doubles() {
    let get_two = |pickle: Pickle, at: usize| pickle.get(at as u32).get(at as u32);
    check_all(vec![
        ("tuples", Pickle::new(2).raw("N").times(400, b"2\x86").end(), Opens),
        (
            "lists",
            {
                let pickle = Pickle::new(2).raw("]").put(0);
                pickle.each(60, |p, at| get_two(p.raw("]("), at).raw("e").put(at as u32 + 1)).end()
            },
            Opens,
        ),
        (
            "dicts",
            {
                let pickle = Pickle::new(2).raw("}").put(0);
                let level = |p: Pickle, at: usize| {
                    let p = p.raw("}(N").get(at as u32).raw("K\x01").get(at as u32);
                    p.raw("u").put(at as u32 + 1)
                };
                pickle.each(40, level).end()
            },
            Opens,
        ),
        (
            "dicts with long keys",
            {
                let pickle = Pickle::new(2).text(&"k".repeat(300)).put(999).raw("}").put(0);
                let level = |p: Pickle, at: usize| {
                    let p = p.raw("}(").get(999).get(at as u32).text("k").get(at as u32);
                    p.raw("u").put(at as u32 + 1)
                };
                pickle.each(40, level).end()
            },
            Opens,
        ),
        (
            "long keys over tensors",
            {
                let pickle =
                    Pickle::new(2).text(&"k".repeat(60)).put(999).tensor(0, &[4], &[1]).put(0);
                let pickle = pickle.raw("](").each(100, |p, _| p.get(0)).raw("e").put(1);
                let level = |p: Pickle, at: usize| {
                    let at = at as u32 + 1;
                    p.raw("}(").get(999).get(at).raw("N").get(at).raw("u").put(at + 1)
                };
                pickle.each(30, level).zip()
            },
            Opens,
        ),
        ("frozen sets", Pickle::new(4).raw("N").times(300, b"2\x86\x940(h\x00\x91").end(), Opens),
        (
            "calls",
            {
                let pickle = Pickle::new(2).global("m", "f").put(0).raw("N").put(1);
                pickle.each(50, |p, _| p.get(0).get(1).raw(b"2\x86R").put(1)).end()
            },
            Opens,
        ),
        (
            "states",
            {
                let pickle = Pickle::new(2).global("m", "C").put(0).raw("}").put(1);
                let level = |p: Pickle, _: usize| {
                    p.get(0).raw(b")\x81}(").text("a").get(1).text("b").get(1).raw("ub").put(1)
                };
                pickle.each(40, level).end()
            },
            Opens,
        ),
    ]);
}

#[test]
fn lengths_beyond_the_end() {
    let p = || Pickle::new(4);
    let zipped = |pickle: Pickle| pickle.zip();
    let huge = u64::MAX.to_le_bytes();
    let half = (1u64 << 62).to_le_bytes();
    check_all(vec![
        ("LONG1", zipped(p().raw(b"\x8a\xff")), TRUNCATED),
        ("LONG4", zipped(p().raw(b"\x8b\xff\xff\xff\x7f")), TRUNCATED),
        ("LONG4 negative", zipped(p().raw(b"\x8b\xff\xff\xff\xff")), MALFORMED),
        ("BINBYTES", zipped(p().raw(b"B\xff\xff\xff\xff")), TRUNCATED),
        ("BINBYTES8", zipped(p().raw(b"\x8e").raw(huge)), TRUNCATED),
        ("BINUNICODE", zipped(p().raw(b"X\xff\xff\xff\xff")), TRUNCATED),
        ("BINUNICODE8", zipped(p().raw(b"\x8d").raw(half)), TRUNCATED),
        ("BYTEARRAY8", zipped(p().raw(b"\x96").raw(huge)), TRUNCATED),
        ("BINSTRING", zipped(p().raw(b"T\xff\xff\xff\xff")), TRUNCATED),
        ("FRAME", zipped(p().raw(b"\x95").raw(half)), TRUNCATED),
        ("PUT", zipped(p().raw("Np4000000000\n")), Opens),
        ("PUT beyond 64 bits", zipped(p().raw("Np99999999999999999999999\n")), MALFORMED),
        ("LONG_BINPUT", zipped(p().raw(b"Nr\xff\xff\xff\xff")), Opens),
        (
            "many far PUTs",
            zipped(p().each(100, |p, at| p.raw("N").put(u32::MAX - at as u32 * 40_000_000))),
            Opens,
        ),
        ("GET of nothing", zipped(p().raw(b"j\xff\xff\xff\xff")), MALFORMED),
        ("long INT", zipped(p().raw("I").times(4000, "9").raw("\n")), Opens),
        ("long LONG", zipped(p().raw("L").times(4000, "9").raw("L\n")), Opens),
    ]);
}

#[test]
fn deep_nesting() {
    const LEVELS: usize = 1_000_000;
    let p = || Pickle::new(4);
    let call = || p().global("m", "f").put(0);
    let module = |p: Pickle, _: usize| {
        let p = p.get(0).raw(b")\x81}(").text("_parameters").raw("}").text("_buffers").raw("}");
        p.text("_modules").raw("}").text("m").get(1).raw("sub").put(1)
    };
    check_all(vec![
        ("tuples", p().raw("N").times(LEVELS, b"\x85").end(), Opens),
        ("lists", p().times(LEVELS, "]").times(LEVELS - 1, "a").end(), Opens),
        ("dicts", p().times(LEVELS, b"}K\x00").raw("N").times(LEVELS, "s").end(), Opens),
        ("frozen sets", p().times(LEVELS, "(").raw("N").times(LEVELS, b"\x91").end(), Opens),
        ("arguments", call().times(LEVELS, b"h\x00").raw("N").times(LEVELS, b"\x85R").end(), Opens),
        ("callables", call().times(LEVELS, ")R").end(), Opens),
        ("states", call().times(LEVELS, b"h\x00)\x81").times(LEVELS - 1, "b").end(), Opens),
        ("marks", p().times(LEVELS, "(").raw("N").end(), Opens),
        ("popped marks", p().times(LEVELS, "(").times(LEVELS, "1").raw("N").end(), Opens),
        ("persistent ids", p().raw("N").times(LEVELS / 10, "Q").end(), MALFORMED),
        ("modules", call().raw("N").put(1).each(20_000, module).end(), Opens),
        (
            "parameters",
            p().global("torch._utils", "_rebuild_parameter")
                .put(0)
                .times(LEVELS / 10, b"h\x00(")
                .tensor(0, &[4], &[1])
                .times(LEVELS / 10, b"\x89NtR")
                .zip(),
            Opens,
        ),
        (
            "nested tensors",
            {
                let table = |p: Pickle, sizes: &[i64], slot| {
                    let p = p.global("torch._utils", "_rebuild_tensor_v2").raw("(");
                    let p = p.storage_of("LongStorage", "0", 2).raw("K\0").dims(sizes);
                    p.dims(&[1, 1][..sizes.len()]).raw(b"\x89NtR").put(slot)
                };
                let p = table(table(p().raw("("), &[1], 1), &[1, 0], 2);
                let p = p.global("torch._utils", "_rebuild_nested_tensor").put(0);
                p.get(1)
                    .times(LEVELS / 10, b"q\x03(h\x01h\x02h\x02h\x03t0h\x00(h\x01h\x02h\x02h\x03tR")
                    .raw("t")
                    .zip()
            },
            MALFORMED,
        ),
        (
            "states of tensors",
            {
                let p = p().global("torch._tensor", "_rebuild_from_type_v2").put(0);
                let p =
                    p.global("torch._utils", "_rebuild_parameter").put(1).global("m", "C").put(2);
                let p = p.tensor(0, &[4], &[1]).put(3).raw(b"(h\x03\x89Nt").put(4).get(3);
                p.times(LEVELS / 10, b"q\x05h\x00(h\x01h\x02h\x04h\x05tR").zip()
            },
            Opens,
        ),
        (
            "type tags, each named",
            p().global("torch.jit._pickle", "restore_type_tag")
                .put(0)
                .raw("(]")
                .each(LEVELS / 10, |p, _| p.put(1).get(0).get(1).raw(b"N\x86R"))
                .raw("t")
                .end(),
            Opens,
        ),
        (
            "storages in storages",
            {
                let wrap = |p: Pickle, inner: &[u8]| {
                    let len = (inner.len() as u32).to_le_bytes();
                    let p = p.global("torch.storage", "_load_from_bytes");
                    p.raw(b"B").raw(len).raw(inner).raw(b"\x85R")
                };
                (0..40).fold(p().storage("0", 0), |inner, _| wrap(p(), &inner.legacy())).end()
            },
            LIMIT,
        ),
    ]);
}

#[test]
fn opcodes_without_end() {
    const COUNT: usize = 200_000;
    let p = || Pickle::new(4);
    let far = |p: Pickle, at: usize| p.int((at as i64) << 40);
    check_all(vec![
        (
            "keys that collide",
            p().raw("}(").each(COUNT, |p, at| far(p, at).raw("N")).raw("u").end(),
            Opens,
        ),
        ("one key", p().raw("}(").times(COUNT, b"K\x00N").raw("u").end(), Opens),
        (
            "floats as keys",
            p().raw("}(").times(COUNT, b"G\x7f\xf8\0\0\0\0\0\0N").raw("u").end(),
            Opens,
        ),
        ("a wide stack", p().times(5 * COUNT, "N").end(), Opens),
        ("doubled top", p().raw("N").times(5 * COUNT, "2").end(), Opens),
        ("empty lists", p().raw("(").times(COUNT, "]").raw("l").end(), Opens),
        ("memo", p().raw("N").times(COUNT, b"\x94").end(), Opens),
        ("protocols", p().times(COUNT, b"\x80\x03").raw("N").end(), Opens),
        ("frames", p().times(COUNT / 4, b"\x95\0\0\0\0\0\0\0\0").raw("N").end(), Opens),
        (
            "globals",
            p().raw("(").each(COUNT / 4, |p, at| p.global("m", &at.to_string())).raw("l").end(),
            Opens,
        ),
        ("builds", p().global("m", "C").raw(b")\x81").times(COUNT, "}b").end(), Opens),
        ("extension codes", p().raw("(").times(COUNT, b"\x82\x01").raw("l").end(), Opens),
        ("buffers", p().raw("(").times(COUNT, b"\x97").raw("l").end(), Opens),
    ]);
}

#[test]
fn tensors_that_cannot_be() {
    const MAX: i64 = i64::MAX;
    let view = |offset, sizes: &[i64], strides: &[i64]| {
        Pickle::new(2).tensor(offset, sizes, strides).zip()
    };
    let of = |key: &str, numel| Pickle::new(2).view(key, numel, 0, &[4], &[1]).zip();
    check_all(vec![
        ("product of sizes", view(0, &[1 << 32, 1 << 32], &[0, 0]), MALFORMED),
        ("product of strides", view(0, &[3, 3], &[MAX, MAX]), MALFORMED),
        ("offset", view(MAX, &[2], &[1]), MALFORMED),
        ("negative offset", view(-1, &[1], &[1]), MALFORMED),
        ("negative size", view(0, &[-1], &[1]), MALFORMED),
        ("negative stride", view(0, &[2], &[-1]), MALFORMED),
        ("least numbers", view(i64::MIN, &[i64::MIN], &[i64::MIN]), MALFORMED),
        ("lists of two lengths", view(0, &[2, 2], &[1]), MALFORMED),
        ("expanded beyond memory", view(0, &[1 << 60], &[0]), Opens),
        ("expanded many times", view(0, &[1 << 20, 1 << 20, 1 << 20], &[0, 0, 0]), Opens),
        ("empty and far away", view(MAX, &[0], &[MAX]), Opens),
        ("empty and large", view(0, &[MAX, 0], &[MAX, MAX]), Opens),
        ("64 dimensions", view(0, &[1; 64], &[MAX; 64]), Opens),
        ("2,000 dimensions", view(0, &[1; 2000], &[1; 2000]), Opens),
        ("climbing key", of("../data.pkl", 4), MALFORMED),
        ("key with a nul", of("0\0", 4), MALFORMED),
        ("no key", of("", 4), MALFORMED),
        ("more elements than bytes", of("0", MAX), MALFORMED),
        ("negative elements", of("0", -1), MALFORMED),
        ("fewer elements than bytes", of("0", 3), MALFORMED),
        (
            "many expanded",
            {
                let one = |p: Pickle, _: usize| p.tensor(0, &[1 << 60], &[0]);
                Pickle::new(2).raw("(").each(50, one).raw("l").zip()
            },
            Opens,
        ),
        (
            "meta without a bound",
            {
                let p = Pickle::new(2)
                    .global("torch._utils", "_rebuild_meta_tensor_no_storage")
                    .raw("(");
                let p = p.global("torch", "float64").dims(&[1 << 62]).dims(&[1]);
                p.raw(b"\x89tR").end()
            },
            Opens,
        ),
    ]);
}

/// Parts that a pickle names again and again: each use may cost a copy.
#[test]
fn shared_parts() {
    let p = || Pickle::new(2);
    let long = |len: usize| "x".repeat(len);
    let list = |p: Pickle| p.raw("(").times(20_000, "N").raw("l");
    // 60,000 bytes and 5,000 uses of them.
    let uses = |p: Pickle, each: &[u8]| p.put(1).raw("](").times(5000, each).raw("e");
    let dtype = |p: Pickle, letters: &str| {
        p.global("numpy", "dtype").raw("(").text(letters).raw(b"\x89\x88tR")
    };
    check_all(vec![
        (
            "bytes of one text",
            {
                let p = p()
                    .global("_codecs", "encode")
                    .put(0)
                    .text("latin1")
                    .put(2)
                    .text(&long(60_000));
                uses(p, b"h\x00h\x01h\x02\x86R").end()
            },
            LIMIT,
        ),
        (
            "byte arrays",
            {
                let p = Pickle::new(4).global("builtins", "bytearray").put(0);
                let p = p.raw(b"B").raw(60_000u32.to_le_bytes()).raw(long(60_000));
                uses(p, b"h\x00h\x01\x85R").end()
            },
            LIMIT,
        ),
        (
            "sets",
            {
                let p = list(p().global("builtins", "set").put(0));
                uses(p, b"h\x00h\x01\x85R").end()
            },
            LIMIT,
        ),
        (
            "ordered dicts",
            {
                let pairs = p().global("collections", "OrderedDict").put(0).raw("(");
                let p = pairs
                    .each(10_000, |p, at| p.raw(b"M").raw((at as u16).to_le_bytes()).raw(b"N\x86"));
                uses(p.raw("l"), b"h\x00h\x01\x85R").end()
            },
            LIMIT,
        ),
        (
            "sizes",
            {
                let p =
                    p().global("torch", "Size").put(0).raw("(").times(20_000, b"K\x01").raw("t");
                uses(p, b"h\x00h\x01\x85R").end()
            },
            LIMIT,
        ),
        (
            "dimensions",
            {
                let p = p().global("torch._utils", "_rebuild_tensor_v2").put(0);
                let p = p.storage("0", 4).put(2).raw("(").times(20_000, b"K\x01").raw("t");
                uses(p, b"h\x00(h\x02K\x00h\x01h\x01\x89NtR").zip()
            },
            LIMIT,
        ),
        (
            "array data",
            {
                let p =
                    dtype(p(), "u1").put(3).global("numpy.core.multiarray", "_reconstruct").put(0);
                let p = p
                    .raw("(K\x01")
                    .dims(&[60_000])
                    .get(3)
                    .raw(b"\x89T")
                    .raw(60_000u32.to_le_bytes());
                uses(p.raw(long(60_000)).raw("t"), b"h\x00)Rh\x01b").end()
            },
            LIMIT,
        ),
        (
            "fields of records",
            {
                let level = |p: Pickle, _: usize| {
                    let names = |p: Pickle| ["a", "b", "c", "d"].into_iter().fold(p, Pickle::text);
                    let field = |p: Pickle, name| p.text(name).get(1).raw(b"K\x00\x86");
                    let p = names(dtype(p, "V8").raw("(K\x03").text("|").raw("N(")).raw("t}(");
                    let p = ["a", "b", "c", "d"].into_iter().fold(p, field);
                    p.raw("uK\x08K\x01K\x00tb").put(1)
                };
                let p = dtype(p(), "u1").put(1).each(15, level);
                let p =
                    p.global("numpy.core.multiarray", "_reconstruct").raw("(tR(K\x01").dims(&[1]);
                p.get(1).raw(b"\x89U\x08aaaaaaaatb").end()
            },
            LIMIT,
        ),
        (
            "storages in bytes",
            {
                let inner = Pickle::new(2).storage("0", 0).raw("0").text(&long(30_000)).raw("0");
                let inner = inner.storage("0", 0).legacy();
                let p = Pickle::new(4).global("torch.storage", "_load_from_bytes").put(0);
                let p = p.raw(b"B").raw((inner.len() as u32).to_le_bytes()).raw(inner);
                uses(p, b"h\x00h\x01\x85R").end()
            },
            LIMIT,
        ),
        (
            "names of globals",
            {
                let p = Pickle::new(4).text(&long(30_000)).put(0).text(&long(30_000));
                uses(p, b"h\x00h\x01\x93").end()
            },
            LIMIT,
        ),
        (
            "one state, many objects",
            {
                let p = p().global("m", "C").put(0).raw("}(");
                let p = p.each(5000, |p, at| p.text(&at.to_string()).raw("N")).raw("u");
                uses(p, b"h\x00)\x81h\x01b").end()
            },
            Opens,
        ),
        (
            "one object, many states",
            {
                let p = p()
                    .raw("}(")
                    .each(5000, |p, at| p.text(&at.to_string()).raw("N"))
                    .raw("u")
                    .put(1);
                p.global("m", "C").raw(b")\x81").times(5000, b"h\x01b").end()
            },
            Opens,
        ),
        (
            "one object, many places",
            {
                let p = p().global("m", "C").raw(b")\x81}(");
                let p = p.each(5000, |p, at| p.text(&at.to_string()).raw("N")).raw("ub");
                uses(p, b"h\x01").end()
            },
            Opens,
        ),
        (
            "long names over many tensors",
            {
                let p = p().raw("(").text(&long(60_000)).raw("(").tensor(0, &[4], &[1]).put(1);
                p.times(5000, "h\x01").raw("ld").zip()
            },
            Opens,
        ),
        (
            "long names of modules",
            {
                let module = |p: Pickle, _: usize| {
                    let p = p
                        .get(0)
                        .raw(b")\x81}(")
                        .text("_parameters")
                        .raw("}")
                        .text("_buffers")
                        .raw("}");
                    p.text("_modules").raw("}").get(2).get(1).raw("sub").put(1)
                };
                let p = p().text(&long(60_000)).put(2).global("m", "C").put(0).raw("N").put(1);
                p.each(190, module).end()
            },
            Opens,
        ),
        (
            "complaints",
            {
                let p = p().global("torch._utils", "_rebuild_tensor_v2").put(0);
                let p = p.global("m", &long(60_000));
                uses(p, b"h\x00h\x01\x85R").end()
            },
            MALFORMED,
        ),
        (
            "keys in complaints",
            {
                let p = p()
                    .text("storage")
                    .put(2)
                    .global("torch", "FloatStorage")
                    .put(3)
                    .text("cpu")
                    .put(4);
                uses(p.text(&long(60_000)), b"(h\x02h\x03h\x01h\x04K\x07tQ").zip()
            },
            MALFORMED,
        ),
        (
            "tables",
            {
                let table = |p: Pickle, sizes: &[i64]| {
                    let p = p.global("torch._utils", "_rebuild_tensor_v2").raw("(");
                    let p = p.storage_of("LongStorage", "0", 1 << 17).raw("K\0").dims(sizes);
                    p.dims(&[1, 1][..sizes.len()]).raw(b"\x89NtR")
                };
                let p = p().global("torch._utils", "_rebuild_nested_tensor").put(0);
                let p = table(table(p.raw("("), &[1 << 17]), &[1 << 17, 1]).put(2);
                let p = table(p.raw("2"), &[1 << 17]).raw("t");
                let pickle = uses(p, b"h\x00h\x01R").end();
                let table = vec![0; 1 << 20];
                zip(&[("a/data.pkl", &pickle), ("a/version", b"3\n"), ("a/data/0", &table)])
            },
            LIMIT,
        ),
        (
            "sources of modules",
            {
                let p = p().text("module").put(2).global("m", "C").put(3).text(&long(60_000));
                uses(p, b"(h\x02h\x03h\x01h\x01tQ").legacy()
            },
            LIMIT,
        ),
    ]);
}

#[test]
fn archives() {
    let good = || Pickle::new(2).tensor(0, &[4], &[1]).end();
    let names: Vec<String> = (0..5000).map(|at| format!("a/{}", case_variant(at))).collect();
    let mut many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    many.push(("a/version", b"3\n"));
    let pickle = good();
    many.push(("a/data.pkl", &pickle));
    many.push(("a/data/0", &[0; 16]));
    check_all(vec![
        ("names that differ in case only", zip(&many), Opens),
        (
            "two pickles",
            zip(&[("a/data.pkl", &good()), ("a/data.pkl", &good()), ("a/version", b"3")]),
            Fails(ErrorKind::Ambiguous),
        ),
        ("no pickle", zip(&[("a/version", b"3\n")]), Fails(ErrorKind::NotACheckpoint)),
        ("arrays in one place", npz_in_one_place(), MALFORMED),
        (
            "a climbing name",
            zip(&[("../data.pkl", &good()), ("../version", b"3\n"), ("../data/0", &[0; 16])]),
            Opens,
        ),
    ]);
}

/// A directory that names the bytes of one array a hundred times.
fn npz_in_one_place() -> Vec<u8> {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n";
    let array =
        [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), b"abcd"];
    let array = array.concat();
    let one = zip(&[("0.npy", &array)]);
    let directory_at = one.len() - 22 - 46 - 5;
    let (records, entry) = (&one[..directory_at], &one[directory_at..one.len() - 22]);
    let mut out = [records, &entry.repeat(100)].concat();
    let size = (entry.len() as u32 * 100).to_le_bytes();
    out.extend(
        [b"PK\x05\x06\0\0\0\0\x64\0\x64\0", &size[..], &(directory_at as u32).to_le_bytes()]
            .concat(),
    );
    out.extend([0; 2]);
    out
}

#[test]
fn streams() {
    let legacy = |rest: &[&[u8]]| Pickle::new(2).tensor(0, &[4], &[1]).legacy_with(&rest.concat());
    let key = b"\x80\x02]U\x010a.";
    let most = i64::MAX.to_le_bytes();
    let four = 4i64.to_le_bytes();
    let count = |count: i64| Pickle::new(2).int(count).end();
    let (none, all) = (count(0), count(i64::MAX));
    let empty = Pickle::new(2).raw("]").end();
    let no_views = [&none[..], &empty].concat();
    let header = Pickle::new(2).text("0").text("cpu").global("torch", "FloatStorage");
    let header = header.raw(b"\x87").end();
    let large = [&count(1)[..], &header, &most].concat();
    let huge = [&b"\x80\x02\x8b\0\0\x01\0"[..], &[9; 65536], b"."].concat();
    let pickle = Pickle::new(2).raw("N").end();
    let tar_of = |storages: &[u8], tensors: &[u8]| {
        tar(&[("storages", storages), ("tensors", tensors), ("pickle", &pickle)])
    };
    check_all(vec![
        ("good stream", legacy(&[key, &four, &[0; 16]]), Opens),
        ("elements beyond the end", legacy(&[key, &most]), MALFORMED),
        ("storage cut short", legacy(&[key, &four, &[0; 15]]), TRUNCATED),
        ("no storages", legacy(&[b"\x80\x02]."]), MALFORMED),
        (
            "keys of nothing",
            legacy(&[b"\x80\x02](U\x010", &b"U\x01x".repeat(20_000), b"e."]),
            TRUNCATED,
        ),
        ("no end of keys", legacy(&[b"\x80\x02](", &b"U\x010".repeat(20_000)]), TRUNCATED),
        ("good tar", tar_of(&no_views, &none), Opens),
        ("storages without end", tar_of(&all, &none), TRUNCATED),
        ("tensors without end", tar_of(&no_views, &all), TRUNCATED),
        ("a storage beyond the end", tar_of(&large, &none), MALFORMED),
        ("a count of half a million bits", tar_of(&huge, &none), MALFORMED),
    ]);
}

/// A name of 16 letters, some of them large.
fn case_variant(at: usize) -> String {
    (0..16).map(|bit| if at >> bit & 1 == 1 { 'X' } else { 'x' }).collect()
}
