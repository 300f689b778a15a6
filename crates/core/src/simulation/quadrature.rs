//! Expected values under a normal distribution.

use std::f64::consts::{PI, SQRT_2};
use std::sync::LazyLock;

use crate::spread::real;

/// With 41 nodes the functions here are exact to three decimals at least, up to a standard deviation of 4.
const NODES: usize = 41;

/// Points of a standard normal variable and their weights (Gauss and Hermite).
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(rule);

/// The expected value of `f` of a normal variable with mean 0.
pub(super) fn expected(deviation: f64, f: impl Fn(f64) -> f64) -> f64 {
    let terms = RULE
        .iter()
        .map(|(node, weight)| weight * f(deviation * node));
    terms.sum()
}

/// The point at which an increasing function reaches `target`, between `low` and `high`.
pub(super) fn solve(target: f64, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Newton's method on the normalised Hermite polynomials, from the outermost root inwards (Press et al., "Numerical Recipes",
/// section 4.5).
fn rule() -> Vec<(f64, f64)> {
    let n = real(NODES);
    let mut roots: Vec<f64> = Vec::with_capacity(NODES);
    let mut rule = Vec::with_capacity(NODES);
    let mut root = 0.0;
    for i in 0..NODES.div_ceil(2) {
        root = match i {
            0 => (2.0 * n + 1.0).sqrt() - 1.855_75 * (2.0 * n + 1.0).powf(-0.166_67),
            1 => root - 1.14 * n.powf(0.426) / root,
            2 => 1.86 * root - 0.86 * roots[0],
            3 => 1.91 * root - 0.91 * roots[1],
            _ => 2.0 * root - roots[i - 2],
        };
        let mut slope = 1.0;
        for _ in 0..50 {
            let (value, own) = hermite(root);
            slope = own;
            let step = value / slope;
            root -= step;
            if step.abs() < 1e-14 {
                break;
            }
        }
        roots.push(root);
        let weight = 2.0 / (slope * slope) / PI.sqrt();
        rule.push((SQRT_2 * root, weight));
        if 2 * i + 1 < NODES {
            rule.push((-SQRT_2 * root, weight));
        }
    }
    rule
}

/// The normalised Hermite polynomial of degree [`NODES`] and its derivative.
fn hermite(x: f64) -> (f64, f64) {
    let (mut last, mut before) = (PI.powf(-0.25), 0.0);
    for degree in 0..NODES {
        let j = real(degree);
        let next = x * (2.0 / (j + 1.0)).sqrt() * last - (j / (j + 1.0)).sqrt() * before;
        before = last;
        last = next;
    }
    (last, (2.0 * real(NODES)).sqrt() * before)
}
