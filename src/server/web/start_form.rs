//! The submitted start form: its fields by name, and the files that came with it.

use std::sync::Arc;

use axum::extract::{Form, FromRequest, Request};
use axum::http::{StatusCode, header};

use super::fields::FieldValues;
use super::multipart::parts;
use crate::server::problem::Problem;
use crate::server::requests::read;
use crate::server::{App, off_runtime};

/// The name of the input for files.
const FILES: &str = "files";

/// The submitted form. Missing fields are empty.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct StartForm {
    pub values: FieldValues,
    #[serde(skip)]
    pub files: Vec<UploadedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct UploadedFile {
    pub name: String,
    /// `None` if it is not text.
    pub text: Option<String>,
}

impl StartForm {
    pub(crate) fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |value| value.trim())
    }

    /// The fields whose names begin with `prefix`, without it. Empty ones are left out.
    pub(crate) fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.values.iter();
        fields.filter_map(move |(name, value)| {
            let value = value.trim();
            Some((name.strip_prefix(prefix)?, value)).filter(|_| !value.is_empty())
        })
    }

    fn of_parts(content_type: &str, body: &[u8]) -> Result<Self, Problem> {
        let malformed = || {
            let message = "the form is not valid multipart/form-data";
            Problem::new(StatusCode::BAD_REQUEST, "malformed", message)
        };
        let mut form = Self::default();
        for part in parts(content_type, body).ok_or_else(malformed)? {
            let text = str::from_utf8(part.body).ok().map(str::to_owned);
            match part.file {
                // A browser sends a nameless file if none was chosen.
                Some(name) if name.is_empty() => {}
                Some(name) if part.name == FILES => form.files.push(UploadedFile { name, text }),
                Some(_) => {}
                None => {
                    let text = text.ok_or_else(malformed)?;
                    form.values.insert(part.name, text.replace("\r\n", "\n"));
                }
            }
        }
        Ok(form)
    }
}

/// A form as browsers send it, with or without files.
pub(crate) struct SentForm(pub StartForm);

impl FromRequest<Arc<App>> for SentForm {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.to_ascii_lowercase().starts_with("multipart/form-data") {
            let kind = kind.to_owned();
            let body = read(request, app.body_limit).await?;
            let form = off_runtime(move || StartForm::of_parts(&kind, &body)).await??;
            return Ok(Self(form));
        }
        let Form(values) = Form::<FieldValues>::from_request(request, app)
            .await
            .map_err(|error| Problem::new(error.status(), "malformed", error.body_text()))?;
        Ok(Self(StartForm {
            values,
            files: Vec::new(),
        }))
    }
}
