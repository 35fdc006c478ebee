//! Numbers as the tables and the chart write them.

/// What is smaller is no figure in any unit of the tables, but the clock between two of its readings.
const SMALLEST: f64 = 1e-6;

/// Three significant digits, thousands set apart: `0.0312`, `3.41`, `27.5`, `18 300`; whole numbers stay whole.
pub fn value(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let size = number.abs();
    if size < SMALLEST {
        return "0".to_owned();
    }
    // The rounding can lift a number over a power of ten, and then it needs a digit less.
    let digits = |size: f64| (2 - size.log10().floor() as i32).max(0);
    let decimals = if number.fract() == 0.0 {
        0
    } else {
        digits(size)
    };
    let rounded = (size * 10f64.powi(decimals)).round() / 10f64.powi(decimals);
    let decimals = digits(rounded).min(decimals).min(8) as usize;
    let text = format!("{rounded:.decimals$}");
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut result = String::new();
    if number < 0.0 {
        result.push('−');
    }
    result.push_str(&group(whole));
    if let Some(rest) = rest {
        result.push('.');
        result.push_str(rest);
    }
    result
}

/// A count with its thousands set apart.
pub fn grouped(count: u64) -> String {
    group(&count.to_string())
}

fn group(digits: &str) -> String {
    // Four digits read well as they are.
    if digits.len() <= 4 {
        return digits.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            // A narrow space that does not break.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (number, text) in [
            (0.0, "0"),
            (0.000_000_4, "0"),
            (63.0, "63"),
            (0.031_24, "0.0312"),
            (0.999_6, "1.00"),
            (3.414, "3.41"),
            (27.46, "27.5"),
            (99.96, "100"),
            (327.4, "327"),
            (5200.0, "5200"),
            (18_300.4, "18\u{202f}300"),
            (10_000_000.0, "10\u{202f}000\u{202f}000"),
            (-1.5, "−1.50"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(value(number), text);
        }
    }
}
