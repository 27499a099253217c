//! A segmentation fault inside a check: the story, then the end of the process.

use std::os::unix::process::ExitStatusExt;

use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use raddle::thread;
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

/// Only the parent sets it, so that nothing crashes when everything ignored is run.
const IS_CHILD: &str = "RADDLE_TESTS_CHILD";

fn follows_a_wild_pointer() {
    let address = AtomicUsize::new(8);
    thread::scope(|scope| {
        scope.spawn(|| address.store(16, Relaxed));
        if address.load(Relaxed) == 16 {
            let pointer = std::ptr::without_provenance::<u32>(16);
            // SAFETY: there is none, which is the point.
            println!("{}", unsafe { pointer.read_volatile() });
        }
    });
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn child() {
    if std::env::var_os(IS_CHILD).is_some() {
        raddle::check(follows_a_wild_pointer);
    }
}

#[test]
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn a_segmentation_fault_is_told_with_its_schedule() {
    let folder = std::env::temp_dir().join(format!("raddle-crashes-{}", std::process::id()));
    let run = |replay: Option<&str>| {
        let mut command = ignored_test(&test_name!("child"));
        command.env(IS_CHILD, "1").env("RADDLE_DIR", &folder);
        command.env_remove("RADDLE_STRATEGY");
        if let Some(replay) = replay {
            command.env("RADDLE_REPLAY", replay);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.signal(), text)
    };
    let (signal, text) = run(None);
    assert_eq!(signal, Some(11), "SIGSEGV: {text}");
    let line = line!() - 36;
    let expected = [
        "crash after ".to_owned(),
        "main accessed an invalid address".to_owned(),
        "store 16 to address".to_owned(),
        format!("load address = 16 :{line}"),
    ];
    for part in expected {
        assert!(text.contains(&part), "{part} is not in\n{text}");
    }
    let page = text.split("\n  report: ").nth(1).expect(&text);
    let page = std::fs::read_to_string(page.trim_end()).unwrap();
    assert!(page.contains(r#""kind":"Crash""#));
    let replay = text.split("RADDLE_REPLAY=").nth(1).expect(&text);
    let token = replay.split_whitespace().next().unwrap();
    let (signal, again) = run(Some(token));
    assert_eq!(signal, Some(11), "{again}");
    assert!(again.contains("crash after 1 execution"), "{again}");
    let _ = std::fs::remove_dir_all(folder);
}
