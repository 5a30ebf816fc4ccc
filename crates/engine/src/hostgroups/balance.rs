//! How the servers of a hostgroup share its commands, as `hostgroup_settings` says it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json;
use crate::topology::Server;

/// What the commands of a hostgroup are shared out by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Policy {
    /// By the weights of its servers, in turn.
    #[default]
    Weight,
    /// To the server with the fewest commands for its weight.
    LeastOutstanding,
    /// Of two servers taken at random to the one with the shorter wait: how long its commands took
    /// lately, times how many it has.
    LowestLatency,
}

impl Policy {
    /// All of them, by the name in `hostgroup_settings`.
    pub const ALL: [(&'static str, Self); 3] = [
        ("weight", Self::Weight),
        ("least_outstanding", Self::LeastOutstanding),
        ("lowest_latency", Self::LowestLatency),
    ];
}

/// What a row says of sharing commands out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Balance {
    /// What they are shared out by.
    pub policy: Policy,
    /// Where its servers are.
    pub zones: Zones,
    /// Servers of the proxy's own zone that have to serve for the others to be left out.
    pub near_min: usize,
}

/// Where servers are: the zone of each, by its name or by its name and port.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Zones(BTreeMap<String, Vec<(Option<u16>, String)>>);

impl Zones {
    /// Whether the zone of any server is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The zone of a server.
    pub fn of(&self, server: &Server) -> Option<&str> {
        let known = self.0.get(&server.hostname)?;
        let by = |port| known.iter().find(|(own, _)| *own == port);
        by(Some(server.port)).or_else(|| by(None)).map(|(_, zone)| zone.as_str())
    }

    fn read(value: Value) -> Result<Self, String> {
        let Value::Object(map) = value else { return Err("zones is no object".to_owned()) };
        let mut zones = Self::default();
        for (server, zone) in map {
            let Value::String(zone) = zone else {
                return Err(format!("zones: the zone of {server} is no text"));
            };
            // an address of IPv6 may end like one with a port
            if let Some((hostname, port)) = server.rsplit_once(':')
                && let Ok(port) = port.parse()
            {
                let of_host = zones.0.entry(hostname.to_owned()).or_default();
                of_host.push((Some(port), zone.clone()));
            }
            zones.0.entry(server).or_default().push((None, zone));
        }
        Ok(zones)
    }
}

impl Balance {
    /// What `hostgroup_settings` says of it.
    pub(super) fn of(settings: &str) -> Result<Self, String> {
        let policy = json::word(settings, "balance", &Policy::ALL)?.unwrap_or_default();
        let zones = json::member(settings, "zones")?.map(Zones::read).transpose()?;
        let near_min = json::number(settings, "zone_min_servers", 1_000)?.unwrap_or(1);
        let near_min = usize::try_from(near_min).unwrap_or(usize::MAX);
        Ok(Self { policy, zones: zones.unwrap_or_default(), near_min })
    }

    /// Whether it is anything else than sharing out by weights alone.
    pub fn is_plain(&self) -> bool {
        self.policy == Policy::Weight && self.zones.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ServerRow;
    use crate::topology::Topology;

    #[test]
    fn zones_are_those_of_names_and_of_names_with_ports() {
        let text = r#"{"zones": {"a": "x", "a:3307": "y", "::1": "z"}}"#;
        let zones = Balance::of(text).expect("valid").zones;
        let row = |hostname: &str, port| ServerRow {
            hostname: hostname.to_owned(),
            port,
            ..ServerRow::default()
        };
        let rows = [row("a", 3306), row("a", 3307), row("::1", 3306), row("b", 3306)];
        let topology = Topology::compile(&rows).expect("valid");
        let found: Vec<_> = topology.servers().iter().map(|server| zones.of(server)).collect();
        assert_eq!(found, [Some("x"), Some("y"), Some("z"), None]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, fault) in [
            (
                r#"{"balance": "best"}"#,
                "balance is none of weight, least_outstanding, lowest_latency",
            ),
            (r#"{"balance": 1}"#, "balance is none of weight, least_outstanding, lowest_latency"),
            (r#"{"zones": "x"}"#, "zones is no object"),
            (r#"{"zones": {"a": 1}}"#, "zones: the zone of a is no text"),
            (r#"{"zone_min_servers": -1}"#, "zone_min_servers is no whole number from 0 to 1000"),
        ] {
            assert_eq!(Balance::of(text), Err(fault.to_owned()), "{text}");
        }
        assert!(Balance::of("").expect("valid").is_plain());
        let policies = ["weight", "least_outstanding", "lowest_latency"]
            .map(|name| Balance::of(&format!(r#"{{"balance": "{name}"}}"#)).expect("valid").policy);
        assert_eq!(policies, [Policy::Weight, Policy::LeastOutstanding, Policy::LowestLatency]);
    }
}
