//! What older protocols write for values that they have no opcode for, and the names of classes and
//! functions: calls of functions that the encoder names itself.
//!
//! CPython makes strs and tuples for these as it goes. They take memo slots like all others, but
//! nothing refers to them again, save what is one object in all of Python.

use super::error::EncodeError;
use super::python2_names::classic;
use super::scalars;
use super::walk::{Encoder, Named, Slot};
use crate::arena::{NameParts, Node, Value};
use crate::opcode::byte as op;

/// Most classes around a class; for each, its whole name is looked at.
const MAX_NESTED: usize = 100;

impl<'b> Encoder<'b, '_> {
    /// Begins a tuple of the encoder's own.
    pub(super) fn open_own_tuple(&mut self, count: usize) {
        if self.protocol < 2 || count > 3 {
            self.out.byte(op::MARK);
        }
    }

    pub(super) fn close_own_tuple(&mut self, count: usize) -> Result<(), EncodeError> {
        self.tuple_opcode(count);
        self.put_own().map(drop)
    }

    // ---- bytes and bytearrays ----

    /// A bytes object, not memoized. Before protocol 3, by its text in Latin-1.
    pub(super) fn bytes(&mut self, value: Value, data: &[u8]) -> Result<(), EncodeError> {
        if self.protocol >= 3 {
            return scalars::bytes(&mut self.out, self.protocol, value, data);
        }
        if data.is_empty() {
            self.own_global(value, "builtins", "bytes")?;
            self.empty_tuple();
            self.out.byte(op::REDUCE);
            return Ok(());
        }
        self.own_global(value, "_codecs", "encode")?;
        self.open_own_tuple(2);
        if let &[byte] = data {
            self.char(value, byte)?;
        } else {
            let text: String = data.iter().map(|&byte| char::from(byte)).collect();
            scalars::text(&mut self.out, self.protocol, value, text.as_bytes())?;
            self.put_own()?;
        }
        self.own_text(value, "latin1")?;
        self.close_own_tuple(2)?;
        self.out.byte(op::REDUCE);
        Ok(())
    }

    /// A bytearray, not memoized. Before protocol 5, by a bytes object.
    pub(super) fn bytearray(&mut self, value: Value, data: &[u8]) -> Result<(), EncodeError> {
        if self.protocol >= 5 {
            return scalars::bytearray(&mut self.out, data);
        }
        self.out.boundary()?;
        self.own_global(value, "builtins", "bytearray")?;
        self.out.boundary()?;
        if data.is_empty() {
            self.empty_tuple();
        } else {
            self.open_own_tuple(1);
            self.out.boundary()?;
            self.bytes(value, data)?;
            self.put_own()?;
            self.close_own_tuple(1)?;
        }
        self.out.byte(op::REDUCE);
        Ok(())
    }

    // ---- strs ----

    /// A str of the encoder's own that is one object wherever it stands.
    fn own_text(&mut self, value: Value, text: &'b str) -> Result<(), EncodeError> {
        if let Some(named) = self.texts.get(text) {
            let slot = named.slot;
            self.get(slot);
            return Ok(());
        }
        scalars::text(&mut self.out, self.protocol, value, text.as_bytes())?;
        let slot = self.put_own()?;
        self.texts.insert(text, Named { slot, own: true });
        Ok(())
    }

    /// A str of one character up to U+00FF, of which CPython has only one each.
    pub(super) fn char(&mut self, value: Value, character: u8) -> Result<Slot, EncodeError> {
        let known = self.chars.as_ref().and_then(|chars| chars[usize::from(character)]);
        if let Some(slot) = known {
            self.get(slot);
            return Ok(slot);
        }
        let mut text = [0; 2];
        let text = char::from(character).encode_utf8(&mut text);
        scalars::text(&mut self.out, self.protocol, value, text.as_bytes())?;
        let slot = self.put_own()?;
        self.chars.get_or_insert_with(|| Box::new([None; 256]))[usize::from(character)] =
            Some(slot);
        Ok(slot)
    }

    // ---- classes and functions ----

    /// A class or function of the encoder's own, for `value`.
    pub(super) fn own_global(
        &mut self,
        value: Value,
        module: &'static str,
        name: &'static str,
    ) -> Result<(), EncodeError> {
        let key = self.written_name(module, name);
        if let Some(named) = self.named.get(&key) {
            let slot = named.slot;
            self.get(slot);
            return Ok(());
        }
        self.global_opcode(value, None, key)?;
        let slot = self.put_own()?;
        self.named.insert(key, Named { slot, own: true });
        Ok(())
    }

    /// A class or function of the arena that is not in the memo. Gives its slot.
    pub(super) fn global(
        &mut self,
        value: Value,
        module: &'b str,
        name: &'b str,
    ) -> Result<Slot, EncodeError> {
        let key = self.key(module, name);
        if let Some(named) = self.named.get(&key)
            && named.own
        {
            let slot = named.slot;
            self.get(slot);
            return Ok(slot);
        }
        if self.protocol < 4 && name.contains('.') {
            self.nested_global(value, module, name)?;
        } else {
            self.global_opcode(value, self.arena.name_parts(value), key)?;
        }
        let slot = self.put_own()?;
        self.named.entry(key).or_insert(Named { slot, own: false });
        Ok(slot)
    }

    /// Module and name as the protocol has them.
    fn written_name(&self, module: &'b str, name: &'b str) -> (&'b str, &'b str) {
        if self.protocol < 3 && self.fix_imports { classic(module, name) } else { (module, name) }
    }

    /// `parts`: the strs that are known to hold the name, if any.
    fn global_opcode(
        &mut self,
        value: Value,
        parts: Option<NameParts>,
        (module, name): (&'b str, &'b str),
    ) -> Result<(), EncodeError> {
        if self.protocol >= 4 {
            return self.stack_global(value, parts, [module, name]);
        }
        let protocol = self.protocol;
        for (is_module, text) in [(true, module), (false, name)] {
            if text.contains('\n') || (protocol < 3 && !text.is_ascii()) {
                let text = text.into();
                return Err(EncodeError::Identifier { module: is_module, text, protocol });
            }
        }
        self.out.byte(op::GLOBAL);
        for text in [module, name] {
            self.out.write(text.as_bytes());
            self.out.byte(b'\n');
        }
        Ok(())
    }

    /// By two strs: its own, or those that it was read with; otherwise equal names are one object, as
    /// names in Python's programs are.
    fn stack_global(
        &mut self,
        value: Value,
        parts: Option<NameParts>,
        names: [&'b str; 2],
    ) -> Result<(), EncodeError> {
        let is_str = |&part: &Value| matches!(self.arena.node(part), Node::Str(_));
        let parts = parts.filter(|parts| parts.texts.iter().all(is_str));
        for (place, text) in names.into_iter().enumerate() {
            let Some(NameParts { texts, own }) = parts else {
                self.out.boundary()?;
                self.own_text(value, text)?;
                continue;
            };
            let part = texts[place];
            if own {
                self.save(part)?;
                continue;
            }
            if self.slot(part).is_none()
                && let Some(named) = self.texts.get(text)
                && named.own
            {
                let slot = named.slot;
                self.remember(part, slot);
            }
            self.save(part)?;
            if let Some(slot) = self.slot(part) {
                self.texts.entry(text).or_insert(Named { slot, own: false });
            }
        }
        self.out.byte(op::STACK_GLOBAL);
        Ok(())
    }

    /// A class in a class, before protocol 4: `getattr(outer, name)`, not memoized.
    fn nested_global(
        &mut self,
        value: Value,
        module: &'b str,
        name: &'b str,
    ) -> Result<(), EncodeError> {
        let mut ends: Vec<usize> = name.match_indices('.').map(|(place, _)| place).collect();
        if ends.len() > MAX_NESTED {
            let what = "a name of more than 100 parts";
            return Err(EncodeError::NeedsProtocol { value, what, least: 4 });
        }
        // The names that are not in the memo, from the inner to the outer.
        let mut known = None;
        let mut inner = Vec::new();
        while let Some(end) = ends.pop() {
            inner.push(end);
            self.own_global(value, "builtins", "getattr")?;
            self.open_own_tuple(2);
            known = self.named.get(&self.key(module, &name[..end])).map(|named| named.slot);
            if known.is_some() {
                break;
            }
        }
        let Some(&outermost) = inner.last() else { return Ok(()) };
        match known {
            Some(slot) => self.get(slot),
            None => {
                let key = self.key(module, &name[..outermost]);
                self.global_opcode(value, None, key)?;
                let slot = self.put_own()?;
                self.named.insert(key, Named { slot, own: true });
            }
        }
        while let Some(end) = inner.pop() {
            let rest = &name[end + 1..];
            let attribute = rest.split_once('.').map_or(rest, |(attribute, _)| attribute);
            match u8::try_from(attribute.chars().next().unwrap_or('\u{100}')) {
                Ok(character) if attribute.chars().count() == 1 => {
                    self.char(value, character)?;
                }
                _ => {
                    scalars::text(&mut self.out, self.protocol, value, attribute.as_bytes())?;
                    self.put_own()?;
                }
            }
            self.close_own_tuple(2)?;
            self.out.byte(op::REDUCE);
            if let Some(&next) = inner.last() {
                let slot = self.put_own()?;
                let key = self.key(module, &name[..next]);
                self.named.insert(key, Named { slot, own: true });
            }
        }
        Ok(())
    }

    /// What a global is known by: only a module's own names have others in Python 2.
    fn key(&self, module: &'b str, name: &'b str) -> (&'b str, &'b str) {
        if name.contains('.') { (module, name) } else { self.written_name(module, name) }
    }
}
