//! CSV and TSV.

use super::escape::escape;

/// Which separated format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separated {
    /// RFC 4180, with lines ended by `\n`.
    Comma,
    /// Cells without tabs or line ends: those are spelled out.
    Tab,
}

impl Separated {
    /// A row with its line end.
    ///
    /// Hostile characters are spelled out, line ends and tabs too. In CSV a cell that a spreadsheet
    /// would take for a formula is preceded by an apostrophe. JSON keeps names as they are.
    pub fn row(self, cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        let cells: Vec<String> = cells.into_iter().map(|cell| self.cell(cell.as_ref())).collect();
        cells.join(if self == Separated::Comma { "," } else { "\t" }) + "\n"
    }

    fn cell(self, cell: &str) -> String {
        let cell = escape(cell).into_owned();
        if self == Separated::Tab {
            return cell;
        }
        let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
        let cell = if formula { format!("'{cell}") } else { cell };
        if cell.contains([',', '"', '\'']) || cell != cell.trim() {
            return format!("\"{}\"", cell.replace('"', "\"\""));
        }
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let cells = ["a", "b,c", "d\"e", "=1+1", "-5", "x\ny"];
        assert_eq!(Separated::Comma.row(cells), "a,\"b,c\",\"d\"\"e\",\"'=1+1\",-5,x\\ny\n");
        assert_eq!(Separated::Tab.row(["a\tb", "c\nd"]), "a\\tb\tc\\nd\n");
    }
}
