//! Numbers in texts: digits in groups of three, counts and ranges.

/// A whole number with its digits in groups of three: `120,000`.
pub fn grouped(number: u64) -> String {
    in_groups(&number.to_string())
}

/// A number with the word for what it counts: `1 other`, `1,200 others`.
pub fn counted(number: usize, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(number as u64), if number == 1 { singular } else { plural })
}

/// A decimal number, as `format!` writes it, with the digits before the point in groups
/// of three, and with a minus sign instead of a hyphen.
pub(crate) fn decimal(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("−", text));
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{sign}{}{fraction}", in_groups(whole))
}

fn in_groups(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A range between two numbers with their units, with one unit if both share it:
/// `46.1–48.9 µs`, `950 ns – 1.02 µs`, `−3.10 to 2.00 ms`; one number if both are alike.
pub fn range(from: &str, to: &str) -> String {
    if from == to {
        return to.to_owned();
    }
    let signed = [from, to].iter().any(|end| end.starts_with(['−', '-', '+']));
    match (unit(from) == unit(to), signed) {
        (true, true) => format!("{} to {to}", without_unit(from)),
        (true, false) => format!("{}–{to}", without_unit(from)),
        (false, true) => format!("{from} to {to}"),
        (false, false) => format!("{from} – {to}"),
    }
}

/// The unit after the digits: ` µs`, `/s`.
fn unit(number: &str) -> &str {
    number.trim_start_matches(|c: char| c.is_ascii_digit() || ".,+−-".contains(c))
}

fn without_unit(number: &str) -> &str {
    number.strip_suffix(unit(number)).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
        assert_eq!(["12", "-1234.56", "0.0004"].map(decimal), ["12", "−1,234.56", "0.0004"]);
    }

    #[test]
    fn the_word_after_a_number_depends_on_it() {
        assert_eq!(
            [0, 1, 1_200].map(|number| counted(number, "other", "others")),
            ["0 others", "1 other", "1,200 others"]
        );
    }

    #[test]
    fn ranges_name_a_shared_unit_once() {
        assert_eq!(range("46.1 µs", "48.9 µs"), "46.1–48.9 µs");
        assert_eq!(range("950 ns", "1.02 µs"), "950 ns – 1.02 µs");
        assert_eq!(range("−3.10 ms", "2.00 ms"), "−3.10 to 2.00 ms");
        assert_eq!(range("+8.10 %", "+16.9 %"), "+8.10 to +16.9 %");
        assert_eq!(range("−9.50 µs", "1.00 ms"), "−9.50 µs to 1.00 ms");
        assert_eq!(range("120,000/s", "130,000/s"), "120,000–130,000/s");
        assert_eq!(range("1.31×", "1.52×"), "1.31–1.52×");
        assert_eq!(range("100 ns", "100 ns"), "100 ns");
    }
}
