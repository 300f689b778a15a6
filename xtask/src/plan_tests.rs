use super::*;

const PIP3: &[&str] = &["pip3"];
const CMAKE: [Way; 2] = [
    Way::Apt(&["cmake"]),
    Way::Pip {
        requirement: "cmake<5",
        megabytes: 30,
    },
];

fn offers(apt: Result<Privilege, Closed>, pip: Result<&'static [&'static str], Closed>) -> Offers {
    Offers {
        apt,
        pip,
        rustup: Err(Closed::NotHere),
    }
}

fn by_apt(privilege: Privilege) -> Step {
    Step::Apt {
        packages: &["cmake"],
        privilege,
    }
}

fn by_pip() -> Step {
    Step::Pip {
        requirement: "cmake<5",
        megabytes: 30,
        pip: PIP3,
    }
}

#[test]
fn the_system_package_is_preferred_and_pip_is_the_second_try() {
    assert_eq!(
        plan(&CMAKE, &offers(Ok(Privilege::Root), Ok(PIP3))),
        (vec![by_apt(Privilege::Root), by_pip()], vec![])
    );
    assert_eq!(
        plan(
            &CMAKE,
            &offers(Ok(Privilege::PasswordlessSudo), Err(Closed::NotHere))
        ),
        (
            vec![by_apt(Privilege::PasswordlessSudo)],
            vec!["pip: not on this machine".to_owned()]
        )
    );
}

#[test]
fn without_rights_pip_installs() {
    assert_eq!(
        plan(&CMAKE, &offers(Err(Closed::NoRights), Ok(PIP3))),
        (
            vec![by_pip()],
            vec!["apt-get: needs root or passwordless sudo".to_owned()]
        )
    );
}

#[test]
fn where_no_way_is_open_every_reason_is_given() {
    assert_eq!(
        plan(
            &CMAKE,
            &offers(Err(Closed::SwitchedOff), Err(Closed::NotHere))
        ),
        (
            vec![],
            vec![
                "apt-get: switched off by XTASK_INSTALL".to_owned(),
                "pip: not on this machine".to_owned()
            ]
        )
    );
}

#[test]
fn only_the_ways_that_are_named_are_allowed() {
    assert_eq!(
        [
            None,
            Some(""),
            Some("none"),
            Some("pip, rustup"),
            Some("pip,brew")
        ]
        .map(Allowed::parse),
        [
            Ok(Allowed::ALL),
            Ok(Allowed::ALL),
            Ok(Allowed::NONE),
            Ok(Allowed {
                apt: false,
                pip: true,
                rustup: true
            }),
            Err(UnknownWay("brew".to_owned())),
        ]
    );
}
