//! What a view gives away: a table and a figure.

use contattn_figure::{Figure, FigureError, png, records, svg};

/// Columns with a name each, as CSV (RFC 4180).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Table {
        Table { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; one that is too short is filled with empty cells.
    pub fn push<S: ToString>(&mut self, row: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> = row.into_iter().map(|cell| cell.to_string()).collect();
        row.resize(self.columns.len().max(row.len()), String::new());
        self.rows.push(row);
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text.
    ///
    /// # Errors
    /// As [`records`].
    pub fn csv(&self) -> Result<String, FigureError> {
        records(&self.columns, &self.rows)
    }
}

/// A number as CSV has it: the shortest text that reads back as the same `f64`.
pub fn number(x: f64) -> String {
    if x.is_finite() && x != 0.0 && !(1e-5..1e16).contains(&x.abs()) { format!("{x:e}") } else { format!("{x}") }
}

type Draw<T> = Box<dyn Fn() -> Result<T, FigureError> + Send>;

/// A view as files.
pub struct Export {
    /// stem of the file's name
    pub name: String,
    /// its numbers
    pub table: Table,
    png: Draw<Vec<u8>>,
    svg: Draw<String>,
}

impl Export {
    /// A figure with its numbers.
    pub fn new(name: impl Into<String>, table: Table, figure: impl Figure + Clone + Send + 'static) -> Export {
        let drawn = figure.clone();
        Export { name: name.into(), table, png: Box::new(move || png(&drawn)), svg: Box::new(move || svg(&figure)) }
    }

    /// The bytes of a file of this format.
    ///
    /// # Errors
    /// As the figure's.
    pub fn bytes(&self, format: ExportFormat) -> Result<Vec<u8>, FigureError> {
        match format {
            ExportFormat::Png => (self.png)(),
            ExportFormat::Svg => (self.svg)().map(String::into_bytes),
            ExportFormat::Csv => self.table.csv().map(String::into_bytes),
        }
    }
}

/// A format of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// a bitmap
    Png,
    /// vectors
    Svg,
    /// numbers
    Csv,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: [ExportFormat; 3] = [ExportFormat::Png, ExportFormat::Svg, ExportFormat::Csv];

    /// Its extension, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            ExportFormat::Png => "png",
            ExportFormat::Svg => "svg",
            ExportFormat::Csv => "csv",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_needs_it() {
        let mut table = Table::new(["token", "weight"]);
        table.push([",".to_owned(), number(0.5)]);
        table.push(["say \"x\"".to_owned()]);
        assert_eq!(table.csv().unwrap(), "token,weight\n\",\",0.5\n\"say \"\"x\"\"\",\n");
    }

    #[test]
    fn numbers_read_back() {
        for x in [0.1, -1e-300, 1e300, 0.0, 123456.789, f64::MIN_POSITIVE] {
            assert_eq!(number(x).parse::<f64>().unwrap().to_bits(), x.to_bits());
        }
    }
}
