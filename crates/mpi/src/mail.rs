//! Mail: what processes of one machine tell each other beside messages stands in memory that they share, in the place of shadow messages
//! ([`crate::transport`]).
//!
//! ```text
//! per process that sends and process that receives, a box:
//!   0 u64  letters that the receiver has taken
//!  64 [Letter; room]: letter n stands in place n mod room
//! Letter, of 64 bytes:
//!   0 u64  n + 1, written last           8 u64  the communicator
//!  16 u64  the tag; all ones in the last letter of a box
//!  24 u64  when it was sent (ticks)     32 i64  the sender's delay then
//!  40 u64  the number of the operation, 0 of a message
//! ```
//!
//! What always holds: no letter is written over one that is not taken, and nobody waits. Where there is no room a box is closed for good, and
//! what goes that way from then on goes in shadow messages: of each stream, what stands in the box comes first.

use crate::transport::Note;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_delay::completion::Moment;
use tare_format::ids::Ticks;

/// Bytes of all boxes of a machine, at most, and letters of a box.
const MOST_BYTES: usize = 8 << 20;
const ROOM: core::ops::RangeInclusive<usize> = 16..=1024;
/// What stands in the place of the tag in the last letter of a box.
const CLOSED: u64 = u64::MAX;

/// A letter, or the head of a box.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Letter {
    number: AtomicU64,
    comm: AtomicU64,
    tag: AtomicU64,
    at: AtomicU64,
    delay: AtomicI64,
    wanted: AtomicU64,
}

const _: () = assert!(size_of::<Letter>() == 64);

/// What a box has for a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Its next note.
    Note(Note),
    /// Nothing, or not yet.
    Nothing,
    /// Nothing, and what comes will come in shadow messages.
    Closed,
}

/// A communicator's name and a tag: with the sender, a stream.
type Address = (u64, i32);

#[derive(Debug, Default)]
struct Outgoing {
    next: u64,
    /// Letters that the receiver is known to have taken.
    taken: u64,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Incoming {
    next: u64,
    is_closed: bool,
    /// What came before its turn.
    kept: HashMap<Address, VecDeque<Note>>,
}

/// The boxes as this process sees them.
#[derive(Debug)]
pub(crate) struct Mail {
    boxes: NonNull<Letter>,
    room: usize,
    members: usize,
    mine: usize,
    outgoing: Box<[Mutex<Outgoing>]>,
    incoming: Box<[Mutex<Incoming>]>,
}

// SAFETY: what stands in the boxes are atomic numbers, and the memory stays for good.
unsafe impl Send for Mail {}
// SAFETY: as above.
unsafe impl Sync for Mail {}

/// Letters of each box where so many processes share a machine; `None` where they are too many.
fn room_of(members: usize) -> Option<usize> {
    let room = (MOST_BYTES / size_of::<Letter>() / (members * members)).saturating_sub(1).min(*ROOM.end());
    ROOM.contains(&room).then_some(room)
}

/// Letters that all boxes of so many processes need; none where these are too many.
pub(crate) fn letters(members: usize) -> usize {
    room_of(members).map_or(0, |room| members * members * (room + 1))
}

impl Mail {
    /// The boxes of these processes, of which this one is one; `None` where they are too many.
    ///
    /// # Safety
    /// There are [`letters`] zeroed letters, which stay for good.
    pub(crate) unsafe fn new(boxes: NonNull<Letter>, members: usize, mine: usize) -> Option<Self> {
        let room = room_of(members)?;
        let (outgoing, incoming) = ((0..members).map(|_| Mutex::default()).collect(), (0..members).map(|_| Mutex::default()).collect());
        Some(Self { boxes, room, members, mine, outgoing, incoming })
    }

    /// The head of a box and its letters.
    fn open(&self, sender: usize, receiver: usize) -> (&Letter, &[Letter]) {
        let begin = (sender * self.members + receiver) * (self.room + 1);
        // SAFETY: there is a box for each pair.
        let first = unsafe { self.boxes.add(begin) };
        // SAFETY: it has a head and so many letters, which stay.
        let all = unsafe { core::slice::from_raw_parts(first.as_ptr(), self.room + 1) };
        (&all[0], &all[1..])
    }

    /// Puts a note into the box to a process; says whether there was room.
    pub(crate) fn post(&self, to: usize, (comm, tag): Address, note: Note) -> bool {
        let mut outgoing = locked(&self.outgoing[to]);
        if outgoing.is_closed {
            return false;
        }
        let (head, letters) = self.open(self.mine, to);
        // One place is kept for the last letter.
        let is_full = |outgoing: &Outgoing| outgoing.next - outgoing.taken + 1 >= self.room as u64;
        if is_full(&outgoing) {
            outgoing.taken = head.number.load(Ordering::Acquire);
        }
        outgoing.is_closed = is_full(&outgoing);
        let tag = if outgoing.is_closed { CLOSED } else { u64::from(tag.cast_unsigned()) };
        letters[outgoing.next as usize % self.room].write(outgoing.next, comm, tag, note);
        outgoing.next += 1;
        !outgoing.is_closed
    }

    /// Takes the next note of a stream from a process.
    pub(crate) fn take(&self, from: usize, address: Address) -> Found {
        let mut incoming = locked(&self.incoming[from]);
        if !incoming.kept.is_empty()
            && let Some(note) = incoming.kept.get_mut(&address).and_then(VecDeque::pop_front)
        {
            return Found::Note(note);
        }
        while let Some((theirs, note)) = self.next(from, &mut incoming) {
            if theirs == address {
                return Found::Note(note);
            }
            incoming.kept.entry(theirs).or_default().push_back(note);
        }
        if incoming.is_closed { Found::Closed } else { Found::Nothing }
    }

