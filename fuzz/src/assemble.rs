//! Files put together from parts that are all valid, with one thing then changed: a field of a zip header,
//! an argument of an opcode, a record. Bytes changed anywhere mostly break a name or a checksum; these
//! break what readers compare.

use arbitrary::Arbitrary;

use crate::parts::tar;

/// A checkpoint: its container, its object, what its records hold, and what is wrong with it.
#[derive(Debug, Arbitrary)]
pub struct File {
    container: Container,
    protocol: u8,
    object: Part,
    storages: Vec<u8>,
    /// At most a few; most often none or one.
    flaws: Vec<Flaw>,
}

#[derive(Debug, Clone, Copy, PartialEq, Arbitrary)]
enum Container {
    Zip,
    Legacy,
    Bare,
    Tar,
    TorchScript,
}

/// A Python value, as its pickle has it.
#[derive(Debug, Arbitrary)]
enum Part {
    None,
    Bool(bool),
    Int(i64),
    Long(Vec<u8>),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Tuple(Vec<Part>),
    List(Vec<Part>),
    Dict(Vec<(Part, Part)>),
    Set(Vec<Part>),
    /// Called with these arguments.
    Call(u8, Vec<Part>),
    /// With this state.
    Build(Box<Part>, Box<Part>),
    Tensor {
        storage: u8,
        offset: u8,
        sizes: Vec<u8>,
    },
    Parameter(Box<Part>),
    /// One that was put into the memo before.
    Again(u8),
}

#[derive(Debug, Arbitrary)]
enum Flaw {
    /// A field of a header: of which record, which field, and its new value.
    Field {
        record: u8,
        central: bool,
        field: u8,
        value: Value,
    },
    /// A field of the record at the end.
    End {
        field: u8,
        value: Value,
    },
    /// An opcode's argument, or the opcode.
    Opcode {
        at: u16,
        value: Value,
    },
    /// A record twice, gone, empty, or with another's name.
    Twice(u8),
    Gone(u8),
    Empty(u8),
    Renamed(u8, u8),
    /// The file's end.
    Cut(u16),
    /// Bytes before it, or behind it.
    Padded(bool, u8),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Value {
    Zero,
    Ones,
    /// The value that is there, with this added.
    Near(i8),
    Any(u32),
}

impl Value {
    fn of(self, was: u32) -> u32 {
        match self {
            Value::Zero => 0,
            Value::Ones => u32::MAX,
            Value::Near(by) => was.wrapping_add_signed(i32::from(by)),
            Value::Any(value) => value,
        }
    }
}

const GLOBALS: [(&str, &str); 14] = [
    ("collections", "OrderedDict"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch.serialization", "_get_layout"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_sparse_tensor"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    ("builtins", "set"),
    ("__main__", "Net"),
    ("copyreg", "_reconstructor"),
    ("torch.jit._pickle", "build_intlist"),
];

/// Values at which nesting ends.
const DEEP: usize = 12;

impl File {
    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut pickle = Pickle::start(self.protocol, self.container);
        pickle.part(&self.object, 0);
        if self.container == Container::TorchScript {
            // The object is one of the program's class; the other one is only made.
            [&b"0"[..], b"c__torch__\nM\n", b")", b"\x81", b"}", b"b"]
                .into_iter()
                .for_each(|opcode| pickle.op(opcode));
        }
        let mut opcodes = pickle.starts;
        let mut object = pickle.out;
        object.push(b'.');
        opcodes.push(object.len() - 1);
        for flaw in self.flaws.iter().take(4) {
            if let Flaw::Opcode { at, value } = flaw {
                let at = opcodes[usize::from(*at) % opcodes.len()];
                // The opcode itself, or the four bytes behind it.
                if matches!(value, Value::Any(_)) {
                    object[at] = value.of(0) as u8;
                } else if let Some(word) = object.get_mut(at + 1..at + 5) {
                    let was = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                    word.copy_from_slice(&value.of(was).to_le_bytes());
                }
            }
        }
        let mut out = match self.container {
            Container::Bare => object,
            Container::Legacy => self.legacy(&object),
            Container::Tar => {
                let one = b"\x80\x02K\x00.".to_vec();
                tar(&[("storages", &one), ("tensors", &one), ("pickle", &object)])
            }
            Container::Zip | Container::TorchScript => self.zip(object),
        };
        for flaw in self.flaws.iter().take(4) {
            match flaw {
                Flaw::Cut(by) => out.truncate(out.len().saturating_sub(usize::from(*by))),
                Flaw::Padded(true, len) => drop(out.splice(..0, vec![b'x'; usize::from(*len)])),
                Flaw::Padded(false, len) => out.extend(vec![b'x'; usize::from(*len)]),
                _ => {}
            }
        }
        out
    }

    /// What a storage holds: 16 floats at most.
    fn data(&self, at: usize) -> Vec<u8> {
        vec![at as u8; usize::from(self.storages[at] % 17) * 4]
    }

    fn legacy(&self, object: &[u8]) -> Vec<u8> {
        let mut out =
            b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\
                        \x80\x02}q\0(X\x0d\0\0\0little_endianq\x01\x88u."
                .to_vec();
        out.extend(object);
        out.extend(b"\x80\x02](");
        let count = self.storages.len().min(4);
        for key in 0..count {
            out.extend([&b"X\x01\0\0\0"[..], &[b'0' + key as u8]].concat());
        }
        out.extend(b"e.");
        for at in 0..count {
            let data = self.data(at);
            out.extend((data.len() as u64 / 4).to_le_bytes());
            out.extend(data);
        }
        out
    }

    fn zip(&self, object: Vec<u8>) -> Vec<u8> {
        let mut records = vec![
            ("archive/data.pkl".to_owned(), object),
            ("archive/version".to_owned(), b"3\n".to_vec()),
            ("archive/byteorder".to_owned(), b"little".to_vec()),
        ];
        for at in 0..self.storages.len().min(4) {
            records.push((format!("archive/data/{at}"), self.data(at)));
        }
        if self.container == Container::TorchScript {
            let code = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: \
                        __torch__.M, x: Tensor) -> Tensor:\n    return torch.add(x, 1)\n";
            records.push(("archive/code/__torch__.py".to_owned(), code.into()));
            records.push(("archive/constants.pkl".to_owned(), b"\x80\x02).".to_vec()));
        }
        let count = records.len();
        for flaw in self.flaws.iter().take(4) {
            let len = count.min(records.len());
            let at = move |record: &u8| usize::from(*record) % len;
            match flaw {
                Flaw::Twice(record) => records.push(records[at(record)].clone()),
                Flaw::Gone(record) if records.len() > 1 => drop(records.remove(at(record))),
                Flaw::Empty(record) => records[at(record)].1.clear(),
                Flaw::Renamed(record, other) => {
                    records[at(record)].0 = records[at(other)].0.clone()
                }
                _ => {}
            }
        }
        self.written(&records)
    }

