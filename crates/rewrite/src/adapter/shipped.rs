//! The adapters that come with the command.

/// Names of all of them, the default first.
pub const SHIPPED: [&str; 5] = ["tareweight", "cyg-profile", "scorep", "tau", "counting"];

/// The file of one of them.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    Some(match name {
        "tareweight" => include_str!("shipped/tareweight.xml"),
        "cyg-profile" => include_str!("shipped/cyg-profile.xml"),
        "scorep" => include_str!("shipped/scorep.xml"),
        "tau" => include_str!("shipped/tau.xml"),
        "counting" => include_str!("shipped/counting.xml"),
        _ => return None,
    })
}
