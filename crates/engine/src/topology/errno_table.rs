//! Words for the numbers that the system gives connections which failed or ended.

/// What a number of Linux means, for those that a connection can end with.
pub(super) fn words(errno: u32) -> Option<&'static str> {
    let found = WORDS.binary_search_by_key(&errno, |(number, _)| *number).ok()?;
    WORDS.get(found).map(|(_, words)| *words)
}

/// By number.
const WORDS: &[(u32, &str)] = &[
    (1, "not permitted"),
    (2, "no such socket"),
    (4, "interrupted"),
    (5, "input/output error"),
    (6, "no such device"),
    (9, "bad file descriptor"),
    (11, "no free port, or the socket's queue is full"),
    (12, "out of memory"),
    (13, "permission denied"),
    (20, "not a directory"),
    (22, "invalid argument"),
    (23, "too many open files in the system"),
    (24, "too many open files"),
    (32, "broken pipe"),
    (36, "name too long"),
    (40, "too many symbolic links"),
    (61, "stream was cut off"),
    (64, "machine is not on the network"),
    (71, "protocol error"),
    (88, "not a socket"),
    (90, "message too long"),
    (91, "wrong protocol type for socket"),
    (92, "protocol not available"),
    (93, "protocol not supported"),
    (95, "operation not supported"),
    (97, "address family not supported"),
    (98, "address in use"),
    (99, "no free local address or port"),
    (100, "network is down"),
    (101, "network is unreachable"),
    (102, "connection dropped by the network"),
    (103, "connection aborted"),
    (104, "connection reset by the other end"),
    (105, "no buffer space"),
    (106, "already connected"),
    (107, "not connected"),
    (108, "connection was shut down"),
    (110, "connection timed out"),
    (111, "connection refused"),
    (112, "host is down"),
    (113, "no route to host"),
    (114, "connection already under way"),
    (115, "connection under way"),
    (121, "remote input/output error"),
    (125, "cancelled"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_that_they_are_found() {
        assert!(WORDS.is_sorted_by_key(|(number, _)| number));
        assert!(WORDS.iter().all(|(number, text)| words(*number) == Some(text)));
        assert_eq!(words(0), None);
    }
}
