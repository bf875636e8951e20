//! The door: the exported functions and where they all lead.

use crate::abi::Abi;
use crate::call::Call;
use crate::guard::Guard;
use crate::meaning::Meaning;
use crate::real::Real;
use crate::session::Session;
use crate::table::{Id, function};
use crate::{among, answers, collective, communicators, completion, epochs, lifecycle, messages, parted, probing, started, windows};

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
        $crate::export_function!($name $symbol, usize, |word: usize| word);
    };
    (real $name:ident $symbol:expr) => {
        $crate::export_function!($name $symbol, f64, |word: usize| f64::from_bits(word as u64));
    };
    ($name:ident $symbol:expr, $result:ty, $convert:expr) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            unsafe extern "C-unwind" fn exported(
                a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize,
                h: usize, i: usize, j: usize, k: usize, l: usize, m: usize, n: usize,
            ) -> $result {
                // SAFETY: the caller calls an MPI function by the C ABI, under which its arguments, however many, are
                // the first of these words.
                let word = unsafe {
                    $crate::dispatch(ABI, $crate::table::Id::$name, [a, b, c, d, e, f, g, h, i, j, k, l, m, n])
                };
                $convert(word)
            }
        };
    };
}

/// A call of the program, or of the MPI library itself, of the function `id`. Returns the word to return; of a `double`
/// its bits.
///
/// # Safety
/// The arguments are those of a call of this function.
pub unsafe fn dispatch(abi: &'static Abi, id: Id, arguments: Arguments) -> usize {
    let function = function(id);
    let Some(real) = Real::find(abi, id) else {
        return if function.real { 0 } else { abi.other_error as usize };
    };
    let guard = Guard::enter();
    if guard.is_none() || function.meaning == Meaning::Silent {
        // SAFETY: as the caller's.
        return unsafe { real.invoke(function.real, &arguments) };
    }
    match function.meaning {
        Meaning::Init => lifecycle::init(abi, id, real, arguments),
        Meaning::Finalize => lifecycle::finalize(id, real, arguments),
        Meaning::Abort => lifecycle::abort(id, real, arguments),
        Meaning::OpenSession => lifecycle::open_session(abi, id, real, arguments),
        Meaning::CloseSession => lifecycle::close_session(id, real, arguments),
        Meaning::Control => lifecycle::control(id, real, arguments),
        _ => match Session::current() {
            Some(session) => in_session(Call::begin(session, id, real, arguments)),
            // SAFETY: as the caller's.
            None => unsafe { real.invoke(function.real, &arguments) },
        },
    }
}

/// A call between `MPI_Init` and `MPI_Finalize`.
fn in_session(mut call: Call) -> usize {
    answers::collect(&mut call);
    let span = match call.function().meaning {
        Meaning::Send(stage, mode, message) => messages::send(&mut call, stage, mode, message),
        Meaning::Receive(stage, message) => messages::receive(&mut call, stage, message),
        Meaning::Exchange(exchange) => messages::exchange(&mut call, exchange),
        Meaning::Start(count, first) => messages::start(&mut call, count, first),
        Meaning::Probe(probe) => probing::probe(&mut call, probe),
        Meaning::Complete(complete) => completion::complete(&mut call, complete),
        Meaning::FreeRequest => completion::free(&mut call),
        Meaning::Cancel => completion::cancel(&mut call),
        Meaning::Collective(collective) => collective::run(&mut call, collective),
        Meaning::StartCollective(collective) => started::start(&mut call, collective),
        Meaning::PrepareCollective(collective) => started::prepare(&mut call, collective),
        Meaning::PrepareParts(parts) => parted::prepare(&mut call, parts),
        Meaning::Release(released, request) => parted::release(&mut call, released, request),
        Meaning::Neighbours(stage, comm) => among::neighbours(&mut call, stage, comm),
        Meaning::CreateWindow(comm, new) => windows::create(&mut call, comm, new),
        Meaning::Fence(window, assertion) => windows::fence(&mut call, window, assertion),
        Meaning::FreeWindow => windows::free(&mut call),
        Meaning::Expose(group, window) => epochs::expose(&mut call, group, window),
        Meaning::Reach(group, window) => epochs::reach(&mut call, group, window),
        Meaning::EndReach(window) => epochs::end_reach(&mut call, window),
        Meaning::EndExposure(window, flag) => epochs::end_exposure(&mut call, window, flag),
        Meaning::Create { new, by_parent } => communicators::create(&mut call, new, by_parent),
        Meaning::FreeComm => communicators::free(&mut call),
        Meaning::Uncovered => {
            tare_runtime::process::count_uncovered(1);
            call.run()
        }
        Meaning::Silent
        | Meaning::Plain
        | Meaning::Control
        | Meaning::Init
        | Meaning::Finalize
        | Meaning::Abort
        | Meaning::OpenSession
        | Meaning::CloseSession => call.run(),
    };
    call.finish(&span)
}
