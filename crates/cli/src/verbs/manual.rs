//! `tare manual`: the pages of the manual, for `man`.

use std::process::ExitCode;

use crate::args::ManualArguments;
use crate::failure::{Code, Failure};
use crate::{manual, stdout, whole_file};

/// Prints the page of a verb, or writes all pages into a directory.
pub(crate) fn manual(arguments: &ManualArguments) -> Result<ExitCode, Failure> {
    let cannot =
        |place: &std::path::Path, error: &std::io::Error| Failure::io(Code::CannotWrite, "write", place, error).remedy("name another place with -o");
    let pages = manual::pages().map_err(|error| Failure::new(Code::Internal, format!("the manual cannot be made: {error}")))?;
    if let Some(folder) = &arguments.output {
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        for page in &pages {
            let file = folder.join(&page.file);
            whole_file::write(&file, &page.text).map_err(|error| cannot(&file, &error))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = arguments.verb.as_deref().unwrap_or_default();
    let page = pages.iter().find(|page| page.verb == wanted);
    let page = page.ok_or_else(|| Failure::new(Code::Usage, format!("there is no verb `{wanted}`")).remedy("`tare --help` lists the verbs"))?;
    stdout::write(&page.text)?;
    Ok(ExitCode::SUCCESS)
}
