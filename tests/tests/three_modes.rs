//! Every primitive inside a check, outside one and without the feature: the same script, the same
//! result. The third is tested where the feature is off, by `cargo test -p raddle --lib`.

#[macro_use]
#[path = "../../crates/raddle/src/three_modes.rs"]
mod scripts;

macro_rules! test_each_inside {
    ($($script:ident, $name:literal, $result:literal, $classes:literal;)*) => {
        /// In every execution, and as many classes as all schedules have.
        mod inside {
            use raddle::Checker;
            use raddle_tests::compare::behaviour;

            $(
                #[test]
                fn $script() {
                    let seen = behaviour(&Checker::new(), super::scripts::$script);
                    assert_eq!(seen.kinds(), [], $name);
                    assert_eq!(seen.outcomes, [$result.to_owned()].into(), $name);
                    assert_eq!(seen.classes, $classes, $name);
                }
            )*
        }
    };
}

each_primitive!(test_each_inside);

macro_rules! names {
    ($($script:ident, $name:literal, $result:literal, $classes:literal;)*) => {[$($name),*]};
}

#[test]
fn the_table_in_the_book_lists_the_same_primitives() {
    let page = include_str!("../../docs/src/primitives.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let (mut listed, mut cells) = (Vec::new(), Vec::new());
    for row in rows {
        let (name, rest) = row.split_once('`').expect("a name ends");
        listed.push(name);
        cells.push(rest.split('|').map(str::trim).collect::<Vec<_>>());
    }
    assert_eq!(listed, each_primitive!(names));
    for (name, cells) in listed.iter().zip(cells) {
        let [_, inside, outside, without, _] = cells[..] else {
            panic!("{name}: {cells:?}");
        };
        let phrases = [inside, outside, without];
        assert!(phrases.iter().all(|phrase| !phrase.is_empty()), "{name}");
    }
}
