//! Stories to compare with, in which schedules can be read.

use raddle::Failure;

/// The story of a failure, with its schedule in brackets instead of the token, and without where its page
/// is.
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
