//! Parsing of command lines.

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::selection::CargoArguments;
use super::settings::SettingFlags;
use super::subcommands::MessageFormat;
use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = line.split_whitespace().map(OsString::from);
    super::parse(words).map(|arguments| arguments.command)
}

fn parse_test(line: &str) -> TestArguments {
    match parse(line) {
        Ok(Command::Test(options)) => options,
        other => panic!("`{line}` is not a test command: {other:?}"),
    }
}

#[test]
fn definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn the_subcommand_name_is_removed_once() {
    assert_eq!(parse_test("cargo-raddle test"), TestArguments::default());
    assert_eq!(
        parse_test("cargo-raddle raddle test"),
        TestArguments::default()
    );
    assert_eq!(
        parse_test("cargo-raddle raddle test raddle"),
        TestArguments {
            filter: Some("raddle".to_owned()),
            ..TestArguments::default()
        }
    );
    let error = parse("cargo-raddle raddle raddle").expect_err("`raddle` is no command");
    assert_eq!(error.kind(), ErrorKind::InvalidSubcommand);
}

#[test]
fn every_flag_of_test_is_read() {
    let line = "cargo-raddle test counter --exact --budget 30s --strategy pct --max-executions 9 --max-events 50 \
                --seed 7 --workers 3 --resume --remember --jobs 2 --report /pages --junit j.xml \
                --message-format json --queue redis://host --export --metrics m.prom --since main --html new.html -p one --package two -- --release -- --nocapture";
    let mut arguments = parse_test(line);
    let settings = std::mem::take(&mut arguments.settings);
    let expected = [
        ("RADDLE_STRATEGY", "pct"),
        ("RADDLE_MAX_EXECUTIONS", "9"),
        ("RADDLE_MAX_TIME", "30s"),
        ("RADDLE_MAX_EVENTS", "50"),
        ("RADDLE_SEED", "7"),
        ("RADDLE_WORKERS", "3"),
        ("RADDLE_RESUME", "1"),
        ("RADDLE_REMEMBER", "1"),
        ("RADDLE_REPORT", "/pages"),
    ];
    assert_eq!(
        settings.environment(),
        expected.map(|(name, value)| (name, value.into()))
    );
    assert_eq!(
        arguments,
        TestArguments {
            filter: Some("counter".to_owned()),
            exact: true,
            native: false,
            settings: SettingFlags::default(),
            jobs: Some(2),
            json: false,
            junit: Some("j.xml".into()),
            message_format: Some(MessageFormat::Json),
            queue: Some("redis://host".to_owned()),
            export: true,
            metrics: Some("m.prom".into()),
            since: Some("main".to_owned()),
            html: Some("new.html".into()),
            list: false,
            cargo: CargoArguments {
                packages: vec!["one".to_owned(), "two".to_owned()],
                ..CargoArguments::default()
            },
            for_cargo: ["--release", "--", "--nocapture"]
                .map(OsString::from)
                .to_vec(),
        }
    );
}

#[test]
fn a_relative_report_directory_becomes_absolute() {
    let arguments = parse_test("cargo-raddle test --report pages");
    let expected = std::env::current_dir().expect("a directory").join("pages");
    assert_eq!(
        arguments.settings.environment(),
        [("RADDLE_REPORT", expected.into())]
    );
}

#[test]
fn run_has_the_setting_flags_of_test() {
    let flags = "--budget 30s --strategy pct --max-executions 9 --seed 7 --workers 3 --resume \
                 --remember --report pages --memory rc11 --plain explore --substrate os --restart fork";
    let settings = parse_test(&format!("cargo-raddle test --native {flags}")).settings;
    assert!(settings.has_native());
    match parse(&format!(
        "cargo-raddle run {flags} --replay r1.A -- ./queue 3"
    )) {
        Ok(Command::Run(options)) => {
            assert_eq!(options.settings, settings);
            assert_eq!(options.replay, Some("r1.A".into()));
            assert_eq!(options.program, ["./queue", "3"].map(OsString::from));
        }
        other => panic!("not a run: {other:?}"),
    }
}

