//! What `getrusage` says of a thread.

use crate::sys;

/// A field, or the sum of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    UserTime,
    SystemTime,
    MinorFaults,
    MajorFaults,
    Faults,
    VoluntarySwitches,
    InvoluntarySwitches,
    Switches,
    BlocksIn,
    BlocksOut,
}

impl Field {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        const ALL: [Field; 10] = [
            Field::UserTime,
            Field::SystemTime,
            Field::MinorFaults,
            Field::MajorFaults,
            Field::Faults,
            Field::VoluntarySwitches,
            Field::InvoluntarySwitches,
            Field::Switches,
            Field::BlocksIn,
            Field::BlocksOut,
        ];
        ALL.get(number as usize).copied()
    }
}

/// The record of a thread.
pub(crate) struct Usage(libc::rusage);

/// The calling thread's record.
pub(crate) fn read() -> Usage {
    Usage(sys::thread_usage())
}

impl Usage {
    /// A field's value; times in nanoseconds.
    pub(crate) fn get(&self, field: Field) -> u64 {
        let Self(usage) = self;
        let nanoseconds = |time: libc::timeval| time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000;
        let value = match field {
            Field::UserTime => return nanoseconds(usage.ru_utime),
            Field::SystemTime => return nanoseconds(usage.ru_stime),
            Field::MinorFaults => usage.ru_minflt,
            Field::MajorFaults => usage.ru_majflt,
            Field::Faults => usage.ru_minflt + usage.ru_majflt,
            Field::VoluntarySwitches => usage.ru_nvcsw,
            Field::InvoluntarySwitches => usage.ru_nivcsw,
            Field::Switches => usage.ru_nvcsw + usage.ru_nivcsw,
            Field::BlocksIn => usage.ru_inblock,
            Field::BlocksOut => usage.ru_oublock,
        };
        value.cast_unsigned()
    }
}
