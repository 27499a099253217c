//! Flags of cargo that select what is built and how. They have the names and the meaning that cargo gives
//! them, and are passed on.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// The word that cargo uses.
    fn word(self) -> &'static str {
        match self {
            Colour::Auto => "auto",
            Colour::Always => "always",
            Colour::Never => "never",
        }
    }
}

/// Features, profile and files of a build, as for `cargo build`.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Options of cargo")]
pub struct BuildArguments {
    /// Features to build with, separated by commas or spaces; may be repeated.
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,

    /// Build with all features.
    #[arg(long)]
    pub all_features: bool,

    /// Build without the default features.
    #[arg(long)]
    pub no_default_features: bool,

    /// Build with optimisations.
    #[arg(short, long, conflicts_with = "profile")]
    pub release: bool,

    /// Build with this profile.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,

    /// Path of the `Cargo.toml` of the package.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,

    /// Print more about the build; twice for even more.
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// When to use colours.
    #[arg(long, value_name = "WHEN")]
    pub color: Option<Colour>,
}

impl BuildArguments {
    /// True or false if colours are wanted or not, and `None` if the terminal decides.
    pub fn colours(&self) -> Option<bool> {
        match self.color {
            None | Some(Colour::Auto) => None,
            Some(Colour::Always) => Some(true),
            Some(Colour::Never) => Some(false),
        }
    }

    /// True when a flag concerns what is built, and not only what is printed.
    pub fn builds(&self) -> bool {
        let BuildArguments { verbose, color, .. } = *self;
        *self
            != BuildArguments {
                verbose,
                color,
                ..Self::default()
            }
    }

    /// The profile that tests are built with.
    pub fn profile_name(&self) -> &str {
        match &self.profile {
            Some(name) => name,
            None if self.release => "release",
            None => "dev",
        }
    }

    /// The same flags for cargo, without those that concern where cargo finds and puts files.
    pub fn for_build(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        for feature in &self.features {
            arguments.extend(["--features".into(), feature.into()]);
        }
        if let Some(profile) = &self.profile {
            arguments.extend(["--profile".into(), profile.into()]);
        }
        if let Some(color) = self.color {
            arguments.extend(["--color".into(), color.word().into()]);
        }
        for (flag, is_given) in [
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--release", self.release),
        ] {
            arguments.extend(is_given.then(|| flag.into()));
        }
        arguments.extend((0..self.verbose).map(|_| "--verbose".into()));
        arguments
    }
}

/// Packages, targets and features, as for `cargo test`.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Options of cargo")]
pub struct CargoArguments {
    /// Test only this package; may be repeated.
    #[arg(short, long = "package", value_name = "PACKAGE")]
    pub packages: Vec<String>,

    /// Test all packages of the workspace.
    #[arg(long, alias = "all")]
    pub workspace: bool,

    /// Leave this package out, with --workspace; may be repeated.
    #[arg(long, value_name = "PACKAGE", requires = "workspace")]
    pub exclude: Vec<String>,

    /// Test only the library of the package.
    #[arg(long)]
    pub lib: bool,

    /// Test all binaries.
    #[arg(long)]
    pub bins: bool,

    /// Test only this binary; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,

    /// Test all test targets.
    #[arg(long)]
    pub tests: bool,

    /// Test only this test target; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,

    /// Test all examples.
    #[arg(long)]
    pub examples: bool,

    /// Test only this example; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,

    /// Test all targets.
    #[arg(long)]
    pub all_targets: bool,

    #[command(flatten)]
    pub build: BuildArguments,
}

impl CargoArguments {
    /// The same flags for a build by cargo, without those that concern where cargo finds and puts files.
    pub fn for_build(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add_all = |flag: &str, values: &[String]| {
            for value in values {
                arguments.extend([flag.into(), value.into()]);
            }
        };
        add_all("--package", &self.packages);
        add_all("--exclude", &self.exclude);
        add_all("--bin", &self.bin);
        add_all("--test", &self.test);
        add_all("--example", &self.example);
        for (flag, is_given) in [
            ("--workspace", self.workspace),
            ("--lib", self.lib),
            ("--bins", self.bins),
            ("--tests", self.tests),
            ("--examples", self.examples),
            ("--all-targets", self.all_targets),
        ] {
            arguments.extend(is_given.then(|| flag.into()));
        }
        arguments.extend(self.build.for_build());
        arguments
    }
}
