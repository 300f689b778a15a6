use super::*;

const HELP: &str = "Put a question to a panel

Usage: roundtable ask [OPTIONS] <QUESTION>

Arguments:
  <QUESTION>  Text, a file, or - for standard input

Commands:
  list  List them
  help  Print this

Examples:
  roundtable ask \"Is it so?\" \\
.
";

#[test]
fn a_help_text_becomes_a_page() {
    assert_eq!(
        page("roundtable ask", HELP, "1.2.3"),
        r#".TH ROUNDTABLE-ASK 1 "" "Roundtable 1.2.3" "Roundtable"
.SH NAME
roundtable\-ask \- Put a question to a panel
.SH SYNOPSIS
.nf
roundtable ask [OPTIONS] <QUESTION>

.fi
.SH ARGUMENTS
.nf
  <QUESTION>  Text, a file, or \- for standard input

.fi
.SH COMMANDS
.nf
  list  List them
  help  Print this

.fi
.SH EXAMPLES
.nf
  roundtable ask "Is it so?" \e
\&.
.fi
"#
    );
}

#[test]
fn subcommands_are_found_except_help() {
    assert_eq!(subcommands(HELP), ["list"]);
    assert_eq!(subcommands("No commands here\n"), Vec::<String>::new());
}
