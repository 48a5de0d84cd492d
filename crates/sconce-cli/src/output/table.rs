//! Aligned columns, the same on a terminal and in a pipe but for the header's colour and the cut.

use unicode_width::UnicodeWidthStr;

use super::escape::escape;
use super::line::prefix;
use super::{Line, Style};

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Cells below this width say nothing any more.
const NARROWEST: usize = 12;

#[derive(Debug, Clone)]
struct Column {
    title: String,
    align: Align,
    style: Style,
    /// What a cell says where there is nothing to say.
    usual: &'static str,
    /// Whether it is cut before the first column is.
    yields: bool,
    /// Whether it is left out before the first column is cut.
    spare: bool,
}

impl Column {
    fn says(&self, cell: &str) -> bool {
        !matches!(cell, "" | "-") && cell != self.usual
    }
}

/// Rows of cells under a header. Cells are escaped as they are added.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    header: bool,
    uncut: bool,
}

impl Table {
    /// A table without rows; the header is printed unless `header` is false.
    pub fn new(header: bool) -> Table {
        Table { columns: Vec::new(), rows: Vec::new(), header, uncut: false }
    }

    /// Never cuts anything: of security, every letter counts.
    pub fn uncut(mut self) -> Table {
        self.uncut = true;
        self
    }

    /// Adds a column.
    pub fn column(mut self, title: &str, align: Align, style: Style) -> Table {
        let title = title.to_owned();
        self.columns.push(Column { title, align, style, usual: "", yields: false, spare: false });
        self
    }

    /// The last column is left out of a narrow terminal where all its cells are this word.
    pub fn usual(mut self, word: &'static str) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.usual = word;
        }
        self
    }

    /// The last column is left out before the first one is cut; a line below the table says so.
    pub fn spare(mut self) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.spare = true;
        }
        self
    }

    /// The last column is cut before the first one is.
    pub fn yields(mut self) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.yields = true;
        }
        self
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut row: Vec<String> =
            cells.into_iter().map(|cell| escape(cell.as_ref()).into_owned()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// The lines. Where the terminal is too narrow, columns that say nothing are left out; then columns that yield, and
    /// at last the first column, are cut in their middle.
    pub fn lines(&self, width: Option<usize>) -> Vec<Line> {
        let width = width.filter(|_| !self.uncut);
        let says = |at: usize| self.rows.iter().any(|row| self.columns[at].says(&row[at]));
        let kept: Vec<usize> = (0..self.columns.len()).filter(|&at| at == 0 || says(at)).collect();
        let fits = |table: &Table| width.is_none_or(|width| total(&table.widths()) <= width);
        if fits(self) {
            return self.aligned(width);
        }
        let mut table = self.of_columns(&kept);
        let mut left_out = Vec::new();
        while !fits(&table)
            && let Some(spare) = table.columns.iter().rposition(|column| column.spare)
        {
            left_out.insert(0, table.columns[spare].title.clone());
            let others: Vec<usize> = (0..table.columns.len()).filter(|&at| at != spare).collect();
            table = table.of_columns(&others);
        }
        let mut lines = table.aligned(width);
        if !left_out.is_empty() {
            let note = format!("left out: {} (--wide shows all)", left_out.join(", "));
            lines.push(Line::new().dim(note));
        }
        lines
    }

    /// The same table of some of the columns.
    fn of_columns(&self, kept: &[usize]) -> Table {
        let rows = self.rows.iter().map(|row| kept.iter().map(|&at| row[at].clone()).collect());
        let columns = kept.iter().map(|&at| self.columns[at].clone()).collect();
        Table { columns, rows: rows.collect(), header: self.header, uncut: self.uncut }
    }

    /// How wide each column would be.
    fn widths(&self) -> Vec<usize> {
        self.columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let cells = self.rows.iter().map(|row| row[at].width());
                let title = if self.header { column.title.width() } else { 0 };
                cells.max().unwrap_or(0).max(title)
            })
            .collect()
    }

    fn aligned(&self, width: Option<usize>) -> Vec<Line> {
        let mut widths = self.widths();
        let yielding = (0..widths.len()).rev().filter(|&at| self.columns[at].yields);
        for at in yielding.chain([0]) {
            let over = width.map_or(0, |width| total(&widths).saturating_sub(width));
            if let Some(column) = widths.get_mut(at) {
                *column = column.saturating_sub(over).max(NARROWEST.min(*column));
            }
        }
        let header = self.header.then(|| {
            let titles = self.columns.iter().map(|column| (&*column.title, column.align));
            self.line(&widths, titles.map(|(title, align)| (title, align, Style::Dim)))
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns);
            self.line(&widths, cells.map(|(cell, column)| (&**cell, column.align, column.style)))
        });
        header.into_iter().chain(rows).collect()
    }

    fn line<'a>(
        &self,
        widths: &[usize],
        cells: impl Iterator<Item = (&'a str, Align, Style)>,
    ) -> Line {
        let mut line = Line::new();
        for (at, ((cell, align, style), &width)) in cells.zip(widths).enumerate() {
            if at > 0 {
                line.push(Style::Plain, "  ");
            }
            let cell = cut_middle(cell, width);
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            if align == Align::Right {
                line.push(Style::Plain, &blank);
                line.push(style, &cell);
            } else {
                line.push(style, &cell);
                line.push(Style::Plain, &blank);
            }
        }
        line
    }
}

