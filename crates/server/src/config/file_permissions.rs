//! A configuration file that everybody may read, though it holds passwords.

use std::os::unix::fs::PermissionsExt;

use engine::rows::UserRow;
use engine::snapshot::Draft;
use engine::vars;

/// What to tell of a file that `draft` was read from; `None` when nothing is wrong with it.
pub(super) fn warning(file: &str, draft: &Draft) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    let mode = metadata.permissions().mode();
    let is_open = metadata.is_file() && mode & OTHERS_MAY_READ != 0;
    (is_open && has_passwords(draft)).then(|| {
        format!(
            "{file} holds passwords, and every user of this machine may read it (mode {:04o}); \
             chmod o-rwx {file}",
            mode & 0o7777
        )
    })
}

fn has_passwords(draft: &Draft) -> bool {
    let is_secret = |name: &str| vars::find(name).is_some_and(|variable| variable.secret);
    let has_one = |value: &str| !value.is_empty();
    let in_attributes = |user: &UserRow| user.attributes.contains("additional_password");
    draft.users.iter().any(|user| !user.password.is_empty() || in_attributes(user))
        || draft.variables.iter().any(|(name, value)| is_secret(name) && has_one(value))
}

const OTHERS_MAY_READ: u32 = 0o004;

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};

    use super::*;

    #[test]
    fn who_may_read_a_file_with_passwords_is_told() {
        let path =
            std::env::temp_dir().join(format!("tidegate-permissions-{}", std::process::id()));
        std::fs::write(&path, "").expect("written");
        let file = path.to_str().expect("a text");
        let user = UserRow { password: b"x".into(), ..UserRow::default() };
        let with_user = Draft { users: vec![user], ..Draft::default() };
        let variable = |name: &str, value: &str| Draft {
            variables: vec![(name.to_owned(), value.to_owned())],
            ..Draft::default()
        };
        let told = |mode: u32, draft: &Draft| {
            set_permissions(&path, Permissions::from_mode(mode)).expect("its owner may");
            warning(file, draft)
        };
        let expected = format!(
            "{file} holds passwords, and every user of this machine may read it (mode 0644); \
             chmod o-rwx {file}"
        );
        assert_eq!(told(0o644, &with_user), Some(expected));
        let attributes = r#"{"additional_password": "x"}"#.to_owned();
        let second = UserRow { attributes, ..UserRow::default() };
        let with_second = Draft { users: vec![second], ..Draft::default() };
        assert!(told(0o644, &with_second).is_some());
        assert!(told(0o604, &variable("mysql-monitor_password", "x")).is_some());
        for (mode, draft) in [
            (0o640, with_user),
            (0o644, Draft::default()),
            (0o644, variable("admin-cluster_password", "")),
            (0o644, variable("mysql-threads", "2")),
        ] {
            assert_eq!(told(mode, &draft), None, "{mode:o}");
        }
        std::fs::remove_file(&path).expect("gone");
        assert_eq!(warning(file, &Draft::default()), None);
    }
}
