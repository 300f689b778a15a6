//! A browser signs in with a service token, and holds a session from then on that no script can read.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::App;
use super::access::COOKIE;
use super::problem::Problem;
use super::requests::read;
use super::tokens::SESSION_MS;
use super::web;

/// A form with one token in it.
const LARGEST_FORM: usize = 4096;

pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Problem> {
    let wants_page = wants_page(request.headers());
    let form = read(request, LARGEST_FORM).await?;
    let token = field(&form, "token").unwrap_or_default();
    let next = web::safe_next(&field(&form, "next").unwrap_or_default());
    let Some(session) = app.access.sign_in(&token).await? else {
        if wants_page {
            let mut address = "/sign-in?failed=1".to_owned();
            if next != "/" {
                address.push_str("&next=");
                address.push_str(&web::percent(&next));
            }
            return Ok(Redirect::to(&address).into_response());
        }
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "no-token",
            "this is not one of the server's tokens",
        ));
    };
    let seconds = SESSION_MS / 1000;
    let cookie =
        format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}");
    Ok(on_to(&next, &cookie))
}

pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    app.access.sign_out(&headers).await?;
    let cookie = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(on_to("/", &cookie))
}

fn on_to(address: &str, cookie: &str) -> Response {
    let mut response = Redirect::to(address).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// A field of a form as browsers send it.
fn field(form: &[u8], name: &str) -> Option<String> {
    let form = std::str::from_utf8(form).ok()?;
    let address = format!("http://form/?{form}");
    let url = reqwest::Url::parse(&address).ok()?;
    let (_, value) = url.query_pairs().find(|(key, _)| key == name)?;
    Some(value.into_owned())
}
