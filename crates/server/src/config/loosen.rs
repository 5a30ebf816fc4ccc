//! What ProxySQL asks less of: of servers in TLS, and of HTTP clients. A `proxysql.cnf` goes on as
//! it was, with a warning that says how to have more.

use super::document::Document;
use super::fault::FileFault;

/// What is verified of servers that have no row of their own.
const VERIFY: &str = "mysql-ssl_p2s_verify";

/// Whether HTTP clients have to say who they are.
const AUTHENTICATION: &str = "admin-restapi_authentication";

impl Document {
    /// Has HTTP clients say who they are no more than ProxySQL does, where the file does not say.
    pub(super) fn open_as_there(&mut self) {
        let variables = &self.draft.variables;
        let is_on = |(name, value): &(_, _)| name == "admin-restapi_enabled" && value == "true";
        let Some(switch) = variables.iter().position(is_on) else { return };
        if variables.iter().any(|(name, _)| name == AUTHENTICATION) {
            return;
        }
        let title = format!(
            "admin_variables.restapi_enabled: as in ProxySQL, whoever reaches the port may read \
             metrics and run the scripts of restapi_routes; {AUTHENTICATION} is `false`, and \
             `true` asks for an account"
        );
        let span = self.places.find("admin_variables", None, "restapi_enabled").unwrap_or(0..0);
        self.faults.push(FileFault::warning(span, title));
        self.draft.variables.insert(switch, (AUTHENTICATION.to_owned(), "false".to_owned()));
    }

    /// Has no more verified of servers than ProxySQL does, where the file does not say what is.
    pub(super) fn verify_as_there(&mut self) {
        let in_tls = |row: &engine::rows::ServerRow| row.use_ssl == 1;
        let Some(first) = self.draft.servers.iter().position(in_tls) else { return };
        let variables = &self.draft.variables;
        let set = |name: &str| variables.iter().any(|(it, value)| it == name && !value.is_empty());
        if set(VERIFY) {
            return;
        }
        let verify = |has_authorities: bool| if has_authorities { "ca" } else { "none" }.to_owned();
        let others = verify(set("mysql-ssl_p2s_ca") || set("mysql-ssl_p2s_capath"));
        for row in self.draft.server_tls.iter_mut().filter(|row| row.ssl_verify.is_empty()) {
            row.ssl_verify = verify(!row.ssl_ca.is_empty() || !row.ssl_capath.is_empty());
        }
        let told = match others.as_str() {
            "none" => {
                "servers are not verified: whoever answers in the place of one gets passwords"
            }
            _ => "names of servers are not verified: all that the authority knows may stand in",
        };
        let title = format!(
            "mysql_servers.use_ssl: as in ProxySQL, {told}; {VERIFY} is `{others}`, and `identity` \
             has them verified"
        );
        let span = self.places.find("mysql_servers", Some(first), "use_ssl");
        let span = span.unwrap_or_else(|| self.places.find_row("mysql_servers", Some(first)));
        self.faults.push(FileFault::warning(span, title));
        self.draft.variables.push((VERIFY.to_owned(), others));
    }
}
