//! The order in which receives from anywhere meet their messages.
//!
//! A receive from anywhere takes what is there first. Measuring may have changed what that was: where it met a message, and a later
//! receive of the same kind one that was sent later, but earlier in virtual time, the unmeasured program would have met
//! them the other way round. No model can undo what followed from that; it can be counted.
//!
//! What always holds: without overhead nothing is contradicted, as virtual times then stand in the order of real ones.

use crate::completion::Moment;

/// What the receives from anywhere of one kind (location, communicator, tag) have met so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// The message that was sent last in virtual time.
    last: Option<Moment>,
}

impl Order {
    /// Another message was met, sent at this moment: whether virtual times contradict that it came after the others.
    pub fn met(&mut self, sent: Moment) -> bool {
        let contradicts = self.last.is_some_and(|last| last.at <= sent.at && last.virtual_time() > sent.virtual_time());
        if self.last.is_none_or(|last| last.virtual_time() < sent.virtual_time()) {
            self.last = Some(sent);
        }
        contradicts
    }
}

#[cfg(test)]
mod tests {
    use super::Order;
    use crate::completion::Moment;
    use tare_format::ids::Ticks;

    fn met(sent: &[(u64, i64)]) -> std::vec::Vec<bool> {
        let mut order = Order::default();
        sent.iter().map(|&(at, delay)| order.met(Moment { at: Ticks(at), delay })).collect()
    }

    #[test]
    fn a_message_that_overhead_alone_made_later_contradicts() {
        assert_eq!(met(&[(100, 0), (130, 50), (140, 0)]), [false, true, false]);
    }

    #[test]
    fn without_overhead_no_order_contradicts() {
        // The network may turn two messages round.
        assert_eq!(met(&[(100, 0), (90, 0), (95, 0)]), [false; 3]);
    }
}
