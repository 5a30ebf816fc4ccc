//! How replicas protect what they replicate. A server keeps these options when it gets another
//! source, and one that was no replica has none.

use keeper::Endpoint;

use crate::dialect::{Dialect, quote};
use crate::run::OrderRun;

/// What a replica says of the TLS to its source, and with MySQL of the public key that it trusts
/// there. It is what [`Default`] is where there is neither.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SourceTls {
    /// Connections are in TLS.
    pub(crate) is_on: bool,
    /// All options but that, in the order of [`Dialect::tls`], each with its value as a literal.
    options: Vec<(&'static str, String)>,
}

/// An option as a replica shows it, and as it is told.
pub(crate) struct TlsOption {
    column: &'static str,
    option: &'static str,
    is_flag: bool,
}

const fn text(column: &'static str, option: &'static str) -> TlsOption {
    TlsOption { column, option, is_flag: false }
}

const fn flag(column: &'static str, option: &'static str) -> TlsOption {
    TlsOption { column, option, is_flag: true }
}

/// Ends the names of options that are for connections without TLS as well.
const OF_KEYS: [&str; 2] = ["PUBLIC_KEY_PATH", "GET_SOURCE_PUBLIC_KEY"];

impl Dialect {
    /// The column that says whether connections are in TLS.
    const fn tls_allowed(self) -> &'static str {
        match self {
            Self::MariaDb => "Master_SSL_Allowed",
            Self::MySql => "Source_SSL_Allowed",
        }
    }

    /// The options that a replica shows.
    const fn tls(self) -> &'static [TlsOption] {
        const MARIADB: &[TlsOption] = &[
            text("Master_SSL_CA_File", "MASTER_SSL_CA"),
            text("Master_SSL_CA_Path", "MASTER_SSL_CAPATH"),
            text("Master_SSL_Cert", "MASTER_SSL_CERT"),
            text("Master_SSL_Key", "MASTER_SSL_KEY"),
            text("Master_SSL_Cipher", "MASTER_SSL_CIPHER"),
            text("Master_SSL_Crl", "MASTER_SSL_CRL"),
            text("Master_SSL_Crlpath", "MASTER_SSL_CRLPATH"),
            flag("Master_SSL_Verify_Server_Cert", "MASTER_SSL_VERIFY_SERVER_CERT"),
        ];
        const MYSQL: &[TlsOption] = &[
            text("Source_SSL_CA_File", "SOURCE_SSL_CA"),
            text("Source_SSL_CA_Path", "SOURCE_SSL_CAPATH"),
            text("Source_SSL_Cert", "SOURCE_SSL_CERT"),
            text("Source_SSL_Key", "SOURCE_SSL_KEY"),
            text("Source_SSL_Cipher", "SOURCE_SSL_CIPHER"),
            text("Source_SSL_Crl", "SOURCE_SSL_CRL"),
            text("Source_SSL_Crlpath", "SOURCE_SSL_CRLPATH"),
            text("Source_TLS_Version", "SOURCE_TLS_VERSION"),
            flag("Source_SSL_Verify_Server_Cert", "SOURCE_SSL_VERIFY_SERVER_CERT"),
            text("Source_public_key_path", "SOURCE_PUBLIC_KEY_PATH"),
            flag("Get_Source_public_key", "GET_SOURCE_PUBLIC_KEY"),
        ];
        match self {
            Self::MariaDb => MARIADB,
            Self::MySql => MYSQL,
        }
    }
}

