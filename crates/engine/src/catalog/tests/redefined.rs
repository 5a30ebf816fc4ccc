//! What a reading proves of statements that ran before it, or while something was defined.

use super::*;

#[test]
fn what_is_being_defined_is_told_by_no_reading_before_it_has_ended() {
    let definitions = Arc::new(defined(3));
    let mut known = known(catalog(&everything()));
    let called = Named { key: key(b"pong"), role: Role::Call, naming: Naming::Reads };
    let caller = Named { key: key(b"ping"), ..called };
    let finish = |known: &mut Known, since: u64| {
        known.begin();
        let catalog = Ok(catalog(&everything()));
        let finished = Finished { catalog, definitions: since, began_us: 30, now_us: 40 };
        known.finish(finished, &definitions, 9);
    };
    let looked = |known: &Known, since: u64| {
        [called, caller].map(|one| known.look_back(&[one], since, &definitions))
    };
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let before = definitions.count();
    let under_way = UnderWay::begin(&definitions, [b"pong".as_slice()].into_iter());
    let ran = definitions.count();
    finish(&mut known, ran);
    for text in ["SELECT pong(1)", "SELECT ping(1)"] {
        assert_eq!(reach_after(&mut known, text, &definitions), (any.clone(), false), "{text}");
    }
    assert_eq!(reach_after(&mut known, "SELECT twice(1)", &definitions), (vec![], true));
    assert_eq!(looked(&known, ran), [Ok(None); 2]);
    assert_eq!(looked(&known, before), [Err(Redefined); 2], "it may have been what it was before");
    drop(under_way);
    let later = definitions.count();
    assert_eq!(looked(&known, ran), [Err(Redefined); 2], "it may have run before or after");
    assert_eq!(looked(&known, later), [Ok(None); 2], "the reading began before the end");
    assert_eq!(reach_after(&mut known, "SELECT ping(1)", &definitions), (any, false));
    finish(&mut known, definitions.count());
    let locks = vec!["USER_LOCK", "STORED_CODE"];
    assert_eq!(reach_after(&mut known, "SELECT ping(1)", &definitions), (locks, true));
    assert!(looked(&known, later).iter().all(|told| matches!(told, Ok(Some(_)))));
    assert_eq!(looked(&known, ran), [Err(Redefined); 2]);
}

#[test]
fn a_function_is_found_where_a_table_could_stand() {
    let definitions = defined(3);
    let mut known = known(catalog(&everything()));
    let locks = vec!["USER_LOCK", "STORED_CODE"];
    for text in ["SELECT STRAIGHT_JOIN ping(1) FROM t", "DELETE FROM t RETURNING a, ping(1)"] {
        assert_eq!(reach_after(&mut known, text, &definitions).0, locks, "{text}");
    }
}

#[test]
fn what_ran_before_a_table_changed_is_told_by_no_reading_after_it() {
    let definitions = Arc::new(defined(3));
    let mut known = known(catalog(&everything()));
    let of_t = Named { key: key(b"t"), role: Role::Table, naming: Naming::Writes };
    let looked = |known: &Known, since| known.look_back(&[of_t], since, &definitions);
    let finish = |known: &mut Known, definitions: &Definitions| {
        known.begin();
        let (catalog, definitions_read) = (Ok(catalog(&everything())), definitions.count());
        let finished =
            Finished { catalog, definitions: definitions_read, began_us: 30, now_us: 40 };
        known.finish(finished, definitions, 9);
    };
    let ran = definitions.count();
    finish(&mut known, &definitions);
    assert!(matches!(looked(&known, ran), Ok(Some(_))));
    // it is made anew, without a trigger that it may have had
    let named = || [(b"t".as_slice(), Role::Table)].into_iter();
    definitions.note_names(named(), Defined::NothingNew);
    definitions.note_names(named(), Defined::Table);
    finish(&mut known, &definitions);
    assert_eq!(looked(&known, ran), Err(Redefined));
    // the same where nobody named it
    let ran = definitions.count();
    definitions.note_unnamed();
    finish(&mut known, &definitions);
    assert_eq!(looked(&known, ran), Err(Redefined));
    assert!(matches!(looked(&known, definitions.count()), Ok(Some(_))));
}
