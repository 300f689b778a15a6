//! `roundtable config enable` and `disable`: command-line agents as providers, in the user's own configuration.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use serde_json::json;

use super::{config, output};
use crate::app_context::AppContext;
use crate::config::{ProgramPreset, add_preset, default_path, remove_preset};
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
    if !yes && !confirmed()? {
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

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "cannot ask for confirmation: standard input is not a terminal. Add --yes to enable it",
        ));
    }
    output::stream("Enable it? [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::other(format!("cannot read standard input: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
