//! Why an image could not be rewritten.

/// Why an image could not be rewritten. A single function that cannot be is no error: it is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The new segments would lie too far from the old ones for 32-bit displacements.
    #[error("the image is too large: {what} is more than 2 GiB away")]
    TooFar {
        /// What cannot be reached.
        what: &'static str,
    },
    /// The ELF headers have a form that cannot be extended.
    #[error("the ELF headers cannot be extended: {what}")]
    Headers {
        /// What stands in the way.
        what: &'static str,
    },
    /// There is no room for thread-local variables of an adapter's.
    #[error("thread-local variables cannot be added: {what}")]
    ThreadLocals {
        /// What stands in the way.
        what: &'static str,
    },
    /// Its heap has to begin behind its data, where the new segments would stand: it stops the system from placing it by chance, to find it there.
    #[error("its heap has to begin directly behind its data (it uses personality and sbrk), where its new code would stand")]
    Heap,
    /// A number of a selection names no function of the program.
    #[error("there is no function number {index}")]
    NoSuchFunction {
        /// The number.
        index: usize,
    },
    /// The written image, read back, is not what it should be. It is not handed out.
    #[error("the rewritten image failed its check in {} at {address:#x}: {what}", tare_image::demangle(function))]
    Check {
        /// Name of the function.
        function: String,
        /// Link address in the rewritten image.
        address: u64,
        /// What was found.
        what: &'static str,
    },
}
