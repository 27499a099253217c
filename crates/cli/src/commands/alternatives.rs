//! `cargo raddle alternatives`: the sources that the receives of one execution could have had.

use std::ffi::OsString;
use std::fs;

use raddle_report::ListedAlternatives;

use crate::arguments::subcommands::AlternativesArguments;
use crate::commands::error::Error;
use crate::commands::native_process;
use crate::commands::replay::{native_binary, unique};
use crate::commands::verdict::Verdict;
use crate::output::alternatives::{Comparison, text};
use crate::output::export::Recording;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::data_directory;

pub fn run(cargo: &Cargo, options: AlternativesArguments) -> Result<Verdict, Error> {
    let AlternativesArguments {
        test,
        native,
        all,
        steps_to,
        save,
        compare,
        cargo: selection,
    } = options;
    let before = compare.as_deref().map(read).transpose()?;
    let for_cargo = selection.for_build();
    let directory = data_directory::within(&cargo.target_directory()?);
    let recording = Recording::new(&directory)?;
    let environment = [
        ("RADDLE_EVENTS", recording.path().as_os_str().to_owned()),
        (
            "RADDLE_ALTERNATIVES",
            steps_to.clone().unwrap_or_default().into(),
        ),
    ];
    if native {
        let (name, binary) = native_binary(cargo, &for_cargo, &test)?;
        let mut environment = environment.to_vec();
        environment.extend(data_directory::for_native_tests(&cargo.target_directory()?));
        let mut command = binary.test_command(&name);
        native_process::run(command.envs(environment))?;
    } else {
        cargo.build_tests(&for_cargo)?;
        let name = unique(&test, &cargo.test_names(&for_cargo)?)?;
        let test = [&name, "--", "--exact", "--include-ignored"];
        let mut arguments = for_cargo;
        arguments.extend(test.map(OsString::from));
        cargo.run_tests(&arguments, &environment)?;
    }
    let list = recording.last("alternatives", "list");
    let list = list.and_then(|list| serde_json::from_value::<ListedAlternatives>(list).ok());
    let list = list.ok_or(Error::NoAlternatives { test })?;
    print!("{}", text(&list, all, steps_to.as_deref()));
    if let Some(path) = &save {
        let json = serde_json::to_string_pretty(&list).expect("a list is data");
        fs::write(path, json).map_err(crate::output::error::Error::cannot_write(path))?;
    }
    if let Some(before) = before {
        print!("{}", Comparison::of(&before, &list));
    }
    Ok(Verdict::Passed)
}

fn read(path: &std::path::Path) -> Result<ListedAlternatives, Error> {
    let text = fs::read_to_string(path).map_err(|cause| cause.to_string());
    let list = text.and_then(|text| serde_json::from_str(&text).map_err(|cause| cause.to_string()));
    list.map_err(|problem| Error::NotAListOfAlternatives {
        path: path.to_owned(),
        problem,
    })
}
