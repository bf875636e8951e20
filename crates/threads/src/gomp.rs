//! OpenMP by the entry points of GCC's library (`libgomp`), which compiled code calls; and those of locks, of LLVM's, too.
//!
//! Constructs that may be cancelled, and reductions over tasks, are passed on, and whatever waits in them is not known.

use crate::lock;
use crate::ompt;
use crate::operations::Operation;
use crate::team::{AtBarrier, Place, Team, go_to, joined, makes_task};
use crate::wait::{Wait, moment};
use core::ffi::{CStr, c_void};
use tare_runtime::behind;

/// Words that are passed through: the longest of these functions, `GOMP_taskloop`, has eleven arguments.
const ARGUMENTS: usize = 12;
type Arguments = [usize; ARGUMENTS];
type Words = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> usize;

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// Runs a function, its first argument, with data, its second one, in a team.
    Parallel,
    /// The same, where the library looks at the data.
    Opaque,
    /// Waits for the other members of the team, perhaps at the end of something else.
    Barrier,
    /// Makes tasks.
    Task,
    /// Takes a lock, and lets go of it.
    Takes(Lock),
    Leaves(Lock),
}

/// Which lock is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    /// A lock of the program's, the first argument.
    Own,
    /// That of the critical sections that the first argument names, …
    Named,
    /// … that the third one names, as LLVM's library has it, …
    NamedThird,
    /// … and that have no name.
    Nameless,
    /// That of what is to be done at once.
    Atomic,
}

impl Lock {
    fn address(self, arguments: &Arguments) -> usize {
        match self {
            Self::Own | Self::Named => arguments[0],
            Self::NamedThird => arguments[2],
            Self::Nameless => 1,
            Self::Atomic => 2,
        }
    }

    fn operation(self) -> Operation {
        if self == Self::Own { Operation::TeamLock } else { Operation::Critical }
    }
}

/// A function of the library.
struct Function {
    name: &'static CStr,
    meaning: Meaning,
}

impl Function {
    /// Whether LLVM's library comes to it where a program asks for a lock.
    fn is_own_of_llvm(&self) -> bool {
        matches!(self.meaning, Meaning::Takes(Lock::Own | Lock::NamedThird) | Meaning::Leaves(Lock::Own | Lock::NamedThird))
    }
}

macro_rules! functions {
    ($($name:ident $meaning:ident $(of $lock:ident)?;)*) => {
        static FUNCTIONS: [Function; [$(stringify!($name)),*].len()] = [$(Function {
            name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) { Ok(name) => name, Err(_) => panic!() },
            meaning: Meaning::$meaning $((Lock::$lock))?,
        }),*];
        #[allow(non_camel_case_types, clippy::enum_variant_names)]
        enum Id { $($name),* }
        $(
            const _: () = {
                #[unsafe(export_name = stringify!($name))]
                #[unsafe(naked)]
                unsafe extern "C-unwind" fn exported() {
                    // The words of the arguments, in a row: those in registers, and as many from the stack as any function has.
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "endbr64",
                        "sub rsp, 104",
                        ".cfi_adjust_cfa_offset 104",
                        "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx",
                        "mov [rsp + 24], rcx", "mov [rsp + 32], r8", "mov [rsp + 40], r9",
                        "mov rax, [rsp + 112]", "mov rcx, [rsp + 120]", "mov rdx, [rsp + 128]",
                        "mov [rsp + 48], rax", "mov [rsp + 56], rcx", "mov [rsp + 64], rdx",
                        "mov rax, [rsp + 136]", "mov rcx, [rsp + 144]", "mov rdx, [rsp + 152]",
                        "mov [rsp + 72], rax", "mov [rsp + 80], rcx", "mov [rsp + 88], rdx",
                        "mov edi, {id}",
                        "mov rsi, rsp",
                        "mov rdx, [rsp + 104]",
                        "call {dispatch}",
                        "add rsp, 104",
                        ".cfi_adjust_cfa_offset -104",
                        "ret",
                        ".cfi_endproc",
                        id = const Id::$name as usize, dispatch = sym dispatch,
                    )
                }
            };
        )*
    };
}

functions! {
    GOMP_parallel Parallel;
    GOMP_parallel_loop_static Parallel;
    GOMP_parallel_loop_dynamic Parallel;
    GOMP_parallel_loop_guided Parallel;
    GOMP_parallel_loop_runtime Parallel;
    GOMP_parallel_loop_nonmonotonic_dynamic Parallel;
    GOMP_parallel_loop_nonmonotonic_guided Parallel;
    GOMP_parallel_loop_nonmonotonic_runtime Parallel;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime Parallel;
    GOMP_parallel_sections Parallel;
    GOMP_parallel_reductions Opaque;
    GOMP_barrier Barrier;
    GOMP_loop_end Barrier;
    GOMP_sections_end Barrier;
    GOMP_task Task;
    GOMP_taskloop Task;
    GOMP_taskloop_ull Task;
    GOMP_critical_start Takes of Nameless;
    GOMP_critical_end Leaves of Nameless;
    GOMP_critical_name_start Takes of Named;
    GOMP_critical_name_end Leaves of Named;
    GOMP_atomic_start Takes of Atomic;
    GOMP_atomic_end Leaves of Atomic;
    __kmpc_critical Takes of NamedThird;
    __kmpc_critical_with_hint Takes of NamedThird;
    __kmpc_end_critical Leaves of NamedThird;
    omp_set_lock Takes of Own;
    omp_unset_lock Leaves of Own;
    omp_set_lock_ Takes of Own;
    omp_unset_lock_ Leaves of Own;
}

