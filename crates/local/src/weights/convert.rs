//! Turns the published form of all-MiniLM-L6-v2 (safetensors and a word list) into the one file that our runtime reads.
//!
//! Weights of 2 dimensions become 16-bit numbers: vectors stay within 5e-4 of the original. 8-bit ones drift too far.
//! Norms, biases and the small embeddings stay as they are; what sentence embeddings do not use is left out.

use std::fs;
use std::io::BufWriter;
use std::path::Path;

use half::f16;
use serde_json::Value;

use super::WeightsError;
use super::checksum::disk;
use super::gguf::{Element, Fact, Tensor, write};

pub(super) const TENSORS: &str = "model.safetensors";
pub(super) const VOCABULARY: &str = "vocab.txt";

/// What the vocabulary marks as not being a word.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;

/// Reads [`TENSORS`] and [`VOCABULARY`] in `folder` and writes `target`. The same input always gives the same bytes.
pub(super) fn embedder(folder: &Path, target: &Path) -> Result<(), WeightsError> {
    let path = folder.join(TENSORS);
    let bytes = fs::read(&path).map_err(disk("read", &path))?;
    let tensors =
        tensors(&bytes).map_err(|detail| WeightsError::Malformed { file: path, detail })?;

    let path = folder.join(VOCABULARY);
    let words = fs::read_to_string(&path).map_err(disk("read", &path))?;
    let pieces: Vec<String> = words.lines().map(piece).collect();
    let kinds: Vec<i32> = words.lines().map(kind).collect();

    let facts = [
        ("general.architecture", Fact::Text("bert")),
        ("general.name", Fact::Text("all-MiniLM-L6-v2")),
        ("bert.context_length", Fact::Count(512)),
        ("bert.embedding_length", Fact::Count(384)),
        ("bert.block_count", Fact::Count(6)),
        ("bert.feed_forward_length", Fact::Count(1536)),
        ("bert.attention.head_count", Fact::Count(12)),
        ("bert.attention.layer_norm_epsilon", Fact::Number(1e-12)),
        ("bert.attention.causal", Fact::Truth(false)),
        // The mean over all tokens.
        ("bert.pooling_type", Fact::Count(1)),
        ("tokenizer.ggml.model", Fact::Text("bert")),
        ("tokenizer.ggml.pre", Fact::Text("default")),
        ("tokenizer.ggml.token_type_count", Fact::Count(2)),
        ("tokenizer.ggml.tokens", Fact::Texts(&pieces)),
        ("tokenizer.ggml.token_type", Fact::Counts(&kinds)),
        ("tokenizer.ggml.padding_token_id", Fact::Count(0)),
        ("tokenizer.ggml.unknown_token_id", Fact::Count(100)),
        ("tokenizer.ggml.bos_token_id", Fact::Count(101)),
        ("tokenizer.ggml.seperator_token_id", Fact::Count(102)),
        ("tokenizer.ggml.mask_token_id", Fact::Count(103)),
    ];
    let file = fs::File::create(target).map_err(disk("create", target))?;
    write(&mut BufWriter::new(file), &facts, &tensors).map_err(disk("write", target))
}

/// Safetensors: the length of a JSON header, the header, then plain little-endian numbers.
fn tensors(bytes: &[u8]) -> Result<Vec<Tensor>, String> {
    let short = || "the file ends early".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|error| error.to_string())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    let header: serde_json::Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| format!("its header is not JSON: {error}"))?;
    let mut tensors = Vec::new();
    for (name, entry) in &header {
        let Some(name) = runtime_name(name) else {
            continue;
        };
        let strange = || format!("the entry of {name} cannot be read");
        let shape = numbers(&entry["shape"]).ok_or_else(strange)?;
        let span = numbers(&entry["data_offsets"]).ok_or_else(strange)?;
        let (&[start, end], "F32") = (
            span.as_slice(),
            entry["dtype"].as_str().ok_or_else(strange)?,
        ) else {
            return Err(strange());
        };
        let values = usize::try_from(start)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(start, end)| data.get(start..end))
            .ok_or_else(short)?;
        tensors.push(tensor(name, &shape, values));
    }
    // Not in the order of the header, which depends on how JSON maps are built into this program.
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn tensor(name: String, shape: &[u64], values: &[u8]) -> Tensor {
    let shrinks =
        shape.len() == 2 && !name.starts_with("position") && !name.starts_with("token_types");
    let (element, bytes) = if shrinks {
        let halves = values
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|value| f16::from_f32(f32::from_le_bytes(*value)).to_le_bytes());
        (Element::F16, halves.collect())
    } else {
        (Element::F32, values.to_vec())
    };
    Tensor {
        name,
        shape: shape.iter().rev().copied().collect(),
        element,
        bytes,
    }
}

/// The runtime's name of a tensor, `None` for those it does not need.
fn runtime_name(name: &str) -> Option<String> {
    let (path, kind) = name.rsplit_once('.')?;
    let embedding = match path {
        "embeddings.word_embeddings" => Some("token_embd"),
        "embeddings.position_embeddings" => Some("position_embd"),
        "embeddings.token_type_embeddings" => Some("token_types"),
        "embeddings.LayerNorm" => Some("token_embd_norm"),
        _ => None,
    };
    if let Some(embedding) = embedding {
        return Some(format!("{embedding}.{kind}"));
    }
    let (layer, part) = path.strip_prefix("encoder.layer.")?.split_once('.')?;
    let part = match part {
        "attention.self.query" => "attn_q",
        "attention.self.key" => "attn_k",
        "attention.self.value" => "attn_v",
        "attention.output.dense" => "attn_output",
        "attention.output.LayerNorm" => "attn_output_norm",
        "intermediate.dense" => "ffn_up",
        "output.dense" => "ffn_down",
        "output.LayerNorm" => "layer_output_norm",
        _ => return None,
    };
    Some(format!("blk.{layer}.{part}.{kind}"))
}

/// The word list marks what continues a word (`##ing`); the runtime wants the beginnings marked (`▁walk`).
fn piece(word: &str) -> String {
    if is_control(word) {
        word.to_owned()
    } else if let Some(continuation) = word.strip_prefix("##") {
        continuation.to_owned()
    } else {
        format!("\u{2581}{word}")
    }
}

fn kind(word: &str) -> i32 {
    match word {
        "[UNK]" => UNKNOWN,
        _ if is_control(word) => CONTROL,
        _ => NORMAL,
    }
}

fn is_control(word: &str) -> bool {
    word.len() > 2 && word.starts_with('[') && word.ends_with(']')
}
