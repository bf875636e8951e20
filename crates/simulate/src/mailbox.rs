//! Which message meets which receive: messages in the order of their arrival, receives in that of their posting.

use crate::lanes::Stamp;
use std::collections::VecDeque;

/// A message on its way, or waiting for its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: i64,
    pub(crate) bytes: u64,
    pub(crate) sent: Stamp,
    /// The sender's request, where the sender waits for the receiver.
    pub(crate) sender: Option<u32>,
}

/// What a receive or a probe asks for; `None` is any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub(crate) from: Option<u32>,
    pub(crate) tag: Option<i64>,
}

impl Pattern {
    pub(crate) fn matches(self, message: &Message) -> bool {
        // Messages with tags that no description can name are for those who know them.
        self.from.is_none_or(|from| from == message.from) && self.tag.map_or(message.tag >= 0, |tag| tag == message.tag)
    }
}

/// A receive that is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) request: u32,
    pub(crate) pattern: Pattern,
    pub(crate) at: Stamp,
}

/// Where messages to a rank end. What is first is mostly what is met, also where there are many.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
}

impl Mailbox {
    /// A message arrives: the receive that it meets, if one is posted.
    pub(crate) fn arrive(&mut self, message: Message) -> Option<Posted> {
        let met = self.posted.iter().position(|posted| posted.pattern.matches(&message)).and_then(|at| self.posted.remove(at));
        if met.is_none() {
            self.unexpected.push_back(message);
        }
        met
    }

    /// A receive is posted: the message that it meets, if one is there.
    pub(crate) fn post(&mut self, posted: Posted) -> Option<Message> {
        let met = self.unexpected.iter().position(|message| posted.pattern.matches(message)).and_then(|at| self.unexpected.remove(at));
        if met.is_none() {
            self.posted.push_back(posted);
        }
        met
    }

    /// The message that a probe finds.
    pub(crate) fn find(&self, pattern: Pattern) -> Option<&Message> {
        self.unexpected.iter().find(|message| pattern.matches(message))
    }
}