impl SourceTls {
    /// What a row about a source says, whose columns are found by their names.
    pub(crate) fn of<'v>(dialect: Dialect, value: impl Fn(&str) -> Option<&'v str>) -> Self {
        let is_on = value(dialect.tls_allowed()) == Some("Yes");
        let is_of_keys = |it: &&TlsOption| OF_KEYS.iter().any(|end| it.option.ends_with(end));
        let options = dialect.tls().iter().filter(|it| is_on || is_of_keys(it));
        let options = options.map(|TlsOption { column, option, is_flag }| {
            let value = value(column).unwrap_or_default();
            let literal = match (is_flag, matches!(value, "Yes" | "1")) {
                (true, is_set) => u8::from(is_set).to_string(),
                (false, _) => quote(value),
            };
            (*option, literal)
        });
        let this = Self { is_on, options: options.collect() };
        match this.says_anything() {
            true => this,
            false => Self::default(),
        }
    }

    /// Whether a replica with these options is protected, or trusts a key.
    pub(crate) fn says_anything(&self) -> bool {
        self.is_on || self.options.iter().any(|(_, value)| value.starts_with('\'') && value != "''")
    }

    /// More is stricter: in TLS at all, with a verified source, by an authority of its own.
    fn strictness(&self) -> [bool; 3] {
        let has = |ends: &[&str]| {
            let is_one = |option: &str| ends.iter().any(|end| option.ends_with(end));
            self.options
                .iter()
                .any(|(option, value)| is_one(option) && !["''", "0"].contains(&value.as_str()))
        };
        [self.is_on, has(&["VERIFY_SERVER_CERT"]), has(&["SSL_CA", "SSL_CAPATH"])]
    }

    /// What is to be told to a replica that has these options, besides where its source is; with
    /// `takes`, to one that has none yet. It starts with a comma where there is anything.
    pub(crate) fn clauses(&self, dialect: Dialect, takes: bool) -> String {
        let on = match dialect {
            Dialect::MariaDb => "MASTER_SSL=1",
            Dialect::MySql => "SOURCE_SSL=1",
        };
        let mut clauses: Vec<String> = self.is_on.then(|| on.to_owned()).into_iter().collect();
        if takes {
            // those without a value as well: MariaDB remembers them beyond RESET SLAVE ALL
            clauses.extend(self.options.iter().map(|(name, value)| format!("{name}={value}")));
        }
        if dialect == Dialect::MySql && !self.says_anything() {
            // the new source does not know the password of an account as the old one did
            clauses.push("GET_SOURCE_PUBLIC_KEY=1".to_owned());
        }
        clauses.into_iter().map(|clause| format!(", {clause}")).collect()
    }

    /// The same in words; empty where there is nothing of note.
    pub(crate) fn told(&self, takes: bool) -> String {
        let is_set = |value: &str| !["''", "0"].contains(&value);
        let options = self.options.iter().filter(|(_, value)| is_set(value));
        let options: Vec<_> = options.map(|(name, value)| format!("{name}={value}")).collect();
        let listed = if options.is_empty() { "" } else { ": " };
        match (self.is_on, takes) {
            (true, true) => format!("in TLS as other replicas{listed}{}", options.join(", ")),
            (true, false) => "in TLS, with its own options".to_owned(),
            (false, true) if self.says_anything() => {
                format!("as other replicas: {}", options.join(", "))
            }
            (false, _) => String::new(),
        }
    }
}

/// Of what several replicas have, what one gets that has nothing: the first of the strictest.
pub(crate) fn strongest(own: impl Iterator<Item = SourceTls>) -> SourceTls {
    own.filter(SourceTls::says_anything)
        .min_by_key(|tls| std::cmp::Reverse(tls.strictness()))
        .unwrap_or_default()
}

impl OrderRun<'_> {
    /// Why replicas that are told to use TLS would follow a server without, if so. MySQL's never
    /// do; MariaDB's do where they do not verify their source.
    pub(crate) fn lacks_tls(
        &mut self,
        dialect: Dialect,
        server: &Endpoint,
    ) -> Result<Option<String>, String> {
        if dialect == Dialect::MySql {
            return Ok(None);
        }
        let has = self.value(
            server,
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES \
             WHERE VARIABLE_NAME='HAVE_SSL'",
        )?;
        // a version without that variable is not known to be without TLS
        Ok(has.filter(|has| has != "YES").map(|has| format!("its have_ssl is {has}")))
    }
}
