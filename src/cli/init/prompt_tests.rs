use super::*;

fn typed(lines: &[&str]) -> Prompt {
    Prompt {
        lines: StdinLines::from_lines(lines),
    }
}

#[tokio::test]
async fn enter_takes_the_default() {
    assert!(typed(&[""]).confirm("Write?", true).await.unwrap());
    assert!(!typed(&[""]).confirm("Write?", false).await.unwrap());
    assert!(typed(&["Yes"]).confirm("Write?", false).await.unwrap());
    assert!(!typed(&["n"]).confirm("Write?", true).await.unwrap());
}

#[tokio::test]
async fn the_third_attempt_counts_and_a_fourth_is_not_made() {
    assert!(typed(&["a", "b", "y"]).confirm("?", false).await.unwrap());
    let stop = typed(&["a", "b", "c", "y"]).confirm("?", false).await;
    let Err(Stop::Failed(failure)) = stop else {
        panic!("{stop:?}");
    };
    assert_eq!(
        failure.message(),
        "no valid answer after 3 attempts. Nothing was changed"
    );
}

#[tokio::test]
async fn the_end_of_the_input_leaves() {
    let stop = typed(&[]).confirm("?", true).await;
    assert!(matches!(stop, Err(Stop::Left)), "{stop:?}");
}
