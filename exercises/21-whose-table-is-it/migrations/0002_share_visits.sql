-- The tables with which two services share visits, while one takes them over. The same in both databases, except for the first
-- owner. If it has run before, it changes nothing, and takes no lock on records.

-- One row: the service of this database, and the owner, who writes visits (`none` during a switch). Each switch raises the epoch.
-- Visits that aren't shared belong to one service alone, and go to no outbox.
CREATE TABLE IF NOT EXISTS visits_ownership (
    me text PRIMARY KEY,
    owner text NOT NULL,
    epoch bigint NOT NULL,
    shared boolean NOT NULL
);
INSERT INTO visits_ownership SELECT 'rust', 'rust', 0, false WHERE NOT EXISTS (SELECT FROM visits_ownership);

CREATE OR REPLACE FUNCTION visits_epoch() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT epoch FROM visits_ownership';

-- The events for the other service. It deletes those that it has applied, and writes the reason into those that it can't apply.
CREATE TABLE IF NOT EXISTS visits_outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT visits_epoch(),
    id int NOT NULL,
    visited boolean NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text
);

-- The newest event of the other service that was applied, per record.
CREATE TABLE IF NOT EXISTS visits_applied (
    id int PRIMARY KEY REFERENCES records,
    epoch bigint NOT NULL,
    seq bigint NOT NULL
);

-- Wakes the service that listens, once the transaction is committed.
CREATE OR REPLACE FUNCTION visits_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY visits;
    RETURN NULL;
END $$;

-- The fence. Only the owner writes; a session that follows (`visits.follows`) writes only where it isn't the owner.
-- FOR SHARE: a switch waits for the transactions that were let through, and a transaction that comes during a switch waits for it.
-- ANCHOR: fence
CREATE OR REPLACE FUNCTION visits_fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine boolean;
BEGIN
    SELECT owner = me INTO mine FROM visits_ownership FOR SHARE;
    IF mine = (coalesce(current_setting('visits.follows', true), '') = 'on') THEN
        RAISE 'visits are written by another service' USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    RETURN NULL;
END $$;
-- ANCHOR_END: fence

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'visits_fence' AND tgrelid = 'records'::regclass) THEN
        CREATE TRIGGER visits_fence BEFORE UPDATE OF visited ON records FOR EACH STATEMENT EXECUTE FUNCTION visits_fence();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'visits_wake' AND tgrelid = 'visits_outbox'::regclass) THEN
        CREATE TRIGGER visits_wake AFTER INSERT ON visits_outbox FOR EACH STATEMENT EXECUTE FUNCTION visits_wake();
    END IF;
END $$;
