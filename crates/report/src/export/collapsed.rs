//! Collapsed stacks: `program;main;solve 1234`, with whole nanoseconds of exclusive time.

use super::held;
use super::sheet::Sheet;

pub(super) fn write(sheet: &Sheet<'_>) -> String {
    let names: Vec<String> = sheet.paths.iter().map(|path| held(path.name(), &[';'])).collect();
    let mut text = String::new();
    sheet.stacks(|stack, path| {
        if path.exclusive_ns > 0 {
            let frames: Vec<&str> = stack.iter().map(|&index| names[index].as_str()).collect();
            text.push_str(&format!("{} {}\n", frames.join(";"), path.exclusive_ns));
        }
    });
    text
}
