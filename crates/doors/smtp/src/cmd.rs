//! One command per file: parse, permit, act, answer.

pub mod auth;
pub mod bdat;
pub mod data;
pub mod ehlo;
pub mod mail;
pub mod rcpt;
pub mod simple;
pub mod starttls;
