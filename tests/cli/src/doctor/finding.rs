//! One line of the doctor's report.

use workshop_base::mend::Mend;

/// Whether the workshop can work with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is as it should be.
    Ok,
    /// It works without; worth knowing.
    Note,
    /// It has to be mended; the word says how it is at fault: missing, old, low.
    Fault(&'static str),
}

impl State {
    pub(super) const MISSING: State = State::Fault("missing");
    pub(super) const OLD: State = State::Fault("old");
    pub(super) const NEW: State = State::Fault("new");
    pub(super) const LOW: State = State::Fault("low");
    pub(super) const BROKEN: State = State::Fault("broken");
    pub(super) const SILENT: State = State::Fault("silent");

    /// The word that begins the line.
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Fault(word) => word,
        }
    }
}

/// What was found out about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub name: String,
    pub state: State,
    /// Version and place, or what is wrong.
    pub detail: String,
    /// How to mend it, where there is something to mend.
    pub mend: Option<Mend>,
}

impl Finding {
    pub(super) fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Finding {
            name: name.into(),
            state: State::Ok,
            detail: detail.into(),
            mend: None,
        }
    }

    pub(super) fn note(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Finding {
            name: name.into(),
            state: State::Note,
            detail: detail.into(),
            mend: None,
        }
    }

    pub(super) fn fault(
        state: State,
        name: impl Into<String>,
        detail: impl Into<String>,
        mend: Mend,
    ) -> Self {
        Finding {
            name: name.into(),
            state,
            detail: detail.into(),
            mend: Some(mend),
        }
    }

    pub(super) fn with(mut self, mend: Mend) -> Self {
        self.mend = Some(mend);
        self
    }

    /// The same, as something the workshop can do without.
    pub(super) fn optional(mut self) -> Self {
        if self.state != State::Ok {
            self.detail = format!("{}: {}", self.state.word(), self.detail);
            self.state = State::Note;
        }
        self
    }
}
