//! The numbers behind a figure.

use crate::{Figure, FigureError};

/// One number or point of a figure. What does not apply is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// title of the chart or heat map
    pub panel: String,
    /// name of the series
    pub series: String,
    /// `line`, `point`, `area`, `bar`, `bin`, `rule`, `note` or `cell`
    pub kind: &'static str,
    /// place on the horizontal axis; column of a cell
    pub x: Option<f64>,
    /// place on the vertical axis; row of a cell
    pub y: Option<f64>,
    /// lower end of an area; left edge of a bin
    pub low: Option<f64>,
    /// upper end of an area; right edge of a bin
    pub high: Option<f64>,
    /// number of a cell
    pub value: Option<f64>,
    /// name of the place on the horizontal axis
    pub x_name: String,
    /// name of the place on the vertical axis
    pub y_name: String,
}

const COLUMNS: [&str; 10] = ["panel", "series", "kind", "x", "y", "low", "high", "value", "x_name", "y_name"];

/// The numbers behind a figure as CSV: one header, then one line for each [`Row`]. Numbers have the fewest digits that read back
/// to the same f64; `NaN`, `inf` and `-inf` are written so.
///
/// # Errors
/// [`FigureError::Encoding`] where the writer fails.
pub fn csv(figure: &dyn Figure) -> Result<String, FigureError> {
    let number = |x: Option<f64>| x.map(|x| format!("{x:?}")).unwrap_or_default();
    let lines = figure.rows().into_iter().map(|row| {
        let [x, y, low, high, value] = [row.x, row.y, row.low, row.high, row.value].map(number);
        [row.panel, row.series, row.kind.to_owned(), x, y, low, high, value, row.x_name, row.y_name]
    });
    records(COLUMNS, lines)
}

/// A table as CSV (RFC 4180, lines end with a line feed): a header, then lines of as many fields.
///
/// # Errors
/// [`FigureError::Encoding`] where a line has more or fewer fields than the header.
pub fn records<H, L, F>(header: H, lines: impl IntoIterator<Item = L>) -> Result<String, FigureError>
where
    H: IntoIterator<Item: AsRef<[u8]>>,
    L: IntoIterator<Item = F>,
    F: AsRef<[u8]>,
{
    let failed = |error: &dyn std::fmt::Display| FigureError::Encoding(error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(|e| failed(&e))?;
    for line in lines {
        writer.write_record(line).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_fields_of_their_header() {
        assert_eq!(records(["a", "b"], [["1", "x, y"], ["2", ""]]).unwrap(), "a,b\n1,\"x, y\"\n2,\n");
        assert!(records(["a", "b"], [["1"]]).is_err());
    }
}
