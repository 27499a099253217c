use super::*;

#[test]
fn the_first_executions_and_powers_of_two_are_watched() {
    let mut locals = StdLocals::default();
    let mut due = (1..=40).filter(|_| {
        locals.executions += 1;
        locals.is_due()
    });
    assert!(due.by_ref().eq([1, 2, 3, 4, 8, 16, 32]));
}
