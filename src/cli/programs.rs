//! Command-line agents as providers: `roundtable config enable` and `disable`, and the list of `roundtable models`.

use std::path::PathBuf;

use serde_json::json;

use super::stdin_lines::confirm;
use super::{config, output};
use crate::app_context::AppContext;
use crate::config::{ProgramPreset, add_preset, default_path, find_program, remove_preset};
use crate::failure::Failure;

pub(super) fn enable(
    app: &AppContext,
    name: &str,
    yes: bool,
    as_json: bool,
) -> Result<(), Failure> {
    let preset = find(name)?;
    let Some(program) = preset.find(&app.environment) else {
        return Err(Failure::usage(format!(
            "{} is not installed: no program '{}' on the PATH",
            preset.title,
            preset.program()
        )));
    };
    let model = format!("{}:{}", preset.name, preset.example_model());
    if !as_json {
        output::note(&format!(
            "{} ({}) will answer for models named {}:…, without tools and in an empty folder.\n{}",
            preset.title,
            program.display(),
            preset.name,
            preset.cost
        ));
    }
    if !yes && !confirm("Enable it?", "enable it")? {
        output::note("Nothing changed.");
        return Ok(());
    }
    let path = own_file(app);
    add_preset(&path, &preset.name, &app.environment)?;
    if as_json {
        return output::json(&json!({
            "provider": preset.name, "enabled": true, "path": path, "program": program, "cost": preset.cost,
        }));
    }
    output::note(&format!(
        "Enabled [providers.{}] in {}. It is used only if you name it: --model {model}",
        preset.name,
        path.display()
    ));
    if app.config.is_from_working_dir && app.config.is_trusted {
        output::note("The roundtable.toml of this folder replaces that file here.");
    }
    Ok(())
}

pub(super) fn disable(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let preset = find(name)?;
    let path = own_file(app);
    let was_enabled = remove_preset(&path, &preset.name, &app.environment)?;
    if as_json {
        return output::json(&json!({
            "provider": preset.name, "enabled": false, "was_enabled": was_enabled, "path": path,
        }));
    }
    let result = if was_enabled {
        "Disabled"
    } else {
        "Was not enabled:"
    };
    output::note(&format!(
        "{result} [providers.{}] in {}",
        preset.name,
        path.display()
    ));
    Ok(())
}

/// Never the file of a working folder, which others may read or have written.
fn own_file(app: &AppContext) -> PathBuf {
    if app.config.is_from_working_dir {
        default_path(&app.environment)
    } else {
        config::path(app)
    }
}

fn find(name: &str) -> Result<&'static ProgramPreset, Failure> {
    ProgramPreset::named(name).ok_or_else(|| {
        Failure::usage(format!(
            "unknown program '{name}': expected one of {}. For another program, write a [providers.NAME] section with \
             kind = \"command\"",
            ProgramPreset::names()
        ))
    })
}

/// The command-line agents that are installed here or enabled. They are never chosen by themselves.
pub(super) fn list(app: &AppContext) -> Vec<Program> {
    let presets = ProgramPreset::all().iter().filter_map(|preset| {
        let path = preset.find(&app.environment);
        let is_enabled = app.config.providers.contains_key(&preset.name);
        (path.is_some() && !is_enabled).then(|| Program {
            provider: preset.name.clone(),
            path,
            enabled: false,
        })
    });
    let enabled = app.config.providers.values().filter_map(|provider| {
        let command = provider.command.as_ref()?;
        Some(Program {
            provider: provider.name.clone(),
            path: find_program(&command.program, command.search_path.as_deref()),
            enabled: true,
        })
    });
    enabled.chain(presets).collect()
}

#[derive(serde::Serialize)]
pub(super) struct Program {
    provider: String,
    /// `None` if it is not installed.
    path: Option<PathBuf>,
    enabled: bool,
}

pub(super) fn print(app: &AppContext) {
    let programs = list(app);
    if programs.is_empty() {
        return;
    }
    output::line("\nPrograms (used only if you name them):");
    for program in programs {
        let path = program.path.map(|path| path.display().to_string());
        let note = match (path, program.enabled) {
            (Some(path), true) => format!("{path}, enabled: --model {}:…", program.provider),
            (Some(path), false) => {
                format!(
                    "{path}; to use it: roundtable config enable {}",
                    program.provider
                )
            }
            (None, _) => "enabled, but not found on the PATH".to_owned(),
        };
        output::line(&format!("  {:<12} {note}", program.provider));
    }
}
