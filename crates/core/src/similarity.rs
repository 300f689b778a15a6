//! Exact nearest-neighbour search by cosine: dot products over one contiguous buffer, no approximation.

/// Scales to unit length. A vector that is zero or not finite becomes zero and is similar to nothing.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        for x in vector {
            *x /= length;
        }
    } else {
        vector.fill(0.0);
    }
}

/// Cosine of two unit vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    f64::from(dot(a, b))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight partial sums let the compiler use SIMD; with a single sum the order of additions forbids it.
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the vector has {found} dimensions, the index has {expected}")]
pub struct WrongDimension {
    pub found: usize,
    pub expected: usize,
}

/// Vectors of one dimension, each of an item. An item may have several; its best one counts.
#[derive(Debug, Clone, Default)]
pub struct Index {
    dimension: usize,
    numbers: Vec<f32>,
    items: Vec<usize>,
}

/// An item and its best cosine with the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub item: usize,
    pub cosine: f64,
}

impl Index {
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            numbers: Vec::new(),
            items: Vec::new(),
        }
    }

    pub fn add(&mut self, item: usize, vector: &[f32]) -> Result<(), WrongDimension> {
        self.fits(vector)?;
        let start = self.numbers.len();
        self.numbers.extend_from_slice(vector);
        normalise(&mut self.numbers[start..]);
        self.items.push(item);
        Ok(())
    }

    fn fits(&self, vector: &[f32]) -> Result<(), WrongDimension> {
        if vector.len() == self.dimension {
            Ok(())
        } else {
            Err(WrongDimension {
                found: vector.len(),
                expected: self.dimension,
            })
        }
    }

    /// The `count` most similar items, best first; equal ones by item number.
    pub fn nearest(&self, query: &[f32], count: usize) -> Result<Vec<Hit>, WrongDimension> {
        self.fits(query)?;
        let mut query = query.to_vec();
        normalise(&mut query);
        let mut best: Vec<Hit> = Vec::with_capacity(count + 1);
        if self.dimension == 0 || count == 0 {
            return Ok(best);
        }
        for (vector, &item) in self.numbers.chunks_exact(self.dimension).zip(&self.items) {
            let cosine = f64::from(dot(vector, &query));
            if best.len() == count && best.last().is_some_and(|last| cosine < last.cosine) {
                continue;
            }
            insert(&mut best, Hit { item, cosine }, count);
        }
        Ok(best)
    }
}

fn insert(best: &mut Vec<Hit>, hit: Hit, count: usize) {
    if let Some(at) = best.iter().position(|old| old.item == hit.item) {
        if best[at].cosine >= hit.cosine {
            return;
        }
        best.remove(at);
    }
    let at = best.partition_point(|old| {
        old.cosine > hit.cosine || (old.cosine >= hit.cosine && old.item < hit.item)
    });
    best.insert(at, hit);
    best.truncate(count);
}

#[cfg(test)]
#[path = "similarity_tests.rs"]
mod tests;
