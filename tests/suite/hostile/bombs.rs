//! Sources and bodies that expand, and debates about hostile texts.

use serde_json::{Value, json};

use super::attack::{Input, peak_memory_mb};
use super::values::{MEGABYTE, long_values, many};
use super::{Attack, OPTIONS, Target, home, idle};
use crate::debate::reply;
use crate::harness::{Answer, Scale, Server, Serving};

/// With `SUITE_SCALE=full` every value, otherwise one out of `part`.
fn every(part: usize) -> usize {
    match Scale::asked_for() {
        Scale::Full => 1,
        Scale::Tenth => part,
    }
}

fn with_source(name: &str, text: &str) -> Value {
    json!({
        "question": "Why?", "protocol": "modes", "model": "lab:x", "budget": { "max_tokens": 1 },
        "sources": [{ "name": name, "text": text }],
    })
}

/// A PDF in ASCII whose page expands a thousandfold, twice.
fn pdf_bomb() -> String {
    let stream = "<~".to_owned() + &"z".repeat(400_000) + "~>";
    format!(
        "%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>\nendobj\n4 0 obj\n<< /Length {} /Filter [/ASCII85Decode \
         /FlateDecode] >>\nstream\n{stream}\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n",
        stream.len()
    )
}

/// Sources that would expand, and bodies that would.
#[test]
fn c20_no_bomb_harms_the_server() {
    let target = Target::start();
    let mut attack = target.attack();
    let path = "/api/v1/debates";
    let wide = format!("{}\n{}", "h".repeat(512 * 1024), "a\n".repeat(250_000));
    let cells = format!("{}\n{}", "h,".repeat(250_000), "a,".repeat(250_000));
    for (name, text, expected) in [
        ("x.csv", wide.as_str(), 422),
        ("x.csv", &cells, 202),
        ("x.csv", &many("\""), 422),
        ("x.tsv", &many("\t"), 422),
        ("x.pdf", &pdf_bomb(), 422),
        ("x.md", &pdf_bomb(), 422),
        ("x.html", &format!("\n{}", pdf_bomb()), 422),
    ] {
        let reply = attack.send(&Input::json(path, with_source(name, text).to_string()));
        assert_eq!(reply.map(|reply| reply.status), Some(expected), "{name}");
    }
    let mut sources: Vec<(&str, String)> = Vec::new();
    for text in long_values().into_iter().step_by(every(3)) {
        sources.push(("x.html", format!("<p>a</p><script>{text}")));
        sources.extend(["x.html", "x.csv", "x.md", "x"].map(|name| (name, text.clone())));
    }
    attack.send_all(&sources, |(name, text)| {
        Input::json(path, with_source(name, text).to_string())
    });
    let deep = |open: &str, count: usize| {
        let nested = open.repeat(count);
        format!("{{\"question\":\"Why?\",\"rules\":{nested}")
    };
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"k{key}\":1")).collect();
    let nonsense = [
        deep("[", 500_000),
        deep("{\"a\":", 200_000),
        format!(
            "{{\"question\":\"Why?\",\"seed\":{}}}",
            "9".repeat(MEGABYTE)
        ),
        format!("{{\"question\":\"Why?\",\"seed\":1e{}}}", "9".repeat(1000)),
        format!("{{\"question\":\"Why?\",{}}}", keys.join(",")),
        format!(
            "{{{}\"question\":\"Why?\"}}",
            "\"question\":\"a\",".repeat(60_000)
        ),
        " ".repeat(MEGABYTE),
        format!("\"{}\"", "\\u0000".repeat(160_000)),
        format!("\"{}", "\\".repeat(MEGABYTE)),
    ];
    attack.send_all(&nonsense, |body| Input::json(path, body.as_str()));
    let zipped = Input::json(path, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03".to_vec());
    let reply = attack.send(&zipped.with("content-encoding", "gzip"));
    assert_eq!(reply.map(|reply| reply.status), Some(400));
    let memory = peak_memory_mb(&target.serving);
    assert!(memory < 1_000, "{memory} MB");
    attack.end("bombs");
}

/// Debates about hostile texts, from the request to every export and page.
#[test]
fn c20_no_debate_about_hostile_text_harms_the_server() {
    let target = Target::start();
    let mut attack = target.attack();
    for text in long_values().iter().step_by(every(4)) {
        let question = text.get(..150_000).unwrap_or("Why?");
        let body = json!({ "question": question, "model": "lab:x" }).to_string();
        let Some(reply) =
            attack.send(&Input::json("/api/v1/debates", body).with("prefer", "wait=30"))
        else {
            continue;
        };
        if reply.status == 422 {
            continue;
        }
        let id = reply.json()["id"].as_str().unwrap().to_owned();
        target.serving.until(&id, "complete");
        let comment = json!({ "rating": 3, "comment": text.get(..20_000).unwrap_or("a") });
        let rating = format!("/api/v1/debates/{id}/rating");
        attack.send(&Input::json(&rating, comment.to_string()));
        let formats = ["json", "yaml", "md", "html"];
        let mut paths = formats
            .map(|format| format!("/api/v1/debates/{id}/export?format={format}"))
            .to_vec();
        paths.extend(["", "/panels"].map(|path| format!("/debates/{id}{path}")));
        paths.push(format!("/api/v1/debates/{id}"));
        paths.push("/api/v1/debates?limit=500".into());
        attack.send_all(&paths, |path| Input::get(path.as_str()));
    }
    assert!(attack.answers[&200] > 20, "{:?}", attack.answers);
    attack.end("debates");
}

/// A long source is indexed, and the long journal of its debate is read, outside the threads that answer other requests.
#[test]
fn c20_a_debate_with_a_long_source_holds_up_nobody() {
    let model = Server::start(|request, _| Answer::Reply(reply(request).to_string()));
    let home = home(&model);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _idle) = idle(&model);
    let mut attack = Attack::on(&serving, &control);
    let words: Vec<String> = (0..90_000).map(|n| format!("word{n:05}")).collect();
    let words = words.join(" ");
    let body = json!({
        "question": "Why?", "protocol": "modes", "model": "lab:x", "rules": { "brief": true },
        "sources": [{ "name": "words.md", "text": words }],
    });
    let request = Input::json("/api/v1/debates", body.to_string()).with("prefer", "wait=60");
    let reply = attack.send(&request).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    for path in [
        format!("/api/v1/debates/{id}"),
        format!("/api/v1/debates/{id}/export?format=json"),
        format!("/debates/{id}"),
        format!("/debates/{id}/panels"),
    ] {
        assert_eq!(attack.send(&Input::get(path)).unwrap().status, 200);
    }
    attack.end("a long source");
}
