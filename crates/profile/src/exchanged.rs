//! What call paths exchanged with other processes.

use tare_format::graph::SIZE_CLASSES;

/// What a call path exchanged with other processes, and how long it waited for them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchanged {
    /// Ticks waited, as measured.
    pub wait_ticks: u64,
    /// Ticks waited in virtual time.
    pub virtual_wait_ticks: u64,
    /// Delay gained here, ticks.
    pub delay_gain: i64,
    /// What was communicated.
    pub messages: Messages,
    /// Receives from anywhere whose order the virtual times contradict, as far as the location had room to say where.
    pub contradicted: u64,
    /// Messages by partner.
    pub peers: Vec<Peer>,
}

impl Exchanged {
    /// What call paths have that exchange nothing.
    pub(crate) const NOTHING: Self = Self {
        wait_ticks: 0,
        virtual_wait_ticks: 0,
        delay_gain: 0,
        messages: Messages { count: 0, bytes: 0, unpaired: 0 },
        contradicted: 0,
        peers: Vec::new(),
    };

    /// Adds what another call path has.
    pub(crate) fn add(&mut self, other: Self) {
        self.wait_ticks = self.wait_ticks.saturating_add(other.wait_ticks);
        self.virtual_wait_ticks = self.virtual_wait_ticks.saturating_add(other.virtual_wait_ticks);
        self.delay_gain = self.delay_gain.saturating_add(other.delay_gain);
        self.messages.count = self.messages.count.saturating_add(other.messages.count);
        self.messages.bytes = self.messages.bytes.saturating_add(other.messages.bytes);
        self.messages.unpaired = self.messages.unpaired.saturating_add(other.messages.unpaired);
        self.contradicted = self.contradicted.saturating_add(other.contradicted);
        self.peers.extend(other.peers);
    }
}

/// What was communicated under a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Messages {
    /// Messages sent and received.
    pub count: u64,
    /// Bytes sent and received.
    pub bytes: u64,
    /// Completions whose delay was not known, and calls that carry none.
    pub unpaired: u64,
}

/// Messages with one partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peer {
    /// Its rank.
    pub rank: u32,
    /// Messages sent to it.
    pub sent: u64,
    /// Messages received from it.
    pub received: u64,
    /// Bytes, both ways.
    pub bytes: u64,
    /// Ticks between sending and the end of receiving.
    pub transmission: u64,
    /// Ticks waited for it.
    pub wait: u64,
    /// Ticks waited for it in virtual time.
    pub virtual_wait: u64,
    /// Ticks that sends to it waited until it received.
    pub held: u64,
    /// The same in virtual time.
    pub virtual_held: u64,
    /// Delay gained from it, ticks.
    pub delay_gain: i64,
    /// Messages sent to it by [`crate::size_class`]; those that are in none were not counted by size.
    pub sent_sizes: [u64; SIZE_CLASSES],
    /// Messages received from it, likewise.
    pub received_sizes: [u64; SIZE_CLASSES],
}
