//! The facts of an MPI library's binary interface, as data.
//!
//! One file for each ABI fills in an [`Abi`]; nothing else knows which library it talks to. No MPI needs to be
//! installed to build this.

use core::ffi::CStr;
use tare_format::graph::MpiLibrary;

/// A predefined handle.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// A number.
    Value(usize),
    /// The address of a data symbol; looked up at `MPI_Init`, because a reference to it would keep every child that is no MPI
    /// program from starting.
    Symbol(&'static CStr),
}

/// Where the fields of a status stand.
#[derive(Clone, Copy, Debug)]
pub struct StatusLayout {
    /// Bytes of a status.
    pub size: usize,
    /// Offset of `MPI_SOURCE`, an `int`.
    pub source: usize,
    /// Offset of `MPI_TAG`, an `int`.
    pub tag: usize,
    /// Offset of `MPI_ERROR`, an `int`.
    pub error: usize,
    /// The rest.
    pub rest: StatusRest,
}

/// What a status says that has no field of its own in the standard.
#[derive(Clone, Copy, Debug)]
pub enum StatusRest {
    /// It is known where it stands.
    Known {
        /// The received bytes, from a status.
        bytes: fn(&[u8]) -> u64,
        /// Whether the request was cancelled, from a status.
        cancelled: fn(&[u8]) -> bool,
    },
    /// The library alone knows, and is asked.
    Asked,
}

/// One binary interface.
#[derive(Debug)]
pub struct Abi {
    /// Which one.
    pub library: MpiLibrary,
    /// Names under which the library may be loaded.
    pub names: &'static [&'static CStr],
    /// Bytes of a handle.
    pub handle: usize,
    /// Layout of a status.
    pub status: StatusLayout,
    /// Whether several communicators can be made at once. In Open MPI 4.1 `MPI_Comm_idup` hangs where others are under way on other communicators.
    pub makes_several: bool,
    /// Shadows that a process has at most: an eighth of the communicators that the library can have.
    pub most_shadows: usize,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_ROOT`.
    pub root: i32,
    /// `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// `MPI_ANY_TAG`.
    pub any_tag: i32,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    pub status_ignore: usize,
    /// `MPI_IN_PLACE`.
    pub in_place: usize,
    /// `MPI_ERR_TRUNCATE`.
    pub truncated: i32,
    /// `MPI_ERR_IN_STATUS`.
    pub in_status: i32,
    /// `MPI_ERR_PENDING`.
    pub pending: i32,
    /// `MPI_ERR_OTHER`.
    pub other_error: i32,
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
    /// `MPI_MODE_NOPRECEDE`.
    pub no_precede: i32,
    /// `MPI_LOCK_EXCLUSIVE`.
    pub exclusive: i32,
    /// `MPI_CART`.
    pub cartesian: i32,
    /// `MPI_GRAPH`.
    pub graph: i32,
    /// `MPI_DIST_GRAPH`.
    pub distributed_graph: i32,
    /// `MPI_COMM_WORLD`.
    pub comm_world: Constant,
    /// `MPI_COMM_SELF`.
    pub comm_self: Constant,
    /// `MPI_COMM_NULL`.
    pub comm_null: Constant,
    /// `MPI_REQUEST_NULL`.
    pub request_null: Constant,
    /// `MPI_DATATYPE_NULL`.
    pub datatype_null: Constant,
    /// `MPI_FILE_NULL`.
    pub file_null: Constant,
    /// `MPI_WIN_NULL`.
    pub win_null: Constant,
    /// `MPI_INFO_NULL`.
    pub info_null: Constant,
    /// `MPI_BYTE`.
    pub byte: Constant,
    /// `MPI_INT64_T`.
    pub int64: Constant,
    /// `MPI_MAX`.
    pub max: Constant,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: Constant,
}

/// A 32-bit field of a status.
pub(crate) fn word(status: &[u8], offset: usize) -> i32 {
    status.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes)
}
