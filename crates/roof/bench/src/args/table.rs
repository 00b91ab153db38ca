//! Tables of text.

/// Rows as columns; the first row is the heading. Columns whose cells are all numbers stand right.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell = |row: &'_ Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or_default())
        .collect();
    let right: Vec<bool> =
        (0..columns).map(|at| rows.iter().skip(1).all(|row| is_number(&cell(row, at)))).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for at in 0..columns {
            let text = cell(row, at);
            let width = widths[at];
            line.push_str(&match right[at] {
                true => format!("{text:>width$}"),
                false => format!("{text:<width$}"),
            });
            line.push_str("  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Whether a cell is a number, or nothing.
fn is_number(text: &str) -> bool {
    let other = |c: char| !(c.is_ascii_digit() || "+-.,%/~ ".contains(c));
    !text.contains(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right() {
        let rows = [["metric", "A"], ["CPU %", "48.1"], ["I/O", "1,807"], ["", "-"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "metric      A\nCPU %    48.1\nI/O     1,807\n            -\n");
        assert_eq!(table(&[]), "");
    }
}
