//! Records of fixed size: their layout, and how they are read from bytes.

use core::mem::size_of;

/// Words that a record can be made of.
pub(crate) trait Word: Sized {
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! word {
    ($($kind:ty),*) => {$(
        impl Word for $kind {
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<Self>()];
                word.copy_from_slice(&bytes[..size_of::<Self>()]);
                Self::from_le_bytes(word)
            }
        }
    )*};
}
word!(u8, u16, u32, u64, i16, i64);

impl<const N: usize> Word for [u8; N] {
    fn read(bytes: &[u8]) -> Self {
        let mut word = [0; N];
        word.copy_from_slice(&bytes[..N]);
        word
    }
}

impl<const N: usize> Word for [u64; N] {
    fn read(bytes: &[u8]) -> Self {
        core::array::from_fn(|index| u64::read(&bytes[8 * index..]))
    }
}

impl<const N: usize> Word for [i64; N] {
    fn read(bytes: &[u8]) -> Self {
        core::array::from_fn(|index| i64::read(&bytes[8 * index..]))
    }
}

impl<const N: usize> Word for [u32; N] {
    fn read(bytes: &[u8]) -> Self {
        core::array::from_fn(|index| u32::read(&bytes[4 * index..]))
    }
}

/// A record of fixed size whose fields stand at the offsets that are written beside them.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident, $size:literal { $($(#[$field_doc:meta])* $at:literal $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[repr(C, align(8))]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $name {
            /// Bytes of the record.
            pub const SIZE: usize = $size;

            /// Reads a record from its bytes; `None` where they are too few.
            #[must_use]
            #[inline]
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.get(..Self::SIZE)?;
                Some(Self { $($field: <$kind as $crate::record::Word>::read(&bytes[$at..]),)* })
            }
        }

        const _: () = {
            assert!(core::mem::size_of::<$name>() == $size);
            $(assert!(core::mem::offset_of!($name, $field) == $at);)*
        };
    };
}

pub(crate) use record;
