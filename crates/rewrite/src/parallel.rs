//! The same work on many items, on all processors.
//!
//! The results stand in the order of the items, whatever the number of threads.

use std::num::NonZero;
use std::thread;

/// Below this, a thread costs more than it saves.
const LEAST_PER_THREAD: usize = 512;

/// Applies `work` to all items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(items.len() / LEAST_PER_THREAD).max(1);
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    let chunks = items.chunks(items.len().div_ceil(threads));
    let results: Vec<Vec<R>> = thread::scope(|scope| {
        let running: Vec<_> = chunks.map(|chunk| scope.spawn(move || chunk.iter().map(work).collect::<Vec<R>>())).collect();
        let done = running.into_iter().map(|one| one.join());
        done.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_keep_the_order_of_their_items() {
        let items: Vec<usize> = (0..10_000).collect();
        let squares = map(&items, |item| item * item);
        assert!(squares.iter().enumerate().all(|(index, &square)| square == index * index));
    }
}
