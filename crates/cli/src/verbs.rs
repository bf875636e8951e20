//! One verb, one file.

pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completion;
pub(crate) mod ctl;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod inspect;
pub(crate) mod instrument;
pub(crate) mod manual;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod top;
pub(crate) mod validate;
pub(crate) mod view;
