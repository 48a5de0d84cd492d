//! Pickles written opcode by opcode, and the containers around them.

/// A pickle in the making.
#[derive(Clone, Default)]
pub(crate) struct Pickle(pub(crate) Vec<u8>);

impl Pickle {
    /// A pickle that says its protocol.
    pub(crate) fn new(protocol: u8) -> Pickle {
        Pickle(vec![0x80, protocol])
    }

    /// These opcodes next.
    pub(crate) fn raw(mut self, bytes: impl AsRef<[u8]>) -> Pickle {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// These opcodes so many times.
    pub(crate) fn times(mut self, count: usize, bytes: impl AsRef<[u8]>) -> Pickle {
        self.0.extend(bytes.as_ref().repeat(count));
        self
    }

    /// What `write` adds, so many times.
    pub(crate) fn each(self, count: usize, write: impl Fn(Pickle, usize) -> Pickle) -> Pickle {
        (0..count).fold(self, write)
    }

    pub(crate) fn global(self, module: &str, name: &str) -> Pickle {
        self.raw(format!("c{module}\n{name}\n"))
    }

    pub(crate) fn text(self, text: &str) -> Pickle {
        self.raw(b"X").raw((text.len() as u32).to_le_bytes()).raw(text)
    }

    pub(crate) fn int(self, number: i64) -> Pickle {
        self.raw(b"\x8a\x08").raw(number.to_le_bytes())
    }

    pub(crate) fn put(self, slot: u32) -> Pickle {
        self.raw(b"r").raw(slot.to_le_bytes())
    }

    pub(crate) fn get(self, slot: u32) -> Pickle {
        self.raw(b"j").raw(slot.to_le_bytes())
    }

    /// A tuple of ints.
    pub(crate) fn dims(self, dims: &[i64]) -> Pickle {
        dims.iter().fold(self.raw(b"("), |pickle, &dim| pickle.int(dim)).raw(b"t")
    }

    /// The persistent id of a storage of floats.
    pub(crate) fn storage(self, key: &str, numel: i64) -> Pickle {
        self.storage_of("FloatStorage", key, numel)
    }

    pub(crate) fn storage_of(self, class: &str, key: &str, numel: i64) -> Pickle {
        let pickle = self.raw(b"(").text("storage").global("torch", class);
        pickle.text(key).text("cpu").int(numel).raw(b"tQ")
    }

    /// A view of 4 floats.
    pub(crate) fn tensor(self, offset: i64, sizes: &[i64], strides: &[i64]) -> Pickle {
        self.view("0", 4, offset, sizes, strides)
    }

    pub(crate) fn view(
        self,
        key: &str,
        numel: i64,
        offset: i64,
        sizes: &[i64],
        strides: &[i64],
    ) -> Pickle {
        let pickle = self.global("torch._utils", "_rebuild_tensor_v2").raw(b"(");
        let pickle = pickle.storage(key, numel).int(offset).dims(sizes).dims(strides);
        pickle.raw(b"\x89ccollections\nOrderedDict\n)RtR")
    }

    /// The bytes, with STOP.
    pub(crate) fn end(self) -> Vec<u8> {
        self.raw(b".").0
    }

    /// A checkpoint whose object this is, with one storage of 16 bytes.
    pub(crate) fn zip(self) -> Vec<u8> {
        zip(&[("a/data.pkl", &self.end()), ("a/version", b"3\n"), ("a/data/0", &[0; 16])])
    }

    /// A legacy stream whose object this is, with no storages.
    pub(crate) fn legacy(self) -> Vec<u8> {
        self.legacy_with(b"\x80\x02].")
    }

    /// A legacy stream whose object this is, and what follows it: the keys, then the storages.
    pub(crate) fn legacy_with(self, rest: &[u8]) -> Vec<u8> {
        let magic = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.";
        [&magic[..], b"\x80\x02}.", &self.end(), rest].concat()
    }
}

/// A stored zip archive.
pub(crate) fn zip(records: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in records {
        let at = (out.len() as u32).to_le_bytes();
        let len = (data.len() as u32).to_le_bytes();
        let name_len = [(name.len() as u16).to_le_bytes(), [0; 2]].concat();
        // Version, flags, method, time and checksum 0; then two sizes, and the name's length.
        let shared = [&[0; 14][..], &len, &len, &name_len].concat();
        out.extend([b"PK\x03\x04", &shared[..], name.as_bytes(), data].concat());
        directory.extend([b"PK\x01\x02\0\0", &shared[..], &[0; 10]].concat());
        directory.extend([&at[..], name.as_bytes()].concat());
    }
    let count = (records.len() as u16).to_le_bytes();
    let (at, size) = ((out.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    out.extend(directory);
    out.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &size, &at, &[0; 2]].concat());
    out
}
