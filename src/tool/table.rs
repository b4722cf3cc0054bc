// SPDX-License-Identifier: Apache-2.0
//! Tables that people read: columns of equal width, colours where there is somebody to see them.

/// What a text is to be seen as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Less important than the rest.
    Faint,
    /// Not as one would think.
    Odd,
    /// Wrong.
    Bad,
}

/// The text in the colour of its tone, where colours are wanted.
pub fn painted(text: &str, tone: Tone, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Good => 32,
        Tone::Faint => 2,
        Tone::Odd => 33,
        Tone::Bad => 31,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    /// A cell in plain colours. What is not printable is written as an escape, since names come from elsewhere.
    pub fn plain(text: impl Into<String>) -> Self {
        let text: String = text.into();
        let shown = if text.chars().any(char::is_control) {
            text.escape_debug().to_string()
        } else {
            text
        };
        Self {
            text: shown,
            tone: None,
        }
    }

    /// A cell in the colour of a tone.
    pub fn of(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            tone: Some(tone),
            ..Self::plain(text)
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// The table with its head, two spaces between columns and none at the end of a line.
pub fn table(head: &[&str], rows: &[Vec<Cell>], colour: bool) -> String {
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(nth, title)| {
            let cells = rows.iter().filter_map(|row| row.get(nth)).map(Cell::width);
            cells.max().unwrap_or(0).max(title.chars().count())
        })
        .collect();
    let head: Vec<Cell> = head.iter().map(|title| Cell::plain(*title)).collect();
    std::iter::once(&head)
        .chain(rows)
        .map(|row| line(row, &widths, colour))
        .collect()
}

fn line(row: &[Cell], widths: &[usize], colour: bool) -> String {
    let mut line = String::new();
    for (nth, (cell, width)) in row.iter().zip(widths).enumerate() {
        line += &match cell.tone {
            Some(tone) => painted(&cell.text, tone, colour),
            None => cell.text.clone(),
        };
        if nth + 1 < row.len() {
            line += &" ".repeat(width.saturating_sub(cell.width()) + 2);
        }
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_with_and_without_colours() {
        let rows = vec![
            vec![Cell::plain("0"), Cell::of("ok", Tone::Good), Cell::plain("x")],
            vec![Cell::plain("10"), Cell::plain("wörtlich"), Cell::plain("")],
        ];
        let plain = table(&["A", "STATE", "C"], &rows, false);
        assert_eq!(plain, "A   STATE     C\n0   ok        x\n10  wörtlich  \n");
        let coloured = table(&["A", "STATE", "C"], &rows, true);
        assert_eq!(coloured.replace("\x1b[32m", "").replace("\x1b[0m", ""), plain);
        assert!(coloured.contains("\x1b[32mok\x1b[0m"));
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let rows = vec![vec![Cell::plain("a\x1b[2Jb\n")]];
        assert_eq!(table(&["N"], &rows, true), "N\na\\u{1b}[2Jb\\n\n");
    }
}
