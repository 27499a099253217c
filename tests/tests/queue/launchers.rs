//! The examples of the book that start workers: their files are read, and their commands run, as processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::commands::{Machine, Running, program};
use crate::server::{Server, directory};

/// The blocks of this kind in the section about workers.
fn blocks(kind: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/many-machines.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split("\n## Starting workers\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let start = format!("\n```{kind}\n");
    let blocks = section.split(&start).skip(1);
    let end = |rest: &str| rest.split("\n```").next().unwrap().to_owned();
    blocks.map(end).collect()
}

fn yaml(text: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

/// A list of words as a line of a shell.
fn line(words: &Yaml) -> String {
    let words = words.as_vec().unwrap().iter();
    words
        .map(|word| word.as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

fn text(value: &Yaml) -> String {
    value.as_str().unwrap().to_owned()
}

/// Starts a line of a shell whose cargo is a stand-in, for one test of this binary.
fn start(machine: &Machine, line: &str) -> Running {
    let folder = directory("path");
    let cargo = folder.join("cargo");
    fs::write(
        &cargo,
        format!("#!/bin/sh\nexec {} \"$@\"\n", program().display()),
    )
    .unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    // A worker that starts after the end of the run does not wait long.
    let mut line = line
        .replace("${{ matrix.test }}", "")
        .replace("raddle work &", "raddle work --wait 5s &");
    if line.contains("raddle test") {
        line = line.replace("raddle test", "raddle test programs::dp4 --json")
            + " -- -- --include-ignored";
    }
    let machine_command = machine.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).env_clear();
    let variables = machine_command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    shell
        .envs(variables)
        .current_dir(machine_command.get_current_dir().unwrap());
    let path = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}:{path}", folder.display()));
    shell
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::of(shell.spawn().unwrap())
}

/// Runs the commands of a launcher. The worker may be part of the command of the front end.
fn run(front_end: &str, worker: Option<&str>) {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let worker = worker.map(|worker| start(&machine, worker));
    let finished = start(&machine, front_end).finish();
    assert_eq!(finished.code, Some(0), "{front_end}: {finished:?}");
    assert_eq!(
        finished.classes().into_values().sum::<u64>(),
        624,
        "{finished:?}"
    );
    if let Some(worker) = worker {
        let worker = worker.finish();
        assert_eq!(worker.code, Some(0), "{worker:?}");
        assert!(worker.stderr.contains("624 executions"), "{worker:?}");
    }
}

#[test]
fn the_commands_of_launchers_share_a_search() {
    let files: [String; 5] = blocks("yaml").try_into().unwrap();
    let [compose, kubernetes, front, service, outside] = files.map(|file| yaml(&file));
    let services = &compose["services"];
    for role in ["front", "worker"] {
        assert_eq!(
            text(&services[role]["environment"]["RADDLE_QUEUE"]),
            "redis://queue"
        );
        assert_eq!(text(&services[role]["depends_on"][0]), "queue");
    }
    let server = line(&services["queue"]["command"]);
    assert!(
        server.contains("--appendonly yes") && server.contains("noeviction"),
        "{server}"
    );
    let front_end = line(&services["front"]["command"]);
    run(&front_end, Some(&line(&services["worker"]["command"])));

    let job = &kubernetes["spec"];
    assert_eq!(text(&job["completionMode"]), "Indexed");
    assert_eq!(job["completions"], job["parallelism"]);
    let commands = [&front, &kubernetes].map(|file| {
        assert_eq!(text(&file["kind"]), "Job");
        let container = &file["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(text(&container["env"][0]["name"]), "RADDLE_QUEUE");
        line(&container["command"])
    });
    run(&commands[0], Some(&commands[1]));

    let steps = &outside["jobs"]["check"]["steps"];
    run(&text(&steps[0]["run"]), Some(&text(&steps[1]["run"])));
    let roles = outside["jobs"]["check"]["strategy"]["matrix"]["role"]
        .as_vec()
        .unwrap();
    for (step, role) in [(0, "front"), (1, "worker")] {
        assert_eq!(text(&steps[step]["if"]), format!("matrix.role == '{role}'"));
        assert!(roles.contains(&Yaml::String(role.to_owned())));
    }

    let check = &service["jobs"]["check"];
    assert_eq!(text(&check["env"]["RADDLE_QUEUE"]), "redis://queue");
    assert!(!check["services"]["queue"].is_badvalue());
    run(&text(&check["steps"][0]["run"]), None);

    let [processes, slurm]: [String; 2] = blocks("console").try_into().unwrap();
    run(&processes, None);
    let (batch, front_end) = slurm.split_once('\n').unwrap();
    let wrapped = batch
        .split("--wrap '")
        .nth(1)
        .unwrap()
        .trim_end_matches('\'');
    assert!(batch.contains("--export=ALL,RADDLE_QUEUE"), "{batch}");
    run(front_end, Some(wrapped));
}
