//! Stories of failures for comparison, with readable schedules.

use raddle::Failure;

/// Returns the story of a failure, with its schedule in brackets instead of the token, and without
/// the path of its page.
pub fn told(failure: &Failure) -> String {
    let text = failure.schedule.to_string();
    let steps: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains(": "))
        .collect();
    let schedule = format!("[{}]", steps.join("; "));
    let mut failure = failure.clone();
    failure.page = None;
    failure
        .to_string()
        .replace(&failure.schedule.to_token(), &schedule)
}
