//! A machine that services run on while the load comes from this one: a Raspberry Pi on the desk, reached by ssh.
//!
//! The design, in a paragraph. [`Launch`](crate::build::Launch) has a value beside it that says where a service runs: here, or on a
//! [`Host`]. OpenSSH's own client does the rest, over one connection (`ControlMaster`), and nothing has to be installed there but a
//! shell, PostgreSQL and, for the Kotlin service, Java. The first command on the connection, `session.sh`, makes a folder below
//! `/var/tmp` and hears from us every few seconds; when it doesn't anymore, it stops everything and removes the folder. So nothing
//! stays there, whichever way the tool ends, and also when the line falls silent. A service is the child of `guard.sh`, and its
//! [`Service`](crate::service::Service) here owns the `ssh` that has started the guard: its output is the log, its end is the
//! service's end with the same exit code, and closing its input stops the service. The database is a cluster of its own in that
//! folder, made by the host's `initdb` (`postgres.sh`) and held by a guard as well. It listens to the host alone, on a port
//! that a tunnel makes one of this machine's too: so one URL is right on both machines. What
//! is built here is copied; Rust is compiled for the host's architecture where that is another one. Only the load goes over
//! the open network, to the address that ssh itself has reached.

pub mod connection;
pub mod database;
pub mod host;

pub use connection::Connection;
pub use database::Database;
pub use host::Host;