    /// An archive whose checksums are right, some of its fields changed.
    fn written(&self, records: &[(String, Vec<u8>)]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (at, (name, data)) in records.iter().enumerate() {
            let len = data.len() as u32;
            let common = |extra: u32| {
                // Version, flags, method, time, date, checksum, sizes, lengths.
                [
                    (2, 20),
                    (2, 0),
                    (2, 0),
                    (2, 0),
                    (2, 0),
                    (4, crc32fast::hash(data)),
                    (4, len),
                    (4, len),
                ]
                .into_iter()
                .chain([(2, name.len() as u32), (2, extra)])
                .collect::<Vec<(usize, u32)>>()
            };
            let offset = out.len() as u32;
            let local = self.changed(at, false, common(0));
            let mut central = vec![(2, 20)];
            central.extend(common(0));
            central.extend([(2, 0), (2, 0), (2, 0), (4, 0), (4, offset)]);
            let central = self.changed(at, true, central);
            out.extend([b"PK\x03\x04", &local[..], name.as_bytes(), data].concat());
            directory.extend([b"PK\x01\x02", &central[..], name.as_bytes()].concat());
        }
        let (at, size) = (out.len() as u32, directory.len() as u32);
        let count = records.len() as u32;
        let mut end = vec![(2, 0), (2, 0), (2, count), (2, count), (4, size), (4, at), (2, 0)];
        for flaw in self.flaws.iter().take(4) {
            if let Flaw::End { field, value } = flaw {
                let field = usize::from(*field) % end.len();
                end[field].1 = value.of(end[field].1);
            }
        }
        out.extend(directory);
        out.extend(b"PK\x05\x06");
        out.extend(bytes(&end));
        out
    }

    fn changed(&self, at: usize, central: bool, mut fields: Vec<(usize, u32)>) -> Vec<u8> {
        for flaw in self.flaws.iter().take(4) {
            if let Flaw::Field { record, central: which, field, value } = flaw
                && *which == central
                && usize::from(*record % 8) == at
            {
                let field = usize::from(*field) % fields.len();
                fields[field].1 = value.of(fields[field].1);
            }
        }
        bytes(&fields)
    }
}

fn bytes(fields: &[(usize, u32)]) -> Vec<u8> {
    fields.iter().flat_map(|(width, value)| value.to_le_bytes().into_iter().take(*width)).collect()
}

struct Pickle {
    out: Vec<u8>,
    /// Where opcodes begin.
    starts: Vec<usize>,
    memo: u32,
    container: Container,
}

impl Pickle {
    fn start(protocol: u8, container: Container) -> Pickle {
        let protocol = if container == Container::Bare { 2 + protocol % 4 } else { 2 };
        Pickle { out: vec![0x80, protocol], starts: vec![0], memo: 0, container }
    }

