//! The header of a `.npy` file: the literal of a Python dictionary with three keys.

use crate::{ByteOrder, DType, Dims};

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    pub(super) order: ByteOrder,
    pub(super) fortran: bool,
    pub(super) shape: Dims,
}

/// Where in the text something is wrong, and what.
pub(super) type Fault = (usize, String);

/// Reads the text. NumPy evaluates a literal; this reads the only form it can have: a flat
/// dictionary of strings, one truth value and one tuple, in any order.
pub(super) fn parse(text: &str) -> Result<Header, Fault> {
    let mut reader = Reader { text, at: 0 };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    reader.expect('{')?;
    while !reader.take('}') {
        let at = reader.skip();
        let key = reader.string()?;
        reader.expect(':')?;
        let fresh = match key {
            "descr" => descr.replace((reader.skip(), reader.string()?)).is_none(),
            "fortran_order" => fortran.replace(reader.boolean()?).is_none(),
            "shape" => shape.replace(reader.tuple()?).is_none(),
            other => return Err((at, format!("unexpected key '{other}'"))),
        };
        if !fresh {
            return Err((at, format!("key '{key}' twice")));
        }
        if !reader.take(',') {
            reader.expect('}')?;
            break;
        }
    }
    let end = reader.skip();
    if end != text.len() {
        return Err((end, "text behind the dictionary".into()));
    }
    let (Some((at, descr)), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err((0, "header does not hold all of descr, fortran_order and shape".into()));
    };
    let (dtype, order) = element_type(descr).ok_or_else(|| {
        let what =
            if descr.contains('O') { "Python objects are not read" } else { "unsupported dtype" };
        (at, format!("{what}: descr '{descr}'"))
    })?;
    Ok(Header { dtype, order, fortran, shape })
}

/// `<f4`, `>i8`, `|b1`, `=u2`.
fn element_type(descr: &str) -> Option<(DType, ByteOrder)> {
    let code = descr.trim_start_matches(['<', '>', '|', '=']);
    if descr.len() > code.len() + 1 {
        return None;
    }
    let dtype =
        DType::all().find(|dtype| dtype.numpy_descr().is_some_and(|known| &known[1..] == code))?;
    let order = match descr.as_bytes()[0] {
        b'<' => ByteOrder::Little,
        b'>' => ByteOrder::Big,
        b'|' if dtype.item_size() > 1 => return None,
        _ => ByteOrder::native(),
    };
    Some((dtype, order))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes on to what is not white space.
    fn skip(&mut self) -> usize {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.at
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), Fault> {
        if self.take(mark) { Ok(()) } else { Err((self.at, format!("'{mark}' expected"))) }
    }

    fn string(&mut self) -> Result<&'a str, Fault> {
        let quote = if self.take('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let Some(end) = self.rest().find([quote, '\\']) else {
            return Err((self.at, "string does not end".into()));
        };
        let string = &self.rest()[..end];
        if !self.rest()[end..].starts_with(quote) {
            return Err((self.at + end, "escape in a string".into()));
        }
        self.at += end + 1;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        self.skip();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err((self.at, "True or False expected".into()))
    }

    fn tuple(&mut self) -> Result<Dims, Fault> {
        self.expect('(')?;
        let mut sizes = Dims::new();
        while !self.take(')') {
            let at = self.skip();
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            let number = self.rest()[..digits].parse::<i64>();
            sizes.push(number.map_err(|_| (at, "a size expected".to_owned()))?);
            self.at += digits;
            // Python 2 wrote large numbers as `3L`.
            if self.rest().starts_with('L') {
                self.at += 1;
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_numpy_writes_or_reads() {
        let want = |order, fortran, shape: &[i64]| Header {
            dtype: DType::Int16,
            order,
            fortran,
            shape: Dims::from_slice(shape),
        };
        let cases = [
            (
                "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }  \n",
                want(ByteOrder::Little, false, &[2, 3]),
            ),
            (
                "{\"shape\":(3,),'fortran_order':True,'descr':'>i2'}",
                want(ByteOrder::Big, true, &[3]),
            ),
            (
                "{'descr': '<i2', 'fortran_order': False, 'shape': (3L,), }",
                want(ByteOrder::Little, false, &[3]),
            ),
            (
                "{'descr': '<i2', 'fortran_order': False, 'shape': ()}",
                want(ByteOrder::Little, false, &[]),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let cases = [
            "",
            "{",
            "{}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)} x",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (-2,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<i2', 'fortran_order': 1, 'shape': (2,)}",
            "{'descr': '<i2', 'descr': '<i2', 'fortran_order': True, 'shape': (2,)}",
            "{'descr': '<i2', 'fortran_order': True, 'shape': (2,), 'more': 'x'}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<<i2', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2 3)}",
        ];
        for text in cases {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
