//! Whose TLS a connection to a server is to have.

use wire::connect::{Greeting, SCRAMBLE_BYTES};
use wire::{Caps, Status, frame};

use crate::orders::Order;
use crate::rows::UserRow;
use crate::session::placing::failed_dial::tests::waiting;

#[test]
fn the_settings_are_those_of_the_account_that_the_server_knows() {
    for (attributes, known) in [("", "app"), ("{\"backend_username\": \"shop\"}", "shop")] {
        let (mut proxy, _) = waiting(|draft| {
            draft.servers[0].use_ssl = 1;
            draft.users[0].attributes = attributes.into();
            draft.users.push(UserRow { username: "shop".into(), ..UserRow::default() });
        });
        let lane = proxy.orders.list.iter().find_map(|order| match order {
            Order::Dial { lane, .. } => Some(*lane),
            _ => None,
        });
        let greeting = Greeting {
            server_version: b"8.0.36",
            connection_id: 7,
            scramble: [1; SCRAMBLE_BYTES],
            caps: Caps::OF_OWN_SERVERS.union(Caps::SSL),
            collation: 45,
            status: Status::AUTOCOMMIT,
            plugin: b"mysql_native_password",
        };
        let mut said = Vec::new();
        frame::write_with(&mut said, &mut 0, |payload| greeting.encode(payload));
        proxy.on_lane_bytes(lane.expect("dialed"), &said);
        let asked = proxy.orders.list.iter().find_map(|order| match order {
            Order::SecureLane { account, .. } => Some(&**account),
            _ => None,
        });
        assert_eq!(asked, Some(known));
    }
}
