//! Contrast checks: text has a ratio of at least 4.5:1 on every background, in light and dark.

use super::*;

#[derive(Debug, Clone, Copy)]
struct Oklch(f64, f64, f64);

/// The two colours of the token `--name: light-dark(oklch(…), oklch(…))`.
fn token(name: &str) -> [Oklch; 2] {
    let start = STYLE.find(&format!("--{name}: light-dark(")).unwrap();
    let line = STYLE[start..].split(';').next().unwrap();
    let colours: Vec<Oklch> = line
        .split("oklch(")
        .skip(1)
        .map(|part| {
            let numbers: Vec<f64> = part
                .split(')')
                .next()
                .unwrap()
                .split_whitespace()
                .map(|number| number.trim_end_matches('%').parse().unwrap())
                .collect();
            Oklch(numbers[0] / 100.0, numbers[1], numbers[2])
        })
        .collect();
    [colours[0], colours[1]]
}

/// Björn Ottosson's Oklab to linear sRGB, then the relative luminance of WCAG 2.
#[expect(
    clippy::many_single_char_names,
    reason = "the letters of the colour spaces"
)]
fn luminance(Oklch(lightness, chroma, hue): Oklch) -> f64 {
    let (a, b) = (
        chroma * hue.to_radians().cos(),
        chroma * hue.to_radians().sin(),
    );
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    let red = 4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s;
    let green = -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s;
    let blue = -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s;
    0.2126 * red.clamp(0.0, 1.0) + 0.7152 * green.clamp(0.0, 1.0) + 0.0722 * blue.clamp(0.0, 1.0)
}

fn contrast(one: Oklch, other: Oklch) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn text_has_sufficient_contrast_in_light_and_dark() {
    let mut words = vec!["ink", "soft", "accent", "bad", "mid", "good"];
    let roles: Vec<String> = (1..=10).map(|number| format!("role-{number}")).collect();
    words.extend(roles.iter().map(String::as_str));
    for word in words {
        for ground in ["ground", "paper", "sunk"] {
            for (scheme, name) in [(0, "light"), (1, "dark")] {
                let found = contrast(token(word)[scheme], token(ground)[scheme]);
                assert!(found >= 4.5, "{word} on {ground} in {name}: {found:.2}");
            }
        }
    }
}

#[test]
fn minified_css_has_no_comments_or_indentation() {
    let css = "/* Links */\na {\n  color: red;\n}\n\n/* open";
    assert_eq!(minify_css(css), "a {\ncolor: red;\n}");
}
