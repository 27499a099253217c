#![no_main]

use std::sync::Once;

static QUIET: Once = Once::new();

// redb may panic over a file that is damaged, which is caught; libFuzzer's hook would end the process.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    raddle_inputs::database(data);
});
