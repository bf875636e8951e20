//! What is known of several nodes together, and of each of them only within bounds.

/// A time that lies in what several nodes took, no one knows in which of them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Share {
    most: f64,
    of: f64,
}

impl Share {
    /// So much at the most, of what all of the nodes took.
    pub(crate) fn new(most: f64, of: f64) -> Self {
        Self { most: most.min(of), of }
    }

    /// All of it.
    pub(crate) const fn all(&self) -> f64 {
        self.most
    }

    /// The most that may lie in a node that took so much.
    pub(crate) fn alone(&self, took: f64) -> f64 {
        self.most.min(took)
    }

    /// The part of all of it of a node that took so much.
    pub(crate) fn part(&self, took: f64) -> f64 {
        if self.of > 0.0 { self.most * took / self.of } else { 0.0 }
    }
}
