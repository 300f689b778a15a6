use super::*;

#[test]
fn a_question_is_counted_only_where_it_could_be_too_long() {
    assert!(check_question("short", 5).is_ok());
    assert!(check_question(&"word ".repeat(100), 101).is_ok());
    assert!(check_question(&"word ".repeat(1000), 100).is_err());
}

#[test]
fn a_question_of_blanks_is_none() {
    assert_eq!(
        check_question(" \n\t", 100),
        Err(Fault::new("/question", "the question is empty"))
    );
}