/// How wide the columns are side by side.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

fn cut_middle(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let start = prefix(cell, width.saturating_sub(1) / 2);
    let mut room = width.saturating_sub(1 + start.width());
    let mut from = cell.len();
    for (at, c) in cell.char_indices().rev() {
        let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        from = at;
    }
    format!("{start}…{}", &cell[from..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Palette;

    fn text(table: &Table, width: Option<usize>) -> Vec<String> {
        table.lines(width).iter().map(|line| line.render(Palette::new(false))).collect()
    }

    #[test]
    fn columns_align_and_names_are_escaped() {
        let mut table = Table::new(true).column("name", Align::Left, Style::Name).column(
            "size",
            Align::Right,
            Style::Number,
        );
        table.row(["a\nb", "1"]);
        table.row(["", "22"]);
        assert_eq!(text(&table, None), ["name  size", "a\\nb     1", "        22"]);
    }

    #[test]
    fn a_narrow_terminal_leaves_out_columns_that_say_nothing() {
        let mut table = Table::new(true);
        for title in ["name", "shape", "grad", "shares"] {
            table = table.column(title, Align::Left, Style::Plain);
        }
        table.row(["layers.0.weight", "[4]", "-", ""]);
        assert_eq!(text(&table, Some(40))[1], "layers.0.weight  [4]    -");
        assert_eq!(text(&table, Some(22)), ["name             shape", "layers.0.weight  [4]"]);
        assert_eq!(text(&table, Some(18))[1], "layer…weight  [4]");
    }

    #[test]
    fn usual_words_are_left_out_and_what_yields_is_cut_first() {
        let mut table = Table::new(true)
            .column("name", Align::Left, Style::Name)
            .column("device", Align::Left, Style::Plain)
            .usual("cpu")
            .column("shares", Align::Left, Style::Dim)
            .yields();
        table.row(["layers.0.weight", "cpu", "= layers.1.weight"]);
        assert_eq!(text(&table, Some(44))[1], "layers.0.weight  cpu     = layers.1.weight");
        assert_eq!(text(&table, Some(40))[1], "layers.0.weight  = layers.1.weight");
        assert_eq!(text(&table, Some(30))[1], "layers.0.weight  = laye…weight");
        assert_eq!(text(&table, Some(26))[1], "layer…weight  = lay…weight");
        let mut spare = Table::new(true)
            .column("name", Align::Left, Style::Name)
            .column("L2", Align::Right, Style::Number)
            .spare();
        spare.row(["layers.0.weight", "1.5"]);
        assert_eq!(text(&spare, Some(20))[1], "layers.0.weight  1.5");
        let narrow = ["name", "layers.0.weight", "left out: L2 (--wide shows all)"];
        assert_eq!(text(&spare, Some(16)), narrow);
        table.row(["x", "cuda:0", ""]);
        assert!(text(&table, Some(40))[0].contains("device"));
        assert_eq!(text(&table.uncut(), Some(5))[1], "layers.0.weight  cpu     = layers.1.weight");
    }

    #[test]
    fn a_narrow_terminal_cuts_the_first_column() {
        let mut table = Table::new(false).column("name", Align::Left, Style::Name).column(
            "size",
            Align::Right,
            Style::Number,
        );
        table.row(["transformer.layers.0.weight", "1"]);
        assert_eq!(text(&table, Some(20)), ["transfor…0.weight  1"]);
        assert_eq!(text(&table, None), ["transformer.layers.0.weight  1"]);
    }
}
