//! Converts the published all-MiniLM-L6-v2 (safetensors and a vocabulary) to GGUF.
//!
//! Two-dimensional weights become f16: vectors stay within 5e-4 of the original, while 8-bit weights differ too much. Norms,
//! biases and the small embeddings stay f32. Tensors that sentence embeddings do not use are dropped.

use std::fs;
use std::io::BufWriter;
use std::path::Path;

use half::f16;
use serde_json::Value;

use super::WeightsError;
use super::checksum::io_error;
use super::gguf::{ElementType, MetadataValue, Tensor, write};

pub(super) const TENSORS: &str = "model.safetensors";
pub(super) const VOCABULARY: &str = "vocab.txt";

// Token types of GGUF.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;

/// Reads [`TENSORS`] and [`VOCABULARY`] in `folder` and writes `target`. Deterministic.
pub(super) fn embedder(folder: &Path, target: &Path) -> Result<(), WeightsError> {
    let path = folder.join(TENSORS);
    let bytes = fs::read(&path).map_err(io_error("read", &path))?;
    let tensors =
        tensors(&bytes).map_err(|detail| WeightsError::Malformed { file: path, detail })?;

    let path = folder.join(VOCABULARY);
    let words = fs::read_to_string(&path).map_err(io_error("read", &path))?;
    let tokens: Vec<String> = words.lines().map(token_text).collect();
    let types: Vec<i32> = words.lines().map(token_type).collect();

    let metadata = [
        ("general.architecture", MetadataValue::String("bert")),
        ("general.name", MetadataValue::String("all-MiniLM-L6-v2")),
        ("bert.context_length", MetadataValue::U32(512)),
        ("bert.embedding_length", MetadataValue::U32(384)),
        ("bert.block_count", MetadataValue::U32(6)),
        ("bert.feed_forward_length", MetadataValue::U32(1536)),
        ("bert.attention.head_count", MetadataValue::U32(12)),
        (
            "bert.attention.layer_norm_epsilon",
            MetadataValue::F32(1e-12),
        ),
        ("bert.attention.causal", MetadataValue::Bool(false)),
        // Mean pooling.
        ("bert.pooling_type", MetadataValue::U32(1)),
        ("tokenizer.ggml.model", MetadataValue::String("bert")),
        ("tokenizer.ggml.pre", MetadataValue::String("default")),
        ("tokenizer.ggml.token_type_count", MetadataValue::U32(2)),
        ("tokenizer.ggml.tokens", MetadataValue::StringArray(&tokens)),
        ("tokenizer.ggml.token_type", MetadataValue::I32Array(&types)),
        ("tokenizer.ggml.padding_token_id", MetadataValue::U32(0)),
        ("tokenizer.ggml.unknown_token_id", MetadataValue::U32(100)),
        ("tokenizer.ggml.bos_token_id", MetadataValue::U32(101)),
        ("tokenizer.ggml.seperator_token_id", MetadataValue::U32(102)),
        ("tokenizer.ggml.mask_token_id", MetadataValue::U32(103)),
    ];
    let file = fs::File::create(target).map_err(io_error("create", target))?;
    write(&mut BufWriter::new(file), &metadata, &tensors).map_err(io_error("write", target))
}

/// Reads safetensors: the length of a JSON header, the header, then little-endian numbers.
fn tensors(bytes: &[u8]) -> Result<Vec<Tensor>, String> {
    let truncated = || "the file is truncated".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(truncated)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|error| error.to_string())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
    let header: serde_json::Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| format!("the header is not valid JSON: {error}"))?;
    let mut tensors = Vec::new();
    for (name, entry) in &header {
        let Some(name) = gguf_name(name) else {
            continue;
        };
        let invalid = || format!("invalid header entry for {name}");
        let shape = numbers(&entry["shape"]).ok_or_else(invalid)?;
        let span = numbers(&entry["data_offsets"]).ok_or_else(invalid)?;
        let (&[start, end], "F32") = (
            span.as_slice(),
            entry["dtype"].as_str().ok_or_else(invalid)?,
        ) else {
            return Err(invalid());
        };
        let values = usize::try_from(start)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(start, end)| data.get(start..end))
            .ok_or_else(truncated)?;
        tensors.push(tensor(name, &shape, values));
    }
    // Sorted, because the order of the parsed header depends on features of serde_json.
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn tensor(name: String, shape: &[u64], values: &[u8]) -> Tensor {
    let use_f16 =
        shape.len() == 2 && !name.starts_with("position") && !name.starts_with("token_types");
    let (element_type, bytes) = if use_f16 {
        let halves = values
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|value| f16::from_f32(f32::from_le_bytes(*value)).to_le_bytes());
        (ElementType::F16, halves.collect())
    } else {
        (ElementType::F32, values.to_vec())
    };
    Tensor {
        name,
        shape: shape.iter().rev().copied().collect(),
        element_type,
        bytes,
    }
}

/// The GGUF name of a tensor; `None` if it is not needed.
fn gguf_name(name: &str) -> Option<String> {
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

/// The vocabulary marks continuations (`##ing`); GGUF marks word starts (`▁walk`).
fn token_text(word: &str) -> String {
    if is_control(word) {
        word.to_owned()
    } else if let Some(continuation) = word.strip_prefix("##") {
        continuation.to_owned()
    } else {
        format!("\u{2581}{word}")
    }
}

fn token_type(word: &str) -> i32 {
    match word {
        "[UNK]" => UNKNOWN,
        _ if is_control(word) => CONTROL,
        _ => NORMAL,
    }
}

fn is_control(word: &str) -> bool {
    word.len() > 2 && word.starts_with('[') && word.ends_with(']')
}
