//! Writes the methods of a mobile module as `bytecode.pkl`, the record of archives for mobile devices.

use std::collections::BTreeMap;

use sconce_tensor::DType;

use super::flatbuffer::{Buffer, Table, Vector};
use super::pickler::{Pickler, malformed};
use crate::{Error, ErrorKind};

/// The instructions by number: `torch::jit::OpCode`.
const INSTRUCTIONS: [&str; 51] = [
    "OP",
    "OPN",
    "LOAD",
    "MOVE",
    "STOREN",
    "STORE",
    "DROP",
    "DROPR",
    "LOADC",
    "JF",
    "JMP",
    "LOOP",
    "RET",
    "WAIT",
    "CALL",
    "GUARD",
    "TYPECHECK",
    "FAIL_GUARD",
    "PROFILE_OP",
    "TAIL_CALL",
    "INTERFACE_CALL",
    "GET_ATTR",
    "SET_ATTR",
    "LIST_UNPACK",
    "TUPLE_CONSTRUCT",
    "NAMED_TUPLE_CONSTRUCT",
    "LIST_CONSTRUCT",
    "DICT_CONSTRUCT",
    "CREATE_OBJECT",
    "ISINSTANCE",
    "TUPLE_SLICE",
    "TUPLE_INDEX",
    "RAISE_EXCEPTION",
    "DICT_INDEX",
    "UNCHECKED_CAST",
    "__IS__",
    "UN_INITIALIZED",
    "__ISNOT__",
    "FORMAT",
    "DEVICE",
    "DTYPE",
    "DIM",
    "__NOT__",
    "TO_LIST",
    "NUM_TO_TENSOR",
    "IS_CUDA",
    "FORK",
    "WARN",
    "ENTER",
    "EXIT",
    "AWAITABLE",
];

/// The bytes of an instruction: its number, a byte that is not used, `N` and `X`.
const INSTRUCTION: usize = 8;

/// The kind of a value that is a function (`IValueUnion`).
const FUNCTION: u8 = 16;

impl<'a> Pickler<'a> {
    /// The pickle of methods, whose values these numbers name.
    pub(super) fn methods(
        mut self,
        version: u32,
        methods: Vector<'a>,
    ) -> Result<(Vec<u8>, BTreeMap<u32, DType>), Error> {
        self.ops(b"(");
        self.int(i64::from(version));
        for method in methods.u32s() {
            let index = method?;
            self.method(index).map_err(|error| {
                error.with_note(format!("in function {index} of the flatbuffer"))
            })?;
        }
        self.ops(b"t.");
        Ok(self.finish())
    }

    fn method(&mut self, index: u32) -> Result<(), Error> {
        let value = self.value_table(index)?;
        if value.u8(4)? != FUNCTION {
            return Err(malformed(format!("value {index} of the flatbuffer is no function")));
        }
        let function = value
            .table(6)?
            .ok_or_else(|| malformed(format!("value {index} of the flatbuffer is empty")))?;
        self.ops(b"(");
        self.text(function.text(4)?);
        self.ops(b"(");
        self.entry("instructions", |own| own.instructions(function))?;
        self.entry("operators", |own| own.operators(function))?;
        self.entry("constants", |own| own.values(function.vector(10, 4)?))?;
        self.entry("types", |own| {
            for ty in function.vector(12, 4)?.texts() {
                own.text(ty?);
                own.check_size()?;
            }
            Ok(())
        })?;
        self.ops(b"(");
        self.text("register_size");
        self.int(i64::from(function.number(14, Buffer::i32)?.unwrap_or(0)));
        self.ops(b"tt(");
        let schema = function.table(16)?;
        for (name, slot) in [("arguments", 4), ("returns", 6)] {
            self.entry(name, |own| match schema {
                Some(schema) => own.formals(schema.vector(slot, 4)?),
                None => Ok(()),
            })?;
        }
        self.ops(b"tt");
        self.check_size()
    }

    /// A row of a table: a name and a tuple.
    fn entry(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.ops(b"(");
        self.text(name);
        self.ops(b"(");
        write(self)?;
        self.ops(b"tt");
        Ok(())
    }

    fn instructions(&mut self, function: Table<'a>) -> Result<(), Error> {
        for (at, bytes) in function.vector(6, INSTRUCTION)?.structs::<INSTRUCTION>().enumerate() {
            let [number, _, n0, n1, x0, x1, x2, x3] = bytes?;
            let name = INSTRUCTIONS.get(usize::from(number)).ok_or_else(|| {
                let message = format!("instruction {at} has the number {number}, which is none");
                Error::new(ErrorKind::Unsupported, message)
            })?;
            self.ops(b"(");
            self.text(name);
            self.int(i64::from(i32::from_le_bytes([x0, x1, x2, x3])));
            self.int(i64::from(u16::from_le_bytes([n0, n1])));
            self.ops(b"t");
            self.check_size()?;
        }
        Ok(())
    }

    /// A name, an overload, and how many arguments calls give where that is said.
    fn operators(&mut self, function: Table<'a>) -> Result<(), Error> {
        for operator in function.vector(8, 4)?.tables() {
            let operator = operator?;
            self.ops(b"(");
            self.text(operator.text(4)?);
            self.text(operator.text(6)?);
            let count = operator.number(8, Buffer::i32)?.unwrap_or(-1);
            if count >= 0 {
                self.int(i64::from(count));
            }
            self.ops(b"t");
            self.check_size()?;
        }
        Ok(())
    }

    fn formals(&mut self, formals: Vector<'a>) -> Result<(), Error> {
        for formal in formals.tables() {
            let formal = formal?;
            self.ops(b"(");
            for (name, slot) in [("name", 4), ("type", 6)] {
                self.ops(b"(");
                self.text(name);
                self.text(formal.text(slot)?);
                self.ops(b"t");
            }
            self.ops(b"(");
            self.text("default_value");
            self.nested(formal.u32(8)?)?;
            self.ops(b"tt");
            self.check_size()?;
        }
        Ok(())
    }

    fn values(&mut self, values: Vector<'a>) -> Result<(), Error> {
        for value in values.u32s() {
            self.nested(value?)?;
        }
        Ok(())
    }
}