/// The real function.
struct Real(*mut c_void);

impl Real {
    /// Of a call that comes back to an address.
    fn find(function: &Function, caller: usize) -> Option<Self> {
        let found = behind::find(function.name, caller, &[]);
        (!found.is_null()).then_some(Self(found))
    }

    /// # Safety
    /// The arguments are those of a call of this function.
    unsafe fn invoke(&self, arguments: &Arguments) -> usize {
        // SAFETY: words beyond a function's own arguments are ignored under the C ABI, whose caller cleans the stack.
        let function = unsafe { core::mem::transmute::<*mut c_void, Words>(self.0) };
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *arguments;
        // SAFETY: as the caller's.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l) }
    }
}

/// A call of the function `id`, which comes back to the address `caller`. Returns the word to return.
///
/// # Safety
/// The arguments are those of a call of this function.
unsafe extern "C-unwind" fn dispatch(id: usize, arguments: &mut Arguments, caller: usize) -> usize {
    let function = &FUNCTIONS[id];
    let Some(real) = Real::find(function, caller) else {
        if function.meaning == Meaning::Parallel {
            // SAFETY: what the library would call with the data …
            let body = unsafe { core::mem::transmute::<usize, Body>(arguments[0]) };
            // SAFETY: … as the standard lets a team of one thread run it.
            unsafe { body(arguments[1]) };
        }
        return 0;
    };
    // LLVM's library has most of these functions as well, and tells itself what they do, but for locks: of those only when they are free again.
    if ompt::is_told() && !function.is_own_of_llvm() {
        // SAFETY: as the caller's.
        return unsafe { real.invoke(arguments) };
    }
    match function.meaning {
        Meaning::Parallel => {
            // SAFETY: as the caller's.
            unsafe { parallel(&real, arguments) }
        }
        Meaning::Opaque => {
            let before = go_to(Place::NONE);
            // SAFETY: as the caller's.
            let result = unsafe { real.invoke(arguments) };
            go_to(before);
            result
        }
        Meaning::Barrier => {
            let at = AtBarrier::come();
            // SAFETY: as the caller's.
            let result = unsafe { real.invoke(arguments) };
            if let Some(at) = at {
                at.leave();
            }
            result
        }
        Meaning::Task => {
            makes_task();
            // SAFETY: as the caller's.
            unsafe { real.invoke(arguments) }
        }
        Meaning::Takes(lock) => {
            let address = lock.address(arguments);
            let contention = lock::before(lock.operation(), address);
            // SAFETY: as the caller's.
            let result = unsafe { real.invoke(arguments) };
            lock::after(address, contention);
            result
        }
        Meaning::Leaves(lock) => {
            lock::at_release(lock.address(arguments));
            // SAFETY: as the caller's.
            unsafe { real.invoke(arguments) }
        }
    }
}

type Body = unsafe extern "C-unwind" fn(usize);

/// A parallel region under way, as its members get it in the place of the data.
struct Region {
    team: Team,
    /// Names the thread that has forked it.
    forked_by: usize,
    body: Body,
    data: usize,
}

/// # Safety
/// The arguments are those of a call of a function that runs its first argument in a team.
unsafe fn parallel(real: &Real, arguments: &Arguments) -> usize {
    let Some(wait) = Wait::begin(Operation::Parallel) else {
        // SAFETY: as the caller's.
        return unsafe { real.invoke(arguments) };
    };
    // SAFETY: what the library would call with the data.
    let body = unsafe { core::mem::transmute::<usize, Body>(arguments[0]) };
    let region = Region { team: Team::new(wait.begun()), forked_by: own_name(), body, data: arguments[1] };
    let mut own = *arguments;
    own[0] = member as *const () as usize;
    own[1] = core::ptr::from_ref(&region).expose_provenance();
    // SAFETY: as the caller's; what is run takes what it gets in the place of the data, which lives until all members are done.
    let result = unsafe { real.invoke(&own) };
    joined(&region.team, wait);
    result
}

/// What each member of a team runs.
unsafe extern "C-unwind" fn member(region: &Region) {
    let before = region.team.enter(region.forked_by == own_name());
    // SAFETY: what the library would have done.
    unsafe { (region.body)(region.data) };
    region.team.done(moment());
    go_to(before);
}

/// Names the calling thread among those that run.
fn own_name() -> usize {
    // SAFETY: asks who this is.
    unsafe { libc::pthread_self() as usize }
}
