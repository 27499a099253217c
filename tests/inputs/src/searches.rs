//! Saved searches, what workers in processes of their own say, and the pieces of a search in both.

use raddle::__private::reading;
use raddle_engine::SiteId;
use raddle_engine::frontier::Item;

/// How a saved search begins; what a worker says has lines of its own before it.
const TITLE: &str = "raddle frontier";

/// Reads a saved search, the results of a worker, and a piece of a search.
pub fn search(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // As it is; and with the right checksum, so that what stands in it is looked at.
    let (before, body) = text.split_at(text.find(TITLE).unwrap_or(0));
    let sealed = before.to_owned() + &reading::seal_search(body);
    for text in [text, &sealed, &sealed[before.len()..]] {
        match reading::read_search(text) {
            Ok(saved) => assert_eq!(reading::read_search(&saved).as_ref(), Ok(&saved)),
            Err(problem) => crate::assert_told(&problem),
        }
        #[cfg(target_os = "linux")]
        if let Err(problem) = reading::read_results(text) {
            crate::assert_told(&problem);
        }
        #[cfg(unix)]
        if let Err(problem) = reading::read_part(text) {
            crate::assert_told(&problem);
        }
    }
    let mut places = Vec::new();
    match read(text, &mut places) {
        Ok(item) => {
            let written = write(&item, &places);
            let again = read(&written, &mut places).map(|item| write(&item, &places));
            assert_eq!(again.as_ref(), Ok(&written));
        }
        Err(problem) => crate::assert_told(&problem),
    }
}

/// Places are numbers, each as it comes for the first time.
fn read(text: &str, places: &mut Vec<String>) -> Result<Item, String> {
    let site = |place: &str| {
        let known = places.iter().position(|known| known == place);
        SiteId::new(known.unwrap_or_else(|| {
            places.push(place.to_owned());
            places.len() - 1
        }))
    };
    Item::read(&mut text.lines(), site).map_err(|problem| problem.to_string())
}

fn write(item: &Item, places: &[String]) -> String {
    item.to_text(|site| places.get(site.index()).cloned())
}
