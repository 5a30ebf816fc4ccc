//! Settings: every text is read to its end, faults have a place, and texts come back as quoted.
#![no_main]

use libconfig::{Item, Setting, SettingValue};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut left = 3;
    let document = libconfig::parse("x.cnf", text, &mut |_, path| {
        left -= 1;
        if left < 0 { Err("enough".to_owned()) } else { Ok((path.to_owned(), text.to_owned())) }
    });
    for fault in &document.faults {
        let source = document.sources.find(fault.span.start).expect("a place");
        assert!(source.text.get(fault.span.start - source.start..).is_some());
    }
    look(&document.settings);
});

fn look(settings: &[Setting]) {
    settings.iter().for_each(|setting| look_at(&setting.item));
}

fn look_at(item: &Item) {
    assert!(item.span.start < item.span.end);
    match &item.value {
        SettingValue::Text(bytes) => {
            let text = format!("a = {}", libconfig::quoted(bytes));
            let again = libconfig::parse("x", &text, &mut |_, _| Err(String::new()));
            assert_eq!(again.settings[0].item.value, item.value);
        }
        SettingValue::Array(items) | SettingValue::List(items) => items.iter().for_each(look_at),
        SettingValue::Group(settings) => look(settings),
        SettingValue::Int(_) | SettingValue::Float(_) | SettingValue::Bool(_) => {}
    }
}
