//! The door: the exported functions and where they all lead.

use crate::abi::Abi;
use crate::call::{Call, Span};
use crate::guard::Guard;
use crate::meaning::Meaning;
use crate::memory::write_int;
use crate::real::Real;
use crate::session::Session;
use crate::table::{Id, function};
use crate::{
    among, answers, collective, communicators, completion, duplicates, epochs, files, lifecycle, locks, messages, parted, passing, probing, spawned,
    started, windows,
};

/// Words that are passed through: the longest function of the standard has 13 arguments.
pub const ARGUMENTS: usize = 14;

/// The arguments of a call as the words in which they were passed. What stands beyond a function's own arguments means
/// nothing; of an `int` the lower half alone does.
pub type Arguments = [usize; ARGUMENTS];

/// Exports every function of the table, under both of its names, from the crate that invokes it.
#[macro_export]
macro_rules! export {
    ($abi:expr) => {
        /// The ABI that this library speaks.
        static ABI: &$crate::abi::Abi = &$abi;
        #[used]
        #[unsafe(link_section = ".init_array")]
        static AT_LOAD: extern "C" fn() = at_load;
        extern "C" fn at_load() {
            $crate::absent::strike(ABI);
        }
        $crate::for_each_function!($crate::export_functions);
    };
}

/// Exports the functions of a table.
#[doc(hidden)]
#[macro_export]
macro_rules! export_functions {
    ($($kind:ident $name:ident $meaning:expr;)*) => {$(
        $crate::export_function!($kind $name stringify!($name));
        $crate::export_function!($kind $name concat!("P", stringify!($name)));
    )*};
}

/// Exports one function under one name.
#[doc(hidden)]
#[macro_export]
macro_rules! export_function {
    (word $name:ident $symbol:expr) => {
        $crate::export_function!($name $symbol, $crate::dispatch);
    };
    (real $name:ident $symbol:expr) => {
        $crate::export_function!($name $symbol, $crate::dispatch_real);
    };
    ($name:ident $symbol:expr, $dispatch:path) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn exported() {
                // The words of the arguments, in a row: those in registers, and as many from the stack as any function has.
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "endbr64",
                    "sub rsp, 120",
                    ".cfi_adjust_cfa_offset 120",
                    "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rcx", "mov [rsp + 32], r8", "mov [rsp + 40], r9",
                    "mov rax, [rsp + 128]", "mov rcx, [rsp + 136]", "mov rdx, [rsp + 144]", "mov rsi, [rsp + 152]",
                    "mov [rsp + 48], rax", "mov [rsp + 56], rcx", "mov [rsp + 64], rdx", "mov [rsp + 72], rsi",
                    "mov rax, [rsp + 160]", "mov rcx, [rsp + 168]", "mov rdx, [rsp + 176]", "mov rsi, [rsp + 184]",
                    "mov [rsp + 80], rax", "mov [rsp + 88], rcx", "mov [rsp + 96], rdx", "mov [rsp + 104], rsi",
                    "lea rdi, [rip + {abi}]",
                    "mov esi, {id}",
                    "mov rdx, rsp",
                    "mov rcx, [rsp + 120]",
                    "call {dispatch}",
                    "add rsp, 120",
                    ".cfi_adjust_cfa_offset -120",
                    "ret",
                    ".cfi_endproc",
                    abi = sym ABI, id = const $crate::table::Id::$name as usize, dispatch = sym $dispatch,
                )
            }
        };
    };
}

/// A call of a function that returns a `double`. See [`dispatch`].
///
/// # Safety
/// As of [`dispatch`].
pub unsafe extern "C-unwind" fn dispatch_real(abi: &&'static Abi, id: Id, arguments: &mut Arguments, returns_to: usize) -> f64 {
    // SAFETY: as the caller's.
    f64::from_bits(unsafe { dispatch(abi, id, arguments, returns_to) } as u64)
}

