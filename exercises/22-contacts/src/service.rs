//! The state that the handlers share.

use crate::{
    computing::Computing,
    database::{Database, migrations::Schema},
    settings::Settings,
    users::Users,
};

/// The shared parts of the service, which live as long as the process.
pub struct Service {
    pub users: Users,
    pub schema: Schema,
    pub database: Database,
    pub computing: Computing,
}

impl Service {
    /// Creates the parts, without connecting to the database yet.
    pub fn new(settings: &Settings) -> Service {
        Service {
            users: settings.users.clone(),
            schema: Schema::default(),
            database: Database::new(&settings.database),
            computing: Computing::new(),
        }
    }
}
