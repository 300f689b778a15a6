use super::*;

const PIP3: &[&str] = &["pip3"];
const CMAKE: [Method; 2] = [
    Method::Apt(&["cmake"]),
    Method::Pip {
        requirement: "cmake<5",
        megabytes: 30,
    },
];

fn available(
    apt: Result<Privilege, Unavailable>,
    pip: Result<&'static [&'static str], Unavailable>,
) -> AvailableMethods {
    AvailableMethods {
        apt,
        pip,
        rustup: Err(Unavailable::NotInstalled),
        cargo: Ok(()),
    }
}

fn apt_step(privilege: Privilege) -> InstallStep {
    InstallStep::Apt {
        packages: &["cmake"],
        privilege,
    }
}

fn pip_step() -> InstallStep {
    InstallStep::Pip {
        requirement: "cmake<5",
        megabytes: 30,
        pip: PIP3,
    }
}

#[test]
fn the_system_package_is_preferred_and_pip_is_the_fallback() {
    assert_eq!(
        plan(&CMAKE, &available(Ok(Privilege::Root), Ok(PIP3))),
        (vec![apt_step(Privilege::Root), pip_step()], vec![])
    );
    assert_eq!(
        plan(
            &CMAKE,
            &available(
                Ok(Privilege::PasswordlessSudo),
                Err(Unavailable::NotInstalled)
            )
        ),
        (
            vec![apt_step(Privilege::PasswordlessSudo)],
            vec!["pip: not installed".to_owned()]
        )
    );
}

#[test]
fn without_privileges_pip_is_used() {
    assert_eq!(
        plan(&CMAKE, &available(Err(Unavailable::NoPrivilege), Ok(PIP3))),
        (
            vec![pip_step()],
            vec!["apt-get: needs root or passwordless sudo".to_owned()]
        )
    );
}

#[test]
fn if_no_method_is_available_every_reason_is_given() {
    assert_eq!(
        plan(
            &CMAKE,
            &available(Err(Unavailable::Disabled), Err(Unavailable::NotInstalled))
        ),
        (
            vec![],
            vec![
                "apt-get: disabled by XTASK_INSTALL".to_owned(),
                "pip: not installed".to_owned()
            ]
        )
    );
}

#[test]
fn only_the_listed_methods_are_allowed() {
    assert_eq!(
        [
            None,
            Some(""),
            Some("none"),
            Some("pip, rustup"),
            Some("pip,brew")
        ]
        .map(AllowedMethods::parse),
        [
            Ok(AllowedMethods::ALL),
            Ok(AllowedMethods::ALL),
            Ok(AllowedMethods::NONE),
            Ok(AllowedMethods {
                apt: false,
                pip: true,
                rustup: true,
                cargo: false
            }),
            Err("unknown method `brew` in XTASK_INSTALL: expected a list of apt, pip, rustup, cargo, or none".to_owned()),
        ]
    );
}