    fn op(&mut self, bytes: &[u8]) {
        self.starts.push(self.out.len());
        self.out.extend(bytes);
    }

    fn counted(&mut self, opcode: u8, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(300)];
        self.op(&[&[opcode][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat());
    }

    fn text(&mut self, text: &str) {
        self.counted(b'X', text.as_bytes());
    }

    fn global(&mut self, (module, name): (&str, &str)) {
        self.op(format!("c{module}\n{name}\n").as_bytes());
    }

    /// Keeps the value on the stack's top for later.
    fn put(&mut self) {
        let slot = self.memo.to_le_bytes();
        self.op(&[&b"r"[..], &slot].concat());
        self.memo += 1;
    }

    fn parts(&mut self, parts: &[Part], depth: usize) {
        self.op(b"(");
        parts.iter().take(8).for_each(|part| self.part(part, depth + 1));
    }

    fn part(&mut self, part: &Part, depth: usize) {
        if depth > DEEP {
            return self.op(b"N");
        }
        match part {
            Part::None => self.op(b"N"),
            Part::Bool(value) => self.op(if *value { b"\x88" } else { b"\x89" }),
            Part::Int(value) => match i32::try_from(*value) {
                Ok(value) => self.op(&[&b"J"[..], &value.to_le_bytes()].concat()),
                Err(_) => self.op(&[&b"\x8a\x08"[..], &value.to_le_bytes()].concat()),
            },
            Part::Long(bytes) => {
                let bytes = &bytes[..bytes.len().min(40)];
                self.op(&[&[0x8a, bytes.len() as u8][..], bytes].concat());
            }
            Part::Float(value) => self.op(&[&b"G"[..], &value.to_be_bytes()].concat()),
            Part::Text(text) => {
                let end = (0..=text.len().min(200)).rev().find(|at| text.is_char_boundary(*at));
                self.text(&text[..end.unwrap_or(0)]);
            }
            Part::Bytes(bytes) => self.counted(b'B', bytes),
            Part::Tuple(parts) => {
                self.parts(parts, depth);
                self.op(b"t");
            }
            Part::List(parts) => {
                self.op(b"]");
                self.put();
                self.parts(parts, depth);
                self.op(b"e");
            }
            Part::Dict(entries) => {
                self.op(b"}");
                self.put();
                self.op(b"(");
                for (key, value) in entries.iter().take(8) {
                    self.part(key, depth + 1);
                    self.part(value, depth + 1);
                }
                self.op(b"u");
            }
            Part::Set(parts) => {
                self.op(b"\x8f");
                self.parts(parts, depth);
                self.op(b"\x90");
            }
            Part::Call(which, parts) => {
                self.global(GLOBALS[usize::from(*which) % GLOBALS.len()]);
                self.parts(parts, depth);
                self.op(b"t");
                self.op(b"R");
                self.put();
            }
            Part::Build(object, state) => {
                self.part(object, depth + 1);
                self.part(state, depth + 1);
                self.op(b"b");
            }
            Part::Tensor { storage, offset, sizes } => self.tensor(*storage, *offset, sizes),
            Part::Parameter(tensor) => {
                self.global(("torch._utils", "_rebuild_parameter"));
                self.op(b"(");
                self.part(tensor, depth + 1);
                self.op(b"\x88");
                self.global(GLOBALS[0]);
                self.op(b")");
                self.op(b"R");
                self.op(b"t");
                self.op(b"R");
            }
            Part::Again(which) if self.memo > 0 => {
                let slot = u32::from(*which) % self.memo;
                self.op(&[&b"j"[..], &slot.to_le_bytes()].concat());
            }
            Part::Again(_) => self.op(b"N"),
        }
    }

    fn tensor(&mut self, storage: u8, offset: u8, sizes: &[u8]) {
        let int = |value: u8| [b'K', value];
        self.global(("torch._utils", "_rebuild_tensor_v2"));
        self.op(b"(");
        self.op(b"(");
        self.text("storage");
        self.global(("torch", "FloatStorage"));
        self.text(&(storage % 4).to_string());
        self.text("cpu");
        self.op(&int(storage % 17));
        if self.container == Container::Legacy {
            self.op(b"N");
        }
        self.op(b"t");
        self.op(b"Q");
        self.op(&int(offset % 4));
        for strides in [false, true] {
            self.op(b"(");
            for size in sizes.iter().take(4) {
                self.op(&int(if strides { 1 } else { size % 5 }));
            }
            self.op(b"t");
        }
        self.op(b"\x89");
        self.global(GLOBALS[0]);
        self.op(b")");
        self.op(b"R");
        self.op(b"t");
        self.op(b"R");
        self.put();
    }
}
