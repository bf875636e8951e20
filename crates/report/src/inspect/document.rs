//! The `inspect` document.

use serde::Serialize;

use super::{Function, Image, Inspection};

/// The `inspect` document, its functions in the order in which they are given.
#[must_use]
pub fn json(inspection: &Inspection) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        image: &'a Image,
        functions: &'a [Function],
    }
    crate::json::written(&Document { schema: crate::json::SCHEMA, image: &inspection.image, functions: &inspection.functions })
}
