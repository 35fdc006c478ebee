//! The state that the handlers share.

use crate::{
    computing::Computing,
    database::{Database, migrations::Schema},
    settings::Settings,
    users::Users,
};

/// The parts of the service that live as long as it does.
pub struct Service {
    pub users: Users,
    pub schema: Schema,
    pub database: Database,
    pub computing: Computing,
}

impl Service {
    /// Puts the parts together. Nothing is connected yet.
    pub fn new(settings: &Settings) -> Service {
        Service {
            users: settings.users.clone(),
            schema: Schema::default(),
            database: Database::new(&settings.database),
            computing: Computing::new(),
        }
    }
}
