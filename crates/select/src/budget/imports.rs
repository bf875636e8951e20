//! The work of functions of other images, of which the name alone is known.

use tare_code::is_harmless;

/// What a call takes, by how its name begins; the first line that fits counts. A message to a neighbour on the same
/// node takes a microsecond, as does opening a parallel region; the figures are in core cycles.
const BY_NAME: [(f64, &[&str]); 6] = [
    (5000.0, &["GOMP_", "__kmpc_", "omp_", "pthread_create", "pthread_join", "fork", "waitpid", "system"]),
    (5000.0, &["dgemm", "sgemm", "zgemm", "cgemm", "cblas_", "dtrsm", "dgemv", "dsyrk", "fftw", "dgetrf", "dsyev"]),
    (1000.0, &["open", "close", "read", "write", "fopen", "fclose", "fread", "fwrite", "fflush", "usleep", "nanosleep", "sleep", "mmap"]),
    (500.0, &["printf", "fprintf", "sprintf", "snprintf", "vfprintf", "__printf", "__fprintf", "__sprintf", "__snprintf", "__vfprintf"]),
    (500.0, &["fscanf", "sscanf", "fgets", "__isoc99", "_gfortran_"]),
    (50.0, &["malloc", "calloc", "realloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "posix_memalign", "mem", "str"]),
];
/// A message.
const MPI: f64 = 3000.0;
/// A function of the mathematical library and its like.
const HARMLESS: f64 = 30.0;
/// Anything else.
const OTHER: f64 = 20.0;

/// Core cycles of one call.
pub(super) fn work(name: &str) -> f64 {
    let listed = || BY_NAME.iter().find(|(_, names)| names.iter().any(|one| name.starts_with(one))).map(|(work, _)| *work);
    match name {
        _ if is_mpi(name) => MPI,
        _ => listed().unwrap_or(if is_harmless(name) { HARMLESS } else { OTHER }),
    }
}

/// Whether a raw name is a function of MPI: `MPI_Send`, `PMPI_Send`, and Fortran's `mpi_send_`, `mpi_send_f08_`,
/// `pmpi_send__`.
pub(super) fn is_mpi(name: &str) -> bool {
    let is_c = name.starts_with("MPI_") || name.starts_with("PMPI_");
    let is_fortran = name.ends_with('_') && (name.starts_with("mpi_") || name.starts_with("pmpi_"));
    is_c || is_fortran
}

/// Whether a name is one of the calls that compilers make of OpenMP constructs, GCC's or LLVM's.
pub(super) fn is_openmp(name: &str) -> bool {
    name.starts_with("GOMP_") || name.starts_with("__kmpc_")
}
