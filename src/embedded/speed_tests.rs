use futures::stream;
use roundtable_core::usage::Usage;
use roundtable_engine::model::Finish;

use super::*;

/// Writes as many tokens as it may, one per millisecond.
struct Writer;

impl Model for Writer {
    fn stream(&self, request: Request) -> Deltas {
        let output = u64::from(request.max_output_tokens);
        let usage = Usage {
            output,
            ..Usage::default()
        };
        let wait = tokio::time::sleep(Duration::from_millis(output));
        let usage = stream::once(async move {
            wait.await;
            Ok(Delta::Usage(usage))
        });
        Box::pin(usage.chain(stream::iter([Ok(Delta::Finish(Finish::Stop))])))
    }
}

fn request(max_output_tokens: u32) -> Request {
    Request {
        model: "writer".to_owned(),
        system: String::new(),
        messages: Vec::new(),
        images: Vec::new(),
        schema: None,
        tools: None,
        temperature: 0.0,
        max_output_tokens,
        seed: 0,
    }
}

fn timed(file: &std::path::Path) -> Timed<Writer> {
    Timed::new(Writer, SpeedRecord::new(Some(file.to_owned())))
}

#[tokio::test]
async fn the_speed_is_measured_once_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("writer.speed");
    let measured = timed(&file).tokens_per_second("writer").await.unwrap();
    // It cannot be faster than the writer, and a busy machine makes it slower.
    assert!(measured > 0.0 && measured <= 1000.0, "{measured}");
    fs::write(&file, "7.5\n").unwrap();
    assert_eq!(timed(&file).tokens_per_second("writer").await, Some(7.5));
    fs::write(&file, "nonsense").unwrap();
    let again = timed(&file).tokens_per_second("writer").await.unwrap();
    assert!(again > 7.5, "measured again: {again}");
}

#[tokio::test]
async fn calls_update_the_speed_unless_they_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("writer.speed");
    let model = timed(&file);
    drop(model.stream(request(50)));
    assert!(!file.exists(), "cancelled");
    model.stream(request(19)).collect::<Vec<_>>().await;
    assert!(!file.exists(), "too few tokens");
    model.stream(request(1)).collect::<Vec<_>>().await;
    assert!(file.exists());
    // Two calls at the same time write twice as many tokens.
    let both = [model.stream(request(200)), model.stream(request(200))];
    futures::future::join_all(both.map(StreamExt::collect::<Vec<_>>)).await;
    let clock = lock(&model.clock);
    assert_eq!(clock.tokens, 420);
    assert!(
        clock.worked >= Duration::from_millis(220),
        "{:?}",
        clock.worked
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!("{:.2}\n", speed(420, clock.worked))
    );
}
