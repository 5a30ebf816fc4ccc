//! A client's command, up to where it is sent.
//!
//! - `dispatch`: bytes become commands, and each command its file;
//! - `long_text`: commands of which more comes than is kept;
//! - `query`: texts, and commands that no rule looks at;
//! - `routing`: what the rules say of it;
//! - `stored_code`: what a statement reaches beside what it says;
//! - `own_answers`, `internal_session`, `kill_statement`: what no server is asked;
//! - `cached`: what the query cache answers;
//! - `sampled`: reads that it does not, of which some are watched for being asked again;
//! - `coalesced`: what is answered as another session's query is;
//! - `variable_texts`: of what texts may be made that a session has run;
//! - `binlog`, `local_file`: replicas, and files of clients;
//! - `delay`, `mirror`: what rules make of a query beside its route;
//! - `kept`: the command that is kept until its reply begins.

pub(crate) mod binlog;
pub(crate) mod cached;
pub(crate) mod coalesced;
pub(crate) mod delay;
pub(crate) mod dispatch;
pub(crate) mod internal_session;
pub(crate) mod invalidation;
pub(crate) mod kept;
pub(crate) mod kill_statement;
pub(crate) mod local_file;
pub(crate) mod long_text;
pub(crate) mod mirror;
pub(crate) mod own_answers;
pub(crate) mod query;
pub(crate) mod routing;
pub(crate) mod sampled;
pub(crate) mod stored_code;
pub(crate) mod variable_texts;
