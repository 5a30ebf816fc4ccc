//! Asks all workers for their statistics and adds up what they answer.
//!
//! Workers are asked by mail and answer when they come to it; waiting has a limit. What a worker
//! moved out and told too late is kept for the next time, so that no reset loses anything.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use engine::first_bytes::HeaderCounts;
use engine::stats::{Collected, Parts, Share};
use io::Mailbox;
use worker::Mail;

/// Asks and waits. There is to be one only: a worker can be read by one reader at a time.
pub(crate) struct Collector {
    mailboxes: Vec<Mailbox<Mail>>,
    answer: Sender<Answer>,
    answers: Receiver<Answer>,
    /// What no worker counts.
    headers: Arc<HeaderCounts>,
    /// Number of the last question.
    asked: u64,
}

/// What a worker told, and what it had been asked.
struct Answer {
    question: u64,
    worker: usize,
    parts: Parts,
    share: Share,
}

/// What was found out.
pub(crate) struct WorkersTold {
    /// What the workers told, added up.
    pub(crate) collected: Collected,
    /// How many of them did.
    pub(crate) answered: usize,
    /// How many there are.
    pub(crate) workers: usize,
}

impl Collector {
    /// One for these workers; `headers` are counted beside them.
    pub(crate) fn new(mailboxes: Vec<Mailbox<Mail>>, headers: Arc<HeaderCounts>) -> Self {
        let (answer, answers) = channel();
        Self { mailboxes, answer, answers, headers, asked: 0 }
    }

    /// Asks every worker and waits for `limit` at most.
    pub(crate) fn collect(&mut self, parts: Parts, limit: Duration) -> WorkersTold {
        self.asked += 1;
        let workers = 0..self.mailboxes.len();
        // a worker that has ended, or has too much to do, is told by the count of answers
        let waited_for = workers.filter(|worker| self.ask(*worker, parts)).count();
        let (mut collected, answered) = self.wait(waited_for, limit);
        self.headers.add_to(&mut collected.counters);
        WorkersTold { collected, answered, workers: self.mailboxes.len() }
    }

    /// Asks one worker; `false` when it cannot be asked.
    fn ask(&self, worker: usize, parts: Parts) -> bool {
        let (answer, question) = (self.answer.clone(), self.asked);
        let Some(mailbox) = self.mailboxes.get(worker) else { return false };
        // whoever asked may be gone: then nobody misses the answer
        let tell = move |share| drop(answer.send(Answer { question, worker, parts, share }));
        mailbox.post(Mail::Collect { parts, tell: Box::new(tell) }).is_ok()
    }

    /// Adds up answers until so many workers have told everything.
    fn wait(&self, waited_for: usize, limit: Duration) -> (Collected, usize) {
        let deadline = Instant::now() + limit;
        let mut collected = Collected::default();
        let mut answered = 0;
        while answered < waited_for {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(Answer { question, worker, parts, share }) = self.answers.recv_timeout(left)
            else {
                break;
            };
            let rest = share.rest(parts);
            match (question == self.asked, parts.next_page) {
                (true, false) => collected.merge(worker, share),
                (true, true) => collected.merge_pages(worker, share),
                (false, _) if parts.reset => collected.merge_moved(&share),
                (false, _) => {}
            }
            if question == self.asked && !rest.is_some_and(|rest| self.ask(worker, rest)) {
                answered += 1;
            }
        }
        (collected, answered)
    }
}

#[cfg(test)]
mod tests {
    use engine::stats::{CommandCounters, Counters, PoolPage, RuleHits, SessionPage};

    use super::*;

    fn share(queries: u64) -> Share {
        let mut commands = CommandCounters::default();
        let class = sql::command_class(&sql::facts(b"select 1"));
        (0..queries).for_each(|_| commands.record(class, 10));
        Share {
            now_us: 7,
            counters: Counters { queries, ..Counters::default() },
            sessions: 1,
            lanes: 2,
            lanes_shared: 1,
            cache: cache::Figures::default(),
            mirrors: 3,
            mirrors_queued: 4,
            processor_ns: 0,
            rule_hits: vec![(3, RuleHits { hits: queries, limit_hits: 1 })],
            stmt_counts: Default::default(),
            statements: None,
            redirects: Vec::new(),
            commands: Some(commands),
            cached: None,
            repeats: None,
            digests: None,
            servers: Vec::new(),
            errors: None,
            other_bytes: 0,
            session_page: SessionPage::default(),
            pool_page: PoolPage::default(),
            uptime_us: 0,
            digest_bytes: 0,
            spare_bytes: 0,
        }
    }

    fn statements(collected: &Collected) -> u64 {
        collected.commands.rows().map(|(_, row)| row.count).sum()
    }

    #[test]
    fn a_late_answer_is_counted_once_if_it_was_moved_out_and_never_if_not() {
        let mut collector = Collector::new(Vec::new(), Arc::default());
        let send = |collector: &Collector, question, reset, queries| {
            let parts = Parts { commands: true, reset, ..Parts::default() };
            let answer = Answer { question, worker: 0, parts, share: share(queries) };
            collector.answer.send(answer).expect("the collector holds the other end");
        };
        collector.asked = 3;
        send(&collector, 1, true, 5);
        send(&collector, 2, false, 50);
        send(&collector, 3, false, 500);
        let (collected, answered) = collector.wait(1, Duration::from_secs(9));
        assert_eq!((answered, statements(&collected)), (1, 505));
        assert_eq!((collected.counters.queries, collected.sessions), (500, 1));
        assert_eq!(collected.rule_hits.get(&3), Some(&RuleHits { hits: 500, limit_hits: 1 }));
        let (collected, answered) = collector.wait(1, Duration::ZERO);
        assert_eq!((answered, statements(&collected)), (0, 0), "waiting has a limit");
    }
}
