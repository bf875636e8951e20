//! The same work on many items, on several threads.
//!
//! The results stand in the order of the items, whatever the number of threads and whoever is faster.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Below this, a thread costs more than it saves.
const LEAST_PER_THREAD: usize = 64;
/// Pieces of work for each thread: items differ in size, and a thread that is done early takes another piece.
const PIECES: usize = 16;

/// How many threads may work at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads(NonZero<usize>);

impl Threads {
    /// One for each processor that this process may use.
    #[must_use]
    pub fn available() -> Self {
        Self(thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
    }

    /// So many; none is one.
    #[must_use]
    pub fn of(number: usize) -> Self {
        Self(NonZero::new(number).unwrap_or(NonZero::<usize>::MIN))
    }

    /// Applies `work` to all items.
    pub fn map<T: Sync, R: Send>(self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        self.map_in(items, || (), |(), item| work(item))
    }

    /// The same with a room that the work on one item leaves to that on the next; what is in it must not show in the results.
    pub fn map_in<T: Sync, R: Send, S>(self, items: &[T], room: impl Fn() -> S + Sync, work: impl Fn(&mut S, &T) -> R + Sync) -> Vec<R> {
        let results = self.portions(items, |items| {
            let mut room = room();
            items.iter().map(|item| work(&mut room, item)).collect::<Vec<R>>()
        });
        join(results)
    }

    /// Applies `work` to the items portion by portion: to all of them at once where one thread works.
    pub fn portions<T: Sync, R: Send>(self, items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
        let threads = self.0.get().min(items.len() / LEAST_PER_THREAD);
        let size = if threads < 2 { items.len() } else { items.len().div_ceil(threads * PIECES) };
        self.pieces(items, size, work)
    }

    /// Applies `work` to pieces of so many items.
    pub(crate) fn pieces<T: Sync, R: Send>(self, items: &[T], size: usize, work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
        let pieces: Vec<&[T]> = items.chunks(size.max(1)).collect();
        let threads = self.0.get().min(pieces.len());
        if threads < 2 {
            return pieces.into_iter().map(work).collect();
        }
        let next = AtomicUsize::new(0);
        let take = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                match pieces.get(index) {
                    Some(piece) => done.push((index, work(piece))),
                    None => return done,
                }
            }
        };
        let mut done: Vec<(usize, R)> = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
            let mut done = take();
            for other in others {
                done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            done
        });
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Lists in one; the first one stays where it is.
pub fn join<R>(lists: Vec<Vec<R>>) -> Vec<R> {
    let all = lists.iter().map(Vec::len).sum::<usize>();
    let mut lists = lists.into_iter();
    let mut joined = lists.next().unwrap_or_default();
    joined.reserve_exact(all - joined.len());
    lists.for_each(|list| joined.extend(list));
    joined
}

#[cfg(test)]
mod tests {
    use super::Threads;

    #[test]
    fn results_keep_the_order_of_their_items() {
        let items: Vec<usize> = (0..10_000).collect();
        for threads in [1, 2, 7] {
            let squares = Threads::of(threads).map(&items, |item| item * item);
            assert!(squares.iter().enumerate().all(|(index, &square)| square == index * index), "{threads}");
        }
    }
}
