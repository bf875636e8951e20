//! The adapters that come with the command.

/// Names of all of them.
pub const SHIPPED: [&str; 2] = ["tareweight", "counting"];

/// The file of one of them.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    match name {
        "tareweight" => Some(include_str!("shipped/tareweight.xml")),
        "counting" => Some(include_str!("shipped/counting.xml")),
        _ => None,
    }
}
