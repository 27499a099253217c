#![deny(warnings)]

#[checks::test(crate = checks, strategy = "exhaustive")]
fn the_second_never_passes() {
    let door = renamed::Door::default();
    let number = checks::choose(1..=3);
    let passed = (0..number).filter(|_| door.pass()).count();
    assert_eq!(passed, 1);
}
