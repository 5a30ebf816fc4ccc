//! What follows streams is tested with one harness: the list of all stream parsers, replies
//! captured from real servers, and generated ones.

mod captures;
mod registry;
mod split_anywhere;
