//! Asks PAM, as the service's file in `/etc/pam.d` says: whether the password is right, and whether
//! the account may be used.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use engine::login_checks::{CheckOutcome, ShownPassword};
use nonstick::items::ItemsMut;
use nonstick::{
    AuthnFlags, ConversationAdapter, ErrorCode, PamShared, Result, Transaction, TransactionBuilder,
};

/// Whether `password` is right for `user`, who comes from `client`. Blocks for as long as the
/// service's modules do.
pub(super) fn check(service: &str, user: &str, password: &[u8], client: &str) -> CheckOutcome {
    // PAM's texts end at a NUL
    if user.as_bytes().contains(&0) || password.contains(&0) {
        return CheckOutcome::Wrong;
    }
    let said = Mutex::default();
    let answers = Answers { password: ShownPassword::new(password), said: &said };
    let outcome = ask(service, user, client, answers);
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok(()) => CheckOutcome::Right,
        Err(Step::Authenticate(ErrorCode::AuthenticationError | ErrorCode::UserUnknown)) => {
            CheckOutcome::Wrong
        }
        Err(Step::Authenticate(
            error @ (ErrorCode::PermissionDenied | ErrorCode::MaxTries | ErrorCode::AccountExpired),
        )) => CheckOutcome::Refused(worded(error, &said)),
        Err(Step::Account(
            error @ (ErrorCode::AccountExpired
            | ErrorCode::NewAuthTokRequired
            | ErrorCode::AuthTokExpired
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthenticationError
            | ErrorCode::UserUnknown),
        )) => CheckOutcome::Refused(worded(error, &said)),
        Err(Step::Begin(error) | Step::Authenticate(error) | Step::Account(error)) => {
            CheckOutcome::Failed(format!("service {service}: {}", worded(error, &said)))
        }
    }
}

/// At which step PAM said no, and with what.
enum Step {
    Begin(ErrorCode),
    Authenticate(ErrorCode),
    Account(ErrorCode),
}

fn ask(
    service: &str,
    user: &str,
    client: &str,
    answers: Answers<'_>,
) -> std::result::Result<(), Step> {
    let builder = TransactionBuilder::new_with_service(service).username(user);
    let mut transaction = builder.build(answers.into_conversation()).map_err(Step::Begin)?;
    // whence somebody comes is for the modules' logs, and for pam_access
    let host = Some(OsStr::new(client));
    transaction.items_mut().set_remote_host(host).map_err(Step::Begin)?;
    let flags = AuthnFlags::SILENT | AuthnFlags::DISALLOW_NULL_AUTHTOK;
    transaction.authenticate(flags).map_err(Step::Authenticate)?;
    transaction.account_management(flags).map_err(Step::Account)
}

/// What PAM calls an error, with what a module said last.
fn worded(error: ErrorCode, said: &str) -> String {
    if said.is_empty() { error.to_string() } else { format!("{error}: {said}") }
}

/// What modules are answered.
struct Answers<'a> {
    password: ShownPassword,
    /// What a module said last.
    said: &'a Mutex<String>,
}

impl ConversationAdapter for Answers<'_> {
    fn prompt(&self, _: impl AsRef<OsStr>) -> Result<OsString> {
        // what is shown while it is typed is no password
        Err(ErrorCode::ConversationError)
    }

    fn masked_prompt(&self, _: impl AsRef<OsStr>) -> Result<OsString> {
        Ok(OsStr::from_bytes(self.password.bytes()).to_owned())
    }

    fn error_msg(&self, message: impl AsRef<OsStr>) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = message.as_ref().to_string_lossy().into_owned();
    }

    fn info_msg(&self, _: impl AsRef<OsStr>) {}
}