#[test]
fn replay_takes_a_test_and_perhaps_a_schedule() {
    for (line, schedule) in [
        ("cargo-raddle replay a::b", None),
        (
            "cargo-raddle replay a::b a.schedule",
            Some(OsString::from("a.schedule")),
        ),
    ] {
        match parse(line) {
            Ok(Command::Replay(options)) => {
                assert_eq!(
                    options,
                    ReplayArguments {
                        test: "a::b".to_owned(),
                        native: false,
                        schedule,
                        graphviz: None,
                        std_trace: None,
                        cargo: CargoArguments::default(),
                    }
                );
            }
            other => panic!("`{line}` is not a replay command: {other:?}"),
        }
    }
    let error = parse("cargo-raddle replay").expect_err("the test is missing");
    assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
}

#[test]
fn invalid_values_are_refused() {
    for line in [
        "cargo-raddle test --budget soon",
        "cargo-raddle test --max-executions 0",
        "cargo-raddle test --seed -1",
        "cargo-raddle test --workers 0",
        "cargo-raddle test --seed seven",
        "cargo-raddle test --strategy foo",
        "cargo-raddle test --strategy pct:0",
        "cargo-raddle test --strategy coverage(foo)",
        "cargo-raddle test --require all",
        "cargo-raddle test --require bounded",
        "cargo-raddle run --strategy foo",
        "cargo-raddle test --color blue",
        "cargo-raddle test --release --profile dev",
        "cargo-raddle test --exclude queue",
        "cargo-raddle test --exact",
        "cargo-raddle test --list --json",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_has_examples_environment_and_exit_codes() {
    for mut command in Arguments::command().get_subcommands().cloned() {
        let help = command.render_long_help().to_string();
        let mut parts = vec!["Examples:\n", "Exit code: 0"];
        match command.get_name() {
            "completions" | "manual" | "report" => {}
            "run" | "cc" | "c++" | "setup" | "queue" => parts.push("Environment"),
            _ => parts.extend(["Environment", "  CARGO ", "  NO_COLOR "]),
        }
        for part in parts {
            assert!(help.contains(part), "`{part}` is not in {help}");
        }
    }
}

#[test]
fn a_program_of_the_crate_is_built_with_the_flags_of_cargo() {
    let run = |words: &[&str]| {
        let words = ["cargo-raddle", "raddle", "run"].iter().chain(words);
        let arguments = super::parse(words.map(OsString::from)).unwrap();
        let Command::Run(run) = arguments.command else {
            panic!("{arguments:?}");
        };
        let build = run.selection.cargo_arguments();
        let build: Vec<_> = build.iter().map(|word| word.to_str().unwrap()).collect();
        (run.selection.is_given(), build.join(" "))
    };
    for (words, given, build) in [
        (&["--release"][..], true, "--release"),
        (&["--profile", "fast"], true, "--profile fast"),
        (
            &["-F", "a,b", "--features", "c"],
            true,
            "--features a,b --features c",
        ),
        (&["--all-features"], true, "--all-features"),
        (&["--no-default-features"], true, "--no-default-features"),
        (&["--manifest-path", "x/Cargo.toml"], true, ""),
        (&["--target-dir", "x"], true, ""),
        (&["--bin", "x", "-v"], true, "--bin x --verbose"),
        // These do not select what is built.
        (&["--color", "never", "--", "./x"], false, "--color never"),
        (&["-vv", "--", "./x"], false, "--verbose --verbose"),
    ] {
        assert_eq!(run(words), (given, build.to_owned()), "{words:?}");
    }
}

#[test]
fn a_program_before_the_dashes_is_an_error_that_says_what_to_do() {
    for words in [&["./queue"][..], &["--release", "./queue"]] {
        let words = ["cargo-raddle", "raddle", "run"].iter().chain(words);
        let error = super::parse(words.map(OsString::from)).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("`cargo raddle run -- ./queue`"), "{text}");
    }
}

#[test]
fn the_address_of_a_queue_may_be_left_out() {
    let queue = |line: &str| {
        let arguments = parse_test(line);
        (arguments.queue, arguments.filter)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(queue("cargo-raddle test counter"), (None, text("counter")));
    let without = (text(""), text("counter"));
    assert_eq!(queue("cargo-raddle test counter --queue"), without);
    let with = (text("redis://a"), text("counter"));
    assert_eq!(queue("cargo-raddle test --queue redis://a counter"), with);
}
