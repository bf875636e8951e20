//! Names of the files in a machine's shared memory by which processes of a run find each other. Who makes one removes it; what a killed process
//! leaves, a later run of the same user does.

/// Where they stand.
pub const MEMORY: &str = "/dev/shm";
/// What the mark of a spawned process begins with; its process id stands behind the last `-`.
pub const CHILD: &str = "tare-child-";
/// What the name of a board begins with. Nobody needs it any more once all processes have found it.
pub const BOARD: &str = "tare-board-";
