//! The library that is preloaded into measured programs without MPI: the runtime and nothing else.

use tare_runtime as _;
use tare_threads as _;
