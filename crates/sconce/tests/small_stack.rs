//! Every reader on a stack of one megabyte, half of what threads have by default: no file, however deep
//! what it holds, ends the process.

#![allow(clippy::unwrap_used, reason = "a panic is what these tests look for")]

use std::fs;
use std::io::sink;
use std::path::{Path, PathBuf};

use sconce::archive::{ArchiveWriter, Directory, TarArchive, WriterOptions, verify::verify};
use sconce::checkpoint::{LoadOptions, Policy, SaveOptions, identify};
use sconce::jit::ir::{Graph, Schema};
use sconce::pickle::{Tracer, dis, instructions, render};
use sconce::source::{Limits, Source};
use sconce::{Checkpoint, jit};

const STACK: usize = 1 << 20;
/// Levels of a pickle: a hundred times what the stack has room for.
const LEVELS: usize = 30_000;
/// Levels of a text, and parts of a chain.
const DEEP: usize = 100_000;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { out.push(path) }
        }
    }
    out.sort();
    out
}

/// Opens bytes as everything that they could be, and looks at all of it.
fn read(name: &str, bytes: Vec<u8>) {
    let source = Source::from_vec(name, bytes);
    let limits = Limits::default();
    let _ = identify(&source);
    if let Ok(directory) = Directory::read(source.clone(), &limits) {
        let _ = verify(&directory, |_| {});
    }
    let _ = TarArchive::read(&source);
    let options = LoadOptions::new().keep_going(true);
    for policy in [Policy::Inspect, Policy::WeightsOnly] {
        match options.clone().policy(policy).open_source(source.clone()) {
            Ok(checkpoint) => look(&checkpoint),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(module) = jit::LoadOptions::new().read(source) {
        program(&module);
    }
}

fn look(checkpoint: &Checkpoint) {
    assert!(checkpoint.root().repr(1000).chars().count() <= 1000);
    for named in checkpoint.tensors().iter().take(20) {
        let _ = (named.tensor.validate_sparse(), named.tensor.nbytes());
    }
    let _ = checkpoint.visit(|_, _| {});
    let _ = SaveOptions::new().save_to(checkpoint.root(), sink());
}

fn program(module: &jit::Module) {
    let Ok(modules) = module.named_modules() else { return };
    for (_, module) in modules {
        for method in module.methods() {
            let _ = module.graph(&method.name).map(|graph| graph.to_string());
            let _ = module.code(&method.name);
            let _ = module.frozen_graph(&method.name);
        }
    }
    let _ = (module.operators(), module.bytecode());
    let _ = jit::SaveOptions::new().save_to(module, sink());
}

/// A pickle alone: what reads it by its opcodes, too.
fn pickle(bytes: &[u8]) {
    let limits = sconce::pickle::Limits::default();
    let _ = dis(bytes, &mut sink());
    let _ = instructions(bytes).count();
    let _ = Tracer::new(bytes, &limits).take(100).count();
    let _ = Tracer::new(bytes, &limits).skip_until(usize::MAX);
    if let Ok(loaded) = sconce::pickle::load(bytes, &limits) {
        assert!(!render(&loaded.arena, loaded.root, 200).is_empty());
    }
}

#[test]
fn every_fixture() {
    on_a_small_stack(|| {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
        let files = files(&fixtures);
        assert!(files.len() > 300, "{}", files.len());
        for path in files {
            let bytes = fs::read(&path).unwrap();
            if bytes.starts_with(b"\x80") {
                pickle(&bytes);
            }
            read(&path.to_string_lossy(), bytes);
        }
    });
}

#[test]
fn deep_pickles() {
    let chain = |start: &[u8], part: &[u8], end: &[u8]| {
        [b"\x80\x04", start, &part.repeat(LEVELS), end].concat()
    };
    let cases = [
        // Lists in lists, and so on for tuples, dicts, sets, frozensets.
        chain(b"", b"]", &[&b"a".repeat(LEVELS - 1)[..], b"."].concat()),
        chain(b"N", b"\x85", b"."),
        chain(b"", b"}K\x01", &[b"N", &b"s".repeat(LEVELS)[..], b"."].concat()),
        chain(b"", b"\x8f(", &[b"K\x01", &b"\x90".repeat(LEVELS)[..], b"."].concat()),
        chain(b"", b"(", &[b"K\x01", &b"\x91".repeat(LEVELS)[..], b"."].concat()),
        // Calls of calls, states of states, persistent ids of persistent ids.
        chain(b"cm\nf\n", b")R", b"."),
        chain(b"N", b"\x85cm\nf\n\x8c\x01a\x85R\x86", b"."),
        chain(b"", b"cm\nC\n)\x81", &[b"N", &b"b".repeat(LEVELS)[..], b"."].concat()),
        chain(b"N", b"Q", b"."),
        chain(
            b"",
            b"ccollections\nOrderedDict\n)RK\x01",
            &[b"N", &b"s".repeat(LEVELS)[..], b"."].concat(),
        ),
        // Marks alone, and values that hold themselves.
        chain(b"", b"(", b"."),
        b"\x80\x04]\x94h\0a.".to_vec(),
        b"\x80\x04}\x94K\x01h\0s.".to_vec(),
    ];
    for bytes in cases {
        on_a_small_stack(move || {
            pickle(&bytes);
            let records: [(&str, &[u8]); 2] = [("data.pkl", &bytes), ("byteorder", b"little")];
            read("archive", archive(&records));
            read("pickle", bytes);
        });
    }
}

fn archive(records: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = ArchiveWriter::new(Vec::new(), "deep", WriterOptions::new()).unwrap();
    for (name, bytes) in records {
        out.write_record(name, bytes).unwrap();
    }
    out.finish().unwrap()
}

fn with_code(code: &str) -> Vec<u8> {
    archive(&[
        ("data.pkl", b"\x80\x02c__torch__\nM\n)\x81}b."),
        ("code/__torch__.py", code.as_bytes()),
        ("constants.pkl", b"\x80\x02)."),
    ])
}

/// `open` many times, the middle, and as many times `close`.
fn nested(open: &str, middle: &str, close: &str) -> String {
    [&open.repeat(DEEP), middle, &close.repeat(DEEP)].concat()
}

fn expressions() -> Vec<String> {
    let cases = [
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("{1: ", "x", "}"),
        ("torch.neg(", "x", ")"),
        ("x[", "0", "]"),
        ("-", "x", ""),
        ("not ", "x", ""),
        ("1+", "1", ""),
        ("x + ", "x", ""),
        ("x and ", "x", ""),
        ("x < ", "x", ""),
        ("x ** ", "x", ""),
        ("x if x else ", "x", ""),
        ("", "x", ".a"),
        ("", "x", "()"),
        ("", "x", "[0]"),
        ("annotate(List[int], ", "x", ")"),
    ];
    cases.iter().map(|(open, middle, close)| nested(open, middle, close)).collect()
}

#[test]
fn deep_programs() {
    let types = [("List[", "int", "]"), ("Optional[", "int", "]"), ("Tuple[int, ", "int", "]")];
    let types = types.map(|(open, middle, close)| nested(open, middle, close));
    let class = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n";
    let mut codes: Vec<String> = expressions()
        .iter()
        .map(|x| {
            format!(
                "{class}  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return {x}\n"
            )
        })
        .collect();
    for ty in types {
        codes.push(format!("{class}  a : {ty}\n"));
        codes.push(format!(
            "{class}  def forward(self: __torch__.M, x: {ty}) -> Tensor:\n    return x\n"
        ));
    }
    let mut blocks = format!("{class}  def forward(self: __torch__.M, x: bool) -> int:\n");
    for depth in 0..3000 {
        blocks += &format!("    {}if x:\n", " ".repeat(depth));
    }
    codes.push(blocks + &format!("    {}return 1\n", " ".repeat(3000)));
    for code in codes {
        on_a_small_stack(move || {
            let opened = jit::LoadOptions::new().read(Source::from_vec("deep", with_code(&code)));
            match opened {
                Ok(module) => {
                    assert!(module.graph("forward").is_err(), "{}", &code[..200]);
                    program(&module);
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        });
    }
}

#[test]
fn deep_python_source() {
    for expression in expressions() {
        on_a_small_stack(move || {
            let text = format!("def f(x: int):\n    return {expression}\n");
            let compiled = jit::ScriptOptions::new().name("f").compile_text("deep.py", &text);
            assert!(compiled.is_err());
        });
    }
}

#[test]
fn deep_schemas_types_and_graphs() {
    let types = [
        nested("List[", "int", "]"),
        nested("Optional(", "int", ")"),
        nested("(int, ", "int", ")"),
        nested("Dict(str, ", "int", ")"),
        nested("Future(", "int", ")"),
        nested("", "int", "[]"),
        nested("", "int", "?"),
        nested("Union[int, ", "str", "]"),
    ];
    for ty in types {
        on_a_small_stack(move || {
            let shown: String = ty.chars().take(12).collect();
            let schema = Schema::parse(&format!("aten::f({ty} x) -> {ty}"));
            if let Ok(schema) = schema {
                let copy = schema.clone();
                assert!(copy == schema && !schema.to_string().is_empty(), "{shown}");
            }
            let graph = Graph::parse(&format!("graph(%x : {ty}):\n  return (%x)\n"));
            if let Ok(graph) = graph {
                assert!(!graph.to_string().is_empty(), "{shown}");
            }
        });
    }
    on_a_small_stack(|| {
        let mut text = String::from("graph(%c : bool):\n");
        for depth in 0..3000 {
            let blank = "  ".repeat(depth);
            text += &format!("{blank}  = prim::If(%c)\n{blank}    block0():\n");
        }
        assert!(Graph::parse(&text).is_err());
        let list = nested("[", "1", "]");
        let text =
            format!("graph():\n  %1 : int = prim::Constant[value={list}]()\n  return (%1)\n");
        assert!(Graph::parse(&text).is_err());
    });
}

#[test]
fn deep_json() {
    for json in [nested("[", "", "]"), nested("{\"a\":", "1", "}"), "[".repeat(DEEP)] {
        on_a_small_stack(move || {
            let model = format!("{{\"mainModule\": {json}}}");
            let records = [("model.json", model.as_bytes()), ("data.pkl", b"\x80\x02N.")];
            read("model.json", archive(&records));
            read("x.index.json", format!("{{\"weight_map\": {json}}}").into_bytes());
            let header = format!("{{\"a\": {json}}}");
            let mut safetensors = (header.len() as u64).to_le_bytes().to_vec();
            safetensors.extend(header.as_bytes());
            read("a.safetensors", safetensors);
        });
    }
}

#[test]
fn deep_headers_of_arrays() {
    for shape in [nested("(", "1", ",)"), nested("[", "1", "]")] {
        on_a_small_stack(move || {
            for header in [
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"),
                format!("{{'descr': {shape}, 'fortran_order': False, 'shape': (1,), }}\n"),
            ] {
                let mut npy = b"\x93NUMPY\x02\0".to_vec();
                npy.extend((header.len() as u32).to_le_bytes());
                npy.extend(header.as_bytes());
                read("a.npy", npy);
            }
        });
    }
}
