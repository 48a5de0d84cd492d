//! Files put together from parts: archives, and pickles of tensors. Small writers of their own, so
//! that they can also write what no good writer would.

use arbitrary::Arbitrary;

/// A stored zip archive of these records, checksums left 0 as PyTorch may.
pub fn zip(records: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in records {
        let at = out.len() as u32;
        let mut fixed = [0; 22];
        let len = (data.len() as u32).to_le_bytes();
        fixed[10..14].copy_from_slice(&len);
        fixed[14..18].copy_from_slice(&len);
        fixed[18..20].copy_from_slice(&(name.len() as u16).to_le_bytes());
        let local = [b"PK\x03\x04\0\0\0\0", &fixed[..]].concat();
        out.extend([&local[..26], &fixed[18..22], name.as_bytes(), data].concat());
        directory.extend([b"PK\x01\x02\0\0\0\0\0\0", &fixed[..]].concat());
        directory.extend([&[0; 10][..], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, size) = (out.len() as u32, directory.len() as u32);
    let count = (records.len() as u16).to_le_bytes();
    out.extend(directory);
    out.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count].concat());
    out.extend([&size.to_le_bytes()[..], &at.to_le_bytes(), b"\0\0"].concat());
    out
}

/// A tar archive of these members.
pub fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, data) in members {
        let mut block = vec![0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        block[148..157].copy_from_slice(b"        0");
        block[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(*data);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// A checkpoint for the fuzzer to choose.
#[derive(Debug, Arbitrary)]
pub struct Model {
    storages: Vec<(u8, u8)>,
    tensors: Vec<Described>,
    big_endian: bool,
}

/// How a tensor is described.
#[derive(Debug, Arbitrary)]
struct Described {
    how: u8,
    storage: u8,
    class: Option<u8>,
    numel: Option<Number>,
    offset: Number,
    dims: Vec<(Number, Number)>,
    dtype: u8,
    /// Earlier tensors that it is made of.
    parts: [u8; 4],
}

#[derive(Debug, Arbitrary)]
enum Number {
    Small(u8),
    Any(i64),
    Edge(u8),
}

impl Number {
    fn get(&self) -> i64 {
        match self {
            Number::Small(number) => i64::from(number % 8),
            Number::Any(number) => *number,
            Number::Edge(shift) => 1i64.rotate_left(u32::from(*shift)).wrapping_sub(1),
        }
    }
}

const CLASSES: [(&str, usize); 12] = [
    ("FloatStorage", 4),
    ("DoubleStorage", 8),
    ("HalfStorage", 2),
    ("BFloat16Storage", 2),
    ("LongStorage", 8),
    ("IntStorage", 4),
    ("ByteStorage", 1),
    ("BoolStorage", 1),
    ("ComplexDoubleStorage", 16),
    ("QInt8Storage", 1),
    ("QUInt4x2Storage", 1),
    ("UntypedStorage", 1),
];
const DTYPES: [&str; 8] =
    ["float32", "int64", "uint8", "bool", "complex64", "float8_e4m3fn", "uint16", "bits4x2"];
const LAYOUTS: [&str; 5] = [
    "torch.sparse_coo",
    "torch.sparse_csr",
    "torch.sparse_csc",
    "torch.sparse_bsr",
    "torch.strided",
];

impl Model {
    /// The checkpoint as torch.save would have written it, had it been given such things.
    pub fn file(&self) -> Vec<u8> {
        let mut pickle = Pickle(b"\x80\x02](".to_vec());
        for (at, tensor) in self.tensors.iter().take(24).enumerate() {
            pickle.tensor(self, tensor, at as u32);
            pickle.0.push(b'r');
            pickle.0.extend((at as u32).to_le_bytes());
        }
        pickle.0.extend(b"e.");
        let record = |name: &str, data: &[u8]| (format!("archive/{name}"), data.to_vec());
        let order = if self.big_endian { "big" } else { "little" };
        let mut records = vec![
            record("data.pkl", &pickle.0),
            record("version", b"3\n"),
            record("byteorder", order.as_bytes()),
        ];
        for (at, &(_, len)) in self.storages.iter().take(8).enumerate() {
            let data: Vec<u8> = (0..len & 0xf0).map(|byte| byte % 7 * (byte % 2)).collect();
            records.push(record(&format!("data/{at}"), &data));
        }
        zip(&records)
    }
}

struct Pickle(Vec<u8>);

impl Pickle {
    fn global(&mut self, module: &str, name: &str) {
        self.0.extend(format!("c{module}\n{name}\n").bytes());
    }

    fn int(&mut self, number: i64) {
        self.0.extend(b"\x8a\x08");
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.0.extend(b"X");
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.bytes());
    }

    fn dims(&mut self, dims: impl Iterator<Item = i64>) {
        self.0.push(b'(');
        dims.take(6).for_each(|dim| self.int(dim));
        self.0.push(b't');
    }

    fn earlier(&mut self, part: u8, at: u32) {
        self.0.push(b'j');
        self.0.extend((u32::from(part) % at.max(1)).to_le_bytes());
    }

    fn view(&mut self, model: &Model, tensor: &Described) {
        let count = model.storages.len().clamp(1, 8);
        let key = usize::from(tensor.storage) % count;
        let (class, len) = model.storages.get(key).copied().unwrap_or_default();
        let (class, size) = CLASSES[usize::from(tensor.class.unwrap_or(class)) % CLASSES.len()];
        self.0.push(b'(');
        self.text("storage");
        self.global("torch", class);
        self.text(&key.to_string());
        self.text("cpu");
        self.int(tensor.numel.as_ref().map_or((len & 0xf0) as i64 / size as i64, Number::get));
        self.0.extend(b"tQ");
        self.int(tensor.offset.get());
        self.dims(tensor.dims.iter().map(|dim| dim.0.get()));
        self.dims(tensor.dims.iter().map(|dim| dim.1.get()));
    }

    fn tensor(&mut self, model: &Model, tensor: &Described, at: u32) {
        let parts = tensor.parts;
        let dtype = DTYPES[usize::from(tensor.dtype) % DTYPES.len()];
        let sizes = || tensor.dims.iter().map(|dim| dim.0.get());
        match tensor.how % 8 {
            4 => {
                self.global("torch._utils", "_rebuild_parameter");
                self.0.push(b'(');
                self.earlier(parts[0], at);
                self.0.extend(b"\x88ccollections\nOrderedDict\n)RtR");
            }
            5 => {
                self.global("torch._utils", "_rebuild_sparse_tensor");
                self.0.extend(b"(ctorch.serialization\n_get_layout\n");
                let layout = usize::from(tensor.dtype) % LAYOUTS.len();
                self.text(LAYOUTS[layout]);
                self.0.extend(b"\x85R(");
                let count = if layout == 0 { 2 } else { 3 };
                parts[..count].iter().for_each(|&part| self.earlier(part, at));
                self.dims(sizes());
                self.0.extend(b"ttR");
            }
            6 => {
                self.global("torch._utils", "_rebuild_nested_tensor");
                self.0.push(b'(');
                parts.iter().for_each(|&part| self.earlier(part, at));
                self.0.extend(b"tR");
            }
            7 => {
                self.global("torch._utils", "_rebuild_qtensor");
                self.0.push(b'(');
                self.view(model, tensor);
                self.0.push(b'(');
                if tensor.dtype.is_multiple_of(2) {
                    self.global("torch", "per_tensor_affine");
                    self.0.extend(b"G?\xb9\x99\x99\x99\x99\x99\x9aK\x03");
                } else {
                    self.global("torch", "per_channel_affine");
                    parts[..2].iter().for_each(|&part| self.earlier(part, at));
                    self.int(i64::from(parts[2]) % 8);
                }
                self.0.extend(b"t\x89NtR");
            }
            3 => {
                self.global("torch._utils", "_rebuild_tensor_v3");
                self.0.push(b'(');
                self.view(model, tensor);
                self.0.extend(b"\x89N");
                self.global("torch", dtype);
                self.0.extend(b"tR");
            }
            how => {
                self.global("torch._utils", "_rebuild_tensor_v2");
                self.0.push(b'(');
                self.view(model, tensor);
                self.0.extend(b"\x89N");
                if how == 2 {
                    self.0.push(b'}');
                    self.text("conj");
                    self.0.push(0x88);
                    self.0.push(b's');
                }
                self.0.extend(b"tR");
            }
        }
    }
}
