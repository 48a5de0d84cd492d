//! Opcodes and what they are followed by: the forms of PyTorch's C++ pickler.
//!
//! Strings and globals are remembered by content, as that pickler does.

use rustc_hash::FxHashMap;

/// Opcodes that PyTorch's C++ pickler writes.
pub(crate) mod op {
    pub(crate) const MARK: u8 = b'(';
    pub(crate) const STOP: u8 = b'.';
    pub(crate) const NONE: u8 = b'N';
    pub(crate) const NEW_TRUE: u8 = 0x88;
    pub(crate) const NEW_FALSE: u8 = 0x89;
    pub(crate) const BIN_INT1: u8 = b'K';
    pub(crate) const BIN_INT2: u8 = b'M';
    pub(crate) const BIN_INT: u8 = b'J';
    pub(crate) const LONG1: u8 = 0x8a;
    pub(crate) const BIN_FLOAT: u8 = b'G';
    pub(crate) const BIN_UNICODE: u8 = b'X';
    pub(crate) const BIN_PUT: u8 = b'q';
    pub(crate) const LONG_BIN_PUT: u8 = b'r';
    pub(crate) const BIN_GET: u8 = b'h';
    pub(crate) const LONG_BIN_GET: u8 = b'j';
    pub(crate) const GLOBAL: u8 = b'c';
    pub(crate) const EMPTY_TUPLE: u8 = b')';
    pub(crate) const TUPLE: u8 = b't';
    pub(crate) const TUPLE1: u8 = 0x85;
    pub(crate) const TUPLE2: u8 = 0x86;
    pub(crate) const TUPLE3: u8 = 0x87;
    pub(crate) const EMPTY_LIST: u8 = b']';
    pub(crate) const APPENDS: u8 = b'e';
    pub(crate) const EMPTY_DICT: u8 = b'}';
    pub(crate) const SET_ITEMS: u8 = b'u';
    pub(crate) const REDUCE: u8 = b'R';
    pub(crate) const NEW_OBJ: u8 = 0x81;
    pub(crate) const BUILD: u8 = b'b';
    pub(crate) const BIN_PERSID: u8 = b'Q';
}

/// A pickle being written, opcode by opcode.
#[derive(Default)]
pub(crate) struct Opcodes {
    pub(crate) bytes: Vec<u8>,
    next_memo: u32,
    texts: FxHashMap<Box<str>, u32>,
    globals: FxHashMap<Box<str>, u32>,
}

impl Opcodes {
    /// A pickle of protocol 2.
    pub(crate) fn start() -> Self {
        Opcodes { bytes: vec![0x80, 2], ..Opcodes::default() }
    }

    pub(crate) fn ops(&mut self, ops: &[u8]) {
        self.bytes.extend(ops);
    }

    /// A list of ints, as `build_intlist` takes it.
    pub(crate) fn int_list(&mut self, values: impl IntoIterator<Item = i64>) {
        self.global("torch.jit._pickle", "build_intlist");
        self.ops(&[op::MARK, op::EMPTY_LIST, op::MARK]);
        for value in values {
            self.int(value);
        }
        self.ops(&[op::APPENDS, op::TUPLE, op::REDUCE]);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn put(&mut self) -> u32 {
        let memo = self.next_memo;
        self.next_memo += 1;
        match u8::try_from(memo) {
            Ok(short) => self.bytes.extend([op::BIN_PUT, short]),
            Err(_) => {
                self.byte(op::LONG_BIN_PUT);
                self.bytes.extend(memo.to_le_bytes());
            }
        }
        memo
    }

    pub(crate) fn get(&mut self, memo: u32) {
        match u8::try_from(memo) {
            Ok(short) => self.bytes.extend([op::BIN_GET, short]),
            Err(_) => {
                self.byte(op::LONG_BIN_GET);
                self.bytes.extend(memo.to_le_bytes());
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        if let Some(&memo) = self.texts.get(text) {
            return self.get(memo);
        }
        self.byte(op::BIN_UNICODE);
        self.bytes.extend((text.len() as u32).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        let memo = self.put();
        self.texts.insert(text.into(), memo);
    }

    pub(crate) fn global(&mut self, module: &str, name: &str) {
        let key = format!("{module}\n{name}\n").into_boxed_str();
        if let Some(&memo) = self.globals.get(&key) {
            return self.get(memo);
        }
        self.byte(op::GLOBAL);
        self.bytes.extend(key.as_bytes());
        let memo = self.put();
        self.globals.insert(key, memo);
    }

    pub(crate) fn int(&mut self, value: i64) {
        if let Ok(value) = u8::try_from(value) {
            self.bytes.extend([op::BIN_INT1, value]);
        } else if let Ok(value) = u16::try_from(value) {
            self.byte(op::BIN_INT2);
            self.bytes.extend(value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.byte(op::BIN_INT);
            self.bytes.extend(value.to_le_bytes());
        } else {
            self.bytes.extend([op::LONG1, 8]);
            self.bytes.extend(value.to_le_bytes());
        }
    }

    pub(crate) fn float(&mut self, value: f64) {
        self.byte(op::BIN_FLOAT);
        self.bytes.extend(value.to_be_bytes());
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.byte(if value { op::NEW_TRUE } else { op::NEW_FALSE });
    }
}
