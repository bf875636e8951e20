//! The library that is preloaded beside the runtime where allocation or I/O is asked for.

use tare_tally as _;