/// A call of the program, or of the MPI library itself, of the function `id`. Returns the word to return; of a `double`
/// its bits.
///
/// # Safety
/// The arguments are those of a call of this function, which comes back to the address `returns_to`.
pub unsafe extern "C-unwind" fn dispatch(abi: &&'static Abi, id: Id, arguments: &mut Arguments, returns_to: usize) -> usize {
    let abi = *abi;
    if let Some(result) = passing::ask(abi, id, arguments, returns_to) {
        return result;
    }
    let function = function(id);
    let Some(real) = Real::find(abi, id) else {
        return match function.meaning {
            Meaning::AbiVersion => no_abi_version(arguments),
            _ if function.real => 0,
            _ => abi.other_error as usize,
        };
    };
    let guard = Guard::enter();
    if guard.is_none() || function.meaning == Meaning::Silent {
        // SAFETY: as the caller's.
        return unsafe { real.invoke(function.real, arguments) };
    }
    match function.meaning {
        Meaning::Init => lifecycle::init(abi, id, real, arguments),
        Meaning::Finalize => lifecycle::finalize(id, real, arguments),
        Meaning::Abort => lifecycle::abort(id, real, arguments),
        Meaning::OpenSession => lifecycle::open_session(abi, id, real, arguments),
        Meaning::CloseSession => lifecycle::close_session(id, real, arguments),
        Meaning::Control => lifecycle::control(id, real, arguments),
        _ => match Session::current() {
            Some(session) => {
                let mut call = Call::begin(session, id, real, arguments);
                call.returns_to = returns_to;
                let span = in_session(&mut call);
                passing::measured(&mut call, id, &span);
                call.finish(&span)
            }
            // SAFETY: as the caller's.
            None => unsafe { real.invoke(function.real, arguments) },
        },
    }
}

/// What the standard has a library say that has no ABI of the standard.
fn no_abi_version(arguments: &Arguments) -> usize {
    write_int(arguments[0], -1);
    write_int(arguments[1], -1);
    0
}

/// A call between `MPI_Init` and `MPI_Finalize`.
fn in_session(call: &mut Call<'_>) -> Span {
    answers::collect(call);
    match call.function().meaning {
        Meaning::Send(stage, mode, message) => messages::send(call, stage, mode, message),
        Meaning::Receive(stage, message) => messages::receive(call, stage, message),
        Meaning::Exchange(exchange) => messages::exchange(call, exchange),
        Meaning::Start(count, first) => messages::start(call, count, first),
        Meaning::Probe(probe) => probing::probe(call, probe),
        Meaning::Complete(complete) => completion::complete(call, complete),
        Meaning::Ask(count, requests, answer) => completion::ask(call, count, requests, answer),
        Meaning::FreeRequest => completion::free(call),
        Meaning::Cancel => completion::cancel(call),
        Meaning::Collective(collective) => collective::run(call, collective),
        Meaning::StartCollective(collective) => started::start(call, collective),
        Meaning::PrepareCollective(collective) => started::prepare(call, collective),
        Meaning::PrepareParts(parts) => parted::prepare(call, parts),
        Meaning::Release(released, request) => parted::release(call, released, request),
        Meaning::Neighbours(stage, comm) => among::neighbours(call, stage, comm),
        Meaning::CreateWindow(comm, new) => windows::create(call, comm, new),
        Meaning::Fence(window, assertion) => windows::fence(call, window, assertion),
        Meaning::FreeWindow => windows::free(call),
        Meaning::Expose(group, window) => epochs::expose(call, group, window),
        Meaning::Reach(group, window) => epochs::reach(call, group, window),
        Meaning::EndReach(window) => epochs::end_reach(call, window),
        Meaning::EndExposure(window, flag) => epochs::end_exposure(call, window, flag),
        Meaning::Lock(target, kind, window) => locks::lock(call, target, kind, window),
        Meaning::Flush(target, window) => locks::flush(call, target, window),
        Meaning::Unlock(target, window) => locks::unlock(call, target, window),
        Meaning::Access(access) => locks::access(call, access),
        Meaning::OpenFile(comm, new) => files::open(call, comm, new),
        Meaning::CloseFile => files::close(call),
        Meaning::Joint(part, data) => files::operation(call, part, data),
        Meaning::Transfer(data) => files::transfer(call, data),
        Meaning::Create(new, from) => communicators::create(call, new, from),
        Meaning::Spawn(spawn) => spawned::spawn(call, spawn),
        Meaning::Meet(new) => spawned::meet(call, new),
        Meaning::CreateLater(new, request) => duplicates::start(call, new, request),
        Meaning::FreeComm => communicators::free(call),
        Meaning::Uncovered => {
            call.uncovered();
            call.run()
        }
        Meaning::Silent
        | Meaning::Plain
        | Meaning::AbiVersion
        | Meaning::Control
        | Meaning::Init
        | Meaning::Finalize
        | Meaning::Abort
        | Meaning::OpenSession
        | Meaning::CloseSession => call.run(),
    }
}
