//! Numbers as they are written everywhere: three significant digits, thousands apart.

/// Sets thousands apart, and keeps a number on one line. The terminal's writer makes plain spaces of it.
pub const THIN: char = '\u{202f}';
/// What a missing number is shown as.
pub const NONE: &str = "–";
/// What is smaller is nothing in any unit of the tables.
const SMALLEST: f64 = 1e-6;

/// A measured value: `0.0312`, `3.40`, `27.5`, `18 300`. Whole numbers below a thousand stay whole.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value.abs() < SMALLEST {
        return "0".to_owned();
    }
    if value.abs() < 1000.0 && (value - value.round()).abs() < 1e-9 {
        return format!("{value:.0}");
    }
    // Rounded first, so that 999.6 counts as the 1000 that it is printed as.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let decimals = (2 - rounded.abs().log10().floor() as i32).clamp(0, 8) as usize;
    grouped(&format!("{rounded:.decimals$}"))
}

/// A count, in full: `10 000 000`.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// An interval: `2.90 to 3.20`; none where there is none.
pub fn interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    Some(format!("{} to {}", figure(low?), figure(high?)))
}

fn grouped(number: &str) -> String {
    let mut text = number.to_owned();
    let first = usize::from(number.starts_with('-'));
    let mut place = number.find('.').unwrap_or(number.len());
    while place > first + 3 {
        place -= 3;
        text.insert(place, THIN);
    }
    text
}

/// The label of a tick on an axis: `0.02`, `5`, `1000`.
pub fn tick_label(tick: f64) -> String {
    let decimals = (-tick.log10() - 1e-9).ceil().max(0.0) as usize;
    format!("{tick:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_digits_and_thousands_apart_wherever_it_appears() {
        let written = [
            (0.0, "0"),
            (0.002_654, "0.00265"),
            (0.521, "0.521"),
            (1.0, "1"),
            (3.1, "3.10"),
            (40.0, "40"),
            (999.6, "1 000"),
            (5000.0, "5 000"),
            (12_345.0, "12 300"),
            (-1234.5, "-1 230"),
            (f64::NAN, "–"),
        ];
        for (value, text) in written {
            assert_eq!(figure(value).replace(THIN, " "), text);
        }
        assert_eq!(count(150_105).replace(THIN, " "), "150 105");
    }
}
