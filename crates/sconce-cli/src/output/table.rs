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

/// Rows of cells under a header. Cells are escaped as they are added.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(String, Align, Style)>,
    rows: Vec<Vec<String>>,
    header: bool,
}

impl Table {
    /// A table without rows; the header is printed unless `header` is false.
    pub fn new(header: bool) -> Table {
        Table { columns: Vec::new(), rows: Vec::new(), header }
    }

    /// Adds a column.
    pub fn column(mut self, title: &str, align: Align, style: Style) -> Table {
        self.columns.push((title.to_owned(), align, style));
        self
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut row: Vec<String> =
            cells.into_iter().map(|cell| escape(cell.as_ref()).into_owned()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// The lines. Where the terminal is too narrow, columns that say nothing are left out; then the first column is
    /// cut in its middle.
    pub fn lines(&self, width: Option<usize>) -> Vec<Line> {
        let natural: usize =
            self.widths().iter().sum::<usize>() + 2 * self.columns.len().saturating_sub(1);
        let says = |at: usize| self.rows.iter().any(|row| !matches!(row[at].as_str(), "" | "-"));
        let kept: Vec<usize> = (0..self.columns.len()).filter(|&at| at == 0 || says(at)).collect();
        let fits = width.is_none_or(|width| natural <= width);
        if fits || kept.len() == self.columns.len() {
            return self.aligned(width);
        }
        let rows = self.rows.iter().map(|row| kept.iter().map(|&at| row[at].clone()).collect());
        let columns = kept.iter().map(|&at| self.columns[at].clone()).collect();
        Table { columns, rows: rows.collect(), header: self.header }.aligned(width)
    }

    /// How wide each column would be.
    fn widths(&self) -> Vec<usize> {
        self.columns
            .iter()
            .enumerate()
            .map(|(at, (title, ..))| {
                let cells = self.rows.iter().map(|row| row[at].width());
                cells.max().unwrap_or(0).max(if self.header { title.width() } else { 0 })
            })
            .collect()
    }

    fn aligned(&self, width: Option<usize>) -> Vec<Line> {
        let mut widths = self.widths();
        let total: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if let (Some(width), Some(first)) = (width, widths.first_mut())
            && total > width
        {
            *first = first.saturating_sub(total - width).max(12.min(*first));
        }
        let header = self.header.then(|| {
            let titles = self.columns.iter().map(|(title, align, _)| (title.as_str(), *align));
            self.line(&widths, titles.map(|(title, align)| (title, align, Style::Dim)))
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns);
            self.line(
                &widths,
                cells.map(|(cell, (_, align, style))| (cell.as_str(), *align, *style)),
            )
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
