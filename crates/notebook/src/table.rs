//! Tables, as HTML and as plain text.

use crate::show;
use std::fmt::{self, Display};

/// A table with a caption and a header. A column whose cells are all numbers stands to the right.
///
/// ```
/// use contattn_notebook::Table;
/// let mut table = Table::new("Errors", ["rule", "error"]);
/// table.row(["Linear".to_owned(), "1.2e-7".to_owned()]);
/// assert_eq!(table.to_string(), "Errors\n\nrule     error\n------  ------\nLinear  1.2e-7\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows.
    pub fn new<S: Into<String>>(caption: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Table {
        Table { caption: caption.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// Where the number of cells is not that of the columns: a cell of a notebook that does this is wrong.
    pub fn row<D: Display>(&mut self, cells: impl IntoIterator<Item = D>) -> &mut Table {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell for each column");
        self.rows.push(cells);
        self
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether every cell of a column is a number, or stands for one that is not there.
    fn is_numeric(&self, column: usize) -> bool {
        let number = |cell: &str| {
            let bare = cell.trim_start_matches(['‹', ' ', '-', '+', '<', '≤', '±']);
            cell.is_empty()
                || ["-", "inf", "-inf", "NaN"].contains(&cell)
                || bare.starts_with(|c: char| c.is_ascii_digit())
        };
        !self.rows.is_empty() && self.rows.iter().all(|row| number(&row[column]))
    }

    /// As HTML.
    pub fn html(&self) -> String {
        let side = |column| if self.is_numeric(column) { "right" } else { "left" };
        let cell = |tag: &str, column: usize, text: &str| {
            let side = side(column);
            format!("<{tag} align=\"{side}\" style=\"text-align: {side}\">{}</{tag}>", escaped(text))
        };
        let line = |tag: &str, cells: &[String]| {
            let cells: String = cells.iter().enumerate().map(|(column, text)| cell(tag, column, text)).collect();
            format!("<tr>{cells}</tr>\n")
        };
        let body: String = self.rows.iter().map(|row| line("td", row)).collect();
        format!(
            "<table>\n<caption>{}</caption>\n<thead>\n{}</thead>\n<tbody>\n{body}</tbody>\n</table>",
            escaped(&self.caption),
            line("th", &self.columns)
        )
    }

    /// Shows the table as the result of a cell; evcxr calls this.
    pub fn evcxr_display(&self) {
        show::html(&self.html(), &self.to_string());
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &str| text.chars().count();
        let widest = |column: usize| {
            let cells = self.rows.iter().map(|row| width(&row[column]));
            cells.chain([width(&self.columns[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().enumerate().map(|(column, text)| {
                let room = " ".repeat(widths[column] - width(text));
                if self.is_numeric(column) { format!("{room}{text}") } else { format!("{text}{room}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        if !self.caption.is_empty() {
            writeln!(f, "{}\n", self.caption)?;
        }
        writeln!(f, "{}", line(&self.columns))?;
        writeln!(f, "{}", widths.iter().map(|&w| "-".repeat(w)).collect::<Vec<_>>().join("  "))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let mut table = Table::new("", ["name", "count", "mixed"]);
        table.row(["a", "1", "1"]).row(["bcd", "-23", "no"]).row(["e", "-inf", "3"]);
        assert_eq!(
            table.to_string(),
            "name  count  mixed\n----  -----  -----\na         1  1\nbcd     -23  no\ne      -inf  3\n"
        );
        assert!(table.html().contains("<td align=\"right\" style=\"text-align: right\">-23</td>"));
    }

    #[test]
    fn markup_in_cells_stays_text() {
        let mut table = Table::new("a < b", ["x"]);
        table.row(["<script>&\"</script>"]);
        let html = table.html();
        assert!(html.contains("&lt;script&gt;&amp;&quot;&lt;/script&gt;") && html.contains("a &lt; b"), "{html}");
    }

    #[test]
    #[should_panic(expected = "one cell for each column")]
    fn short_rows_are_a_mistake() {
        Table::new("", ["a", "b"]).row(["1"]);
    }
}