    /// What [`Self::take`] would find, which stays.
    pub(crate) fn peek(&self, from: usize, address: Address) -> Found {
        let found = self.take(from, address);
        if let Found::Note(note) = found {
            locked(&self.incoming[from]).kept.entry(address).or_default().push_front(note);
        }
        found
    }

    /// Nobody will take what is left of a communicator.
    pub(crate) fn forget(&self, comm: u64) {
        for incoming in &self.incoming {
            locked(incoming).kept.retain(|&(theirs, _), _| theirs != comm);
        }
    }

    fn next(&self, from: usize, incoming: &mut Incoming) -> Option<(Address, Note)> {
        let (head, letters) = self.open(from, self.mine);
        let (comm, tag, note) = letters[incoming.next as usize % self.room].read(incoming.next)?;
        incoming.next += 1;
        head.number.store(incoming.next, Ordering::Release);
        incoming.is_closed = tag == CLOSED;
        (tag != CLOSED).then_some(((comm, (tag as u32).cast_signed()), note))
    }
}

impl Letter {
    fn write(&self, number: u64, comm: u64, tag: u64, note: Note) {
        self.comm.store(comm, Ordering::Relaxed);
        self.tag.store(tag, Ordering::Relaxed);
        self.at.store(note.sent.at.0, Ordering::Relaxed);
        self.delay.store(note.sent.delay, Ordering::Relaxed);
        self.wanted.store(note.wanted, Ordering::Relaxed);
        self.number.store(number + 1, Ordering::Release);
    }

    /// Letter `number`, once it is there.
    fn read(&self, number: u64) -> Option<(u64, u64, Note)> {
        if self.number.load(Ordering::Acquire) != number + 1 {
            return None;
        }
        let sent = Moment { at: Ticks(self.at.load(Ordering::Relaxed)), delay: self.delay.load(Ordering::Relaxed) };
        let note = Note { sent, wanted: self.wanted.load(Ordering::Relaxed) };
        Some((self.comm.load(Ordering::Relaxed), self.tag.load(Ordering::Relaxed), note))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Found, Letter, Mail, letters, room_of};
    use crate::transport::Note;
    use core::ptr::NonNull;
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
    use std::collections::{HashMap, VecDeque};
    use tare_delay::completion::Moment;
    use tare_format::ids::Ticks;

    /// Two processes that share boxes, as each sees them.
    fn pair() -> [Mail; 2] {
        // SAFETY: zeros are numbers.
        let boxes: Vec<Letter> = (0..letters(2)).map(|_| unsafe { core::mem::zeroed() }).collect();
        let boxes = NonNull::from(boxes.leak()).cast::<Letter>();
        // SAFETY: they have just been made, and stay.
        [0, 1].map(|mine| unsafe { Mail::new(boxes, 2, mine) }.expect("two are not too many"))
    }

    const fn note(at: u64) -> Note {
        Note { sent: Moment { at: Ticks(at), delay: -7 }, wanted: at / 2 }
    }

    #[test]
    fn a_full_box_is_closed_behind_what_it_holds() {
        let [sender, receiver] = pair();
        let room = room_of(2).expect("two are not too many") as u64;
        assert!((0..room - 1).all(|at| sender.post(1, (5, 3), note(at))));
        assert!(!sender.post(1, (5, 3), note(room)));
        assert_eq!(receiver.take(0, (5, 4)), Found::Closed);
        assert!((0..room - 1).all(|at| receiver.take(0, (5, 3)) == Found::Note(note(at))));
        assert_eq!(receiver.take(0, (5, 3)), Found::Closed);
        assert!(!sender.post(1, (5, 3), note(room)));
        assert_eq!(sender.take(1, (5, 3)), Found::Nothing, "the way back is another box");
    }

    #[test]
    fn what_is_left_of_a_communicator_is_forgotten() {
        let [sender, receiver] = pair();
        for comm in [5, 6] {
            sender.post(1, (comm, 3), note(comm));
        }
        assert_eq!(receiver.take(0, (7, 0)), Found::Nothing);
        receiver.forget(5);
        assert_eq!((receiver.take(0, (5, 3)), receiver.take(0, (6, 3))), (Found::Nothing, Found::Note(note(6))));
    }

    #[test]
    fn boxes_of_many_processes_are_small_or_none() {
        assert_eq!(letters(2), 4 * 1025);
        assert!((1..200).all(|members| letters(members) * size_of::<Letter>() <= 8 << 20));
        assert_ne!(letters(64), 0);
        assert_eq!(letters(128), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Streams of two communicators and two tags, posted and taken in any order, are queues.
        #[test]
        fn each_stream_is_a_queue(steps in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()), 1..3000)) {
            let [sender, receiver] = pair();
            let mut streams: HashMap<(u64, i32), VecDeque<u64>> = HashMap::new();
            let (mut waiting, mut at) = (0, 0);
            for (posts, comm, tag, peeks) in steps {
                let address = (u64::from(comm), if tag { 0 } else { i32::MAX });
                let stream = streams.entry(address).or_default();
                if posts && waiting < 500 {
                    at += 1;
                    waiting += 1;
                    stream.push_back(at);
                    prop_assert_eq!(sender.post(1, address, note(at)), true);
                } else if peeks {
                    let next = stream.front().map_or(Found::Nothing, |&at| Found::Note(note(at)));
                    prop_assert_eq!(receiver.peek(0, address), next);
                } else {
                    let next = stream.pop_front();
                    waiting -= u64::from(next.is_some());
                    prop_assert_eq!(receiver.take(0, address), next.map_or(Found::Nothing, |at| Found::Note(note(at))));
                }
            }
        }
    }
}
