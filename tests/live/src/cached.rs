//! A proxy that has every read in its query cache.

use std::time::Duration;

use lab::{Cluster, SplitOptions};
use mysql::prelude::Queryable;

use crate::{Proxy, client, eventually};

/// One in front of these servers, with this behind its configuration, which has read what they
/// have: the answer to `probe` has been kept.
pub fn everything_cached(cluster: &Cluster, more: &str, probe: &str) -> Proxy {
    let proxy = Proxy::start(|interfaces| {
        let more = format!(
            "\n{more}[[mysql_query_rules]]\nrule_id = 0\nactive = 1\nmatch_pattern = '.'\n\
             cache_ttl = 3600000\n"
        );
        let variables = "threads = 1\n".into();
        lab::split_toml(
            cluster,
            &SplitOptions { interfaces, variables, more, ..Default::default() },
        )
    })
    .expect("tidegate starts");
    let mut conn = client::connect(client::options(proxy.port));
    eventually("an answer is kept", Duration::from_secs(20), || {
        conn.query_drop(probe).expect("answered");
        proxy.counter("cache_fills").expect("a counter") > 0
    });
    proxy
}
