//! Bytes as letters, digits, `-` and `_` (base64 for URLs, without padding), and their checksum.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the CRC-32 checksum, as zip and Ethernet use it.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

/// Encodes bytes; three bytes become four digits.
pub(super) fn to_digits(bytes: &[u8]) -> String {
    let digit =
        |group: u32, place: usize| DIGITS[(group >> (18 - 6 * place)) as usize & 63] as char;
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.extend((0..=chunk.len()).map(|place| digit(group, place)));
    }
    text
}

/// Decodes the digits of [`to_digits`], or returns the first character that is no digit.
pub(super) fn from_digits(digits: &str) -> Result<Vec<u8>, char> {
    let value = |c: char| {
        let place = DIGITS.iter().position(|&digit| digit as char == c);
        place.ok_or(c)
    };
    let values: Vec<usize> = digits.chars().map(value).collect::<Result<_, _>>()?;
    let mut bytes = Vec::new();
    for chunk in values.chunks(4) {
        let six = |index: usize| chunk.get(index).copied().unwrap_or(0);
        let group = six(0) << 18 | six(1) << 12 | six(2) << 6 | six(3);
        let whole = chunk.len() * 6 / 8;
        bytes.extend(
            [group >> 16, group >> 8, group]
                .iter()
                .take(whole)
                .map(|&it| it as u8),
        );
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..=all.len() {
            let digits = to_digits(&all[..length]);
            assert_eq!(from_digits(&digits).as_deref(), Ok(&all[..length]));
        }
        assert_eq!(to_digits(b"\xfb\xff\xfe"), "-__-");
        assert_eq!(from_digits("AA+A"), Err('+'));
    }
}
