//! Filter files in every format: read or refused, and evaluated over no function.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_select::lists::ListFormat;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for format in ListFormat::ALL {
        if let Ok(filter) = format.read(&text, "fuzz") {
            let _ = filter.needs();
        }
    }
    let _ = ListFormat::recognised(&text);
});
